// Each reason for which an elected pod is denied, and pods beside it that are admitted.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import {
  CANDIDATE_SCHEDULER, COSCHEDULING_POD_GROUP_LABEL, ELECT_ANNOTATION, HAS_FINALIZER_LABEL,
  NO_PREFIX_LABEL_REGEXP_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL, POD_GROUP_LABEL,
  POD_GROUP_MIN_COUNT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION,
  USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { MAX_PATTERN_LENGTH } from '../../../../model/objects/label-pattern.ts';
import { USER_POD_ANNOTATIONS } from '../../../../model/pod/pod-annotations.ts';
import { checkElection, checkFirstAdmission } from '../../../../webhook/admission/election-checks.ts';
import {
  annotated, aPod, frozen, labelled, onNode, withMetadata, withSpec, type Change,
} from '../../../support/objects/builders.ts';

const anElected = (...changes: Change<Pod>[]): Pod =>
  frozen(aPod(annotated({ [ELECT_ANNOTATION]: '' }), ...changes));

const ownedBy = (kind: string, controller = true): Change<Pod> => withMetadata(
  { ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'owner', uid: 'u', controller }] },
);

type Row = readonly [pod: Pod, reason: string, message: RegExp];

describe('an elected pod is denied', () => {
  const rows: Readonly<Record<string, Row>> = {
    'that is a delegate, by its parent': [
      anElected(labelled({ [PARENT_UID_LABEL]: 'u' })), 'AlreadyDelegate', new RegExp(`^label ${PARENT_UID_LABEL} `),
    ],
    "that is a delegate, by its parent's cluster": [
      anElected(labelled({ [PARENT_CLUSTER_LABEL]: '' })), 'AlreadyDelegate', /remove the label or the annotation/,
    ],
    'with an annotation that only Isthmus writes': [
      anElected(annotated({ [`${ADMIRALTY_PREFIX}is-delegate`]: '' })), 'ReservedKey', /is-delegate is not for users/,
    ],
    'with a misspelt annotation, and is told which there are': [
      anElected(annotated({ [`${ADMIRALTY_PREFIX}electt`]: '' })), 'ReservedKey',
      new RegExp([...USER_POD_ANNOTATIONS].join(', ')),
    ],
    'with a label under our prefix': [
      anElected(labelled({ [`${ADMIRALTY_PREFIX}team`]: 'a' })), 'ReservedKey', /^label .*team is not for users/,
    ],
    'that has a node': [anElected(onNode('node-1')), 'NodeNameSet', /^spec\.nodeName is set/],
    'of a DaemonSet': [anElected(ownedBy('DaemonSet')), 'DaemonSetPod', /^a pod of DaemonSet owner /],
    'with both kinds of constraints': [
      anElected(annotated({ [PROXY_CONSTRAINTS_ANNOTATION]: '', [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' })),
      'TwoConstraints', /remove one of them$/,
    ],
    'with an expression that is not valid': [
      anElected(annotated({ [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: '(' })), 'BadLabelPattern', /not a valid RE2/,
    ],
    'with an expression that is too long': [
      anElected(annotated({ [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: 'a'.repeat(MAX_PATTERN_LENGTH + 1) })),
      'BadLabelPattern', new RegExp(`has ${MAX_PATTERN_LENGTH + 1} characters`),
    ],
    'with a group of no pods': [
      anElected(labelled({ [POD_GROUP_LABEL]: 'g' }), annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: '0' })),
      'BadPodGroup', /an integer from 1 to 1000, not "0"/,
    ],
    'with a count but no group': [
      anElected(annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: '2' })), 'BadPodGroup', /needs label/,
    ],
  };
  for (const [what, [pod, reason, message]] of Object.entries(rows)) {
    it(what, () => {
      const denial = checkElection(pod);
      assert.equal(denial?.reason, reason);
      assert.match(denial?.message ?? '', message);
    });
  }

  it('for the first reason when there are several', () => {
    const pod = anElected(onNode('node-1'), labelled({ [PARENT_UID_LABEL]: 'u' }), ownedBy('DaemonSet'));
    assert.equal(checkElection(pod)?.reason, 'AlreadyDelegate');
  });
});

describe('an elected pod is admitted', () => {
  const pods: Readonly<Record<string, Pod>> = {
    'with nothing else': anElected(),
    'with every annotation for users but one of the two kinds of constraints': anElected(annotated(Object.fromEntries(
      [...USER_POD_ANNOTATIONS].filter((key) => key !== PROXY_CONSTRAINTS_ANNOTATION).map((key) => [key, '']),
    ))),
    'with the manifest that other tools want': anElected(annotated({ [SOURCE_MANIFEST_ANNOTATION]: '{}' })),
    'with the label for its finalizer': anElected(labelled({ [HAS_FINALIZER_LABEL]: 'true' })),
    'with keys of others that only begin alike': anElected(labelled({ 'multicluster.admiralty.example/team': 'a' })),
    'with an empty node name': anElected(onNode('')),
    'of a Deployment': anElected(ownedBy('ReplicaSet')),
    'that a DaemonSet owns but does not control': anElected(ownedBy('DaemonSet', false)),
    'of a group': anElected(labelled({ [POD_GROUP_LABEL]: 'g' }), annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: '8' })),
    'of a group of another scheduler': anElected(labelled({ [COSCHEDULING_POD_GROUP_LABEL]: 'g' })),
  };
  for (const [what, pod] of Object.entries(pods)) it(what, () => assert.equal(checkElection(pod), undefined));

  it('or denied for any annotation under our prefix, exactly when users may not set it', () => {
    const key = fc.oneof(
      fc.constantFrom(...USER_POD_ANNOTATIONS),
      fc.stringMatching(/^[a-z-]{1,20}$/).map((name) => ADMIRALTY_PREFIX + name),
    ).filter((name) => name !== NO_PREFIX_LABEL_REGEXP_ANNOTATION && name !== SOURCE_MANIFEST_ANNOTATION);
    fc.assert(fc.property(key, fc.string(), (name, value) => {
      const denial = checkElection(anElected(annotated({ [name]: value })));
      assert.equal(denial?.reason, USER_POD_ANNOTATIONS.has(name) ? undefined : 'ReservedKey');
    }));
  });
});

describe('a pod without an admission record', () => {
  it('is denied with a manifest that Isthmus did not write', () => {
    const denial = checkFirstAdmission(anElected(annotated({ [SOURCE_MANIFEST_ANNOTATION]: '{}' })));
    assert.equal(denial?.reason, 'ForeignManifest');
    assert.match(denial?.message ?? '', /remove the webhook of Admiralty/);
  });

  for (const schedulerName of [PROXY_SCHEDULER, CANDIDATE_SCHEDULER]) {
    it(`is denied with schedulerName ${schedulerName}`, () => {
      const denial = checkFirstAdmission(anElected(withSpec({ schedulerName })));
      assert.equal(denial?.reason, 'ReservedScheduler');
      assert.match(denial?.message ?? '', new RegExp(`^schedulerName ${schedulerName} is set by Isthmus; remove it`));
    });
  }

  for (const spec of [{}, { schedulerName: 'default-scheduler' }]) {
    it(`is admitted with ${JSON.stringify(spec)}`, () =>
      assert.equal(checkFirstAdmission(anElected(withSpec(spec))), undefined));
  }
});
