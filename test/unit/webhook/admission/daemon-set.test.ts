import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import type { PodSpec, StringMap, Toleration } from '../../../../api/objects/core.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../../api/objects/selectors.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../../api/objects/keys.ts';
import { matchesNodeSelector } from '../../../../model/pod/node-selector.ts';
import { keepOffVirtualNodes, type DaemonSet } from '../../../../webhook/admission/daemon-set.ts';
import { frozen } from '../../../support/objects/builders.ts';

const EVERYTHING: Toleration = { operator: 'Exists' };

function aDaemonSet(spec: Partial<PodSpec>): DaemonSet {
  return frozen({
    metadata: { namespace: 'kube-system', name: 'cni' },
    spec: { selector: { matchLabels: { app: 'cni' } }, template: { metadata: {}, spec: { containers: [], ...spec } } },
  });
}

function requiring(...nodeSelectorTerms: readonly NodeSelectorTerm[]): Partial<PodSpec> {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

/** As a mutating webhook may get it, before validation. */
const withoutTerms = {
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: null } } },
} as unknown as Partial<PodSpec>;

function admitted(daemonSet: DaemonSet): DaemonSet {
  const admission = keepOffVirtualNodes(daemonSet);
  assert.notEqual(admission.kind, 'deny');
  return admission.kind === 'mutate' ? jsonPatch.applyPatch(
    structuredClone(daemonSet), structuredClone(admission.patch) as jsonPatch.Operation[],
  ).newDocument : daemonSet;
}

const onNode = ({ spec }: DaemonSet, labels: StringMap) => matchesNodeSelector(spec.template.spec, labels, 'node');

describe('a DaemonSet is left as it is', () => {
  const rows: Record<string, Partial<PodSpec>> = {
    'that tolerates nothing: the taint keeps it off': {},
    'that tolerates other taints': {
      tolerations:
        [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }, { effect: 'NoExecute', operator: 'Exists' }],
    },
    'that speaks of virtual nodes in its affinity':
      { tolerations: [EVERYTHING], ...requiring({ matchExpressions: [{ key: PROVIDER_KEY, operator: 'Exists' }] }) },
    'that speaks of virtual nodes in its selector':
      { tolerations: [EVERYTHING], nodeSelector: { [PROVIDER_KEY]: 'other' } },
    'without alternatives, which Go prints as null and the API server denies after us':
      { tolerations: [EVERYTHING], ...withoutTerms },
    'that tolerates virtual nodes for pods of another provider alone':
      { tolerations: [{ key: PROVIDER_KEY, operator: 'Equal', value: 'other' }] },
    'that tolerates virtual nodes once they evict, and not when it is placed':
      { tolerations: [{ key: PROVIDER_KEY, operator: 'Exists', effect: 'NoExecute' }] },
  };
  for (const [sentence, spec] of Object.entries(rows)) {
    it(sentence, () => assert.deepEqual(keepOffVirtualNodes(aDaemonSet(spec)), { kind: 'pass' }));
  }
});

describe('a DaemonSet is kept off virtual nodes', () => {
  const notVirtual: NodeSelectorRequirement = { key: PROVIDER_KEY, operator: 'NotIn', values: [PROVIDER_VALUE] };
  const linux: NodeSelectorRequirement = { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] };

  for (const [which, toleration] of Object.entries(
    {
      everything: EVERYTHING, 'every NoSchedule': { operator: 'Exists', effect: 'NoSchedule' },
      'virtual nodes by name': { key: PROVIDER_KEY, operator: 'Exists' },
    } satisfies Record<string, Toleration>,
  )) {
    it(`that tolerates ${which}`, () => {
      const { affinity } = admitted(aDaemonSet({ tolerations: [toleration] })).spec.template.spec;
      assert.deepEqual(affinity, {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [notVirtual] }] },
        },
      });
    });
  }

  it('in each of its alternatives, and an empty one still matches no node', () => {
    const daemonSet = aDaemonSet({
      tolerations: [EVERYTHING],
      ...requiring(
        { matchExpressions: [linux] }, {}, { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] },
      ),
    });
    assert.deepEqual(admitted(
      daemonSet,
    ).spec.template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, [
      { matchExpressions: [linux, notVirtual] },
      {}, { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }], matchExpressions: [notVirtual] },
    ]);
  });

  it('by one operation at the place that changes', () => {
    const admission = keepOffVirtualNodes(aDaemonSet({ tolerations: [EVERYTHING], affinity: { podAntiAffinity: {} } }));
    assert.deepEqual(admission.kind === 'mutate' && admission.patch.map(({ op, path }) => `${op} ${path}`), [
      'add /spec/template/spec/affinity/nodeAffinity',
    ]);
  });

  it('whatever else its affinity says, which stays', () => {
    const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference: { matchExpressions: [linux] } }];
    const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] };
    const daemonSet = aDaemonSet({
      tolerations: [EVERYTHING],
      affinity: { podAffinity, nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } },
    });
    assert.deepEqual(admitted(daemonSet).spec.template.spec.affinity, {
      podAffinity, nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [notVirtual] }] },
      },
    });
  });

  it('and is otherwise what its user wrote, also in fields that there may be one day', () => {
    const daemonSet = frozen({ ...aDaemonSet({ tolerations: [EVERYTHING] }), status: {}, later: { a: [null] } });
    const { affinity: _added, ...spec } = admitted(daemonSet).spec.template.spec;
    assert.deepEqual({ ...admitted(daemonSet), spec: { ...daemonSet.spec, template: { metadata: {}, spec } } },
      daemonSet);
  });

  it('all, always, and loses no other node by it; admitting twice changes nothing more', () => {
    const key = fc.constantFrom('zone', 'kubernetes.io/os');
    const requirement = fc.oneof(fc.record({ key, operator: fc.constant('Exists' as const) }), fc.record(
      {
        key, operator: fc.constantFrom('In' as const, 'NotIn' as const),
        values: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 }),
      },
    ));
    const term = fc.record({ matchExpressions: fc.array(requirement, { maxLength: 2 }) });
    const affinity = fc.option(fc.array(term, { minLength: 1, maxLength: 3 }), { nil: undefined });
    fc.assert(fc.property(affinity, fc.dictionary(key, fc.constantFrom('a', 'b')), (terms, labels) => {
      const before = aDaemonSet({ tolerations: [EVERYTHING], ...(terms && requiring(...terms)) });
      const after = admitted(before);
      assert.equal(onNode(after, { ...labels, [PROVIDER_KEY]: PROVIDER_VALUE }), false);
      assert.equal(onNode(after, labels), onNode(before, labels));
      assert.deepEqual(admitted(after), after);
    }));
  });
});
