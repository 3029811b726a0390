import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { KubernetesObject, Secret } from '../../../../api/objects/core.ts';
import {
  COPY_DIGEST_ANNOTATION, COPY_VERSION_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { SECRET_COPIES } from '../../../../api/resource-types.ts';
import {
  planReport, secretKind, toCopiedSecret, toSecretReport, type CopiedSecret, type SecretReport,
} from '../../../../delegate-controller/copies/secret-copy-report.ts';
import { isCopyOf, toCopy, toReportedCopy } from '../../../../delegate-controller/copies/followed-copy.ts';

const CLUSTER = 'cluster-1';
const original = (data: Record<string, string>, annotations: Record<string, string> = {}): Secret =>
  ({
    metadata: { namespace: 'a', name: 'x', uid: 'parent', resourceVersion: '5', labels: { team: 'a' }, annotations },
    type: 'Opaque', data,
  });
const stored = (copy: KubernetesObject, change: (copy: Secret) => Secret = (same) => same): Secret => {
  const secret = copy as Secret;
  return change({ ...secret, metadata: { ...secret.metadata, uid: 'copy', resourceVersion: '7' } });
};
const copyOf = (secret: Secret) => toReportedCopy(secretKind(), secret, CLUSTER);

describe('the record of a Secret that a source made', () => {
  const spec = { secretUID: 'copy', secretVersion: '7', parentUID: 'parent', parentVersion: '5', intact: true };
  const copy = copyOf(original({ key: 'YQ==' }));
  const relabelled = (labels: Record<string, string>) => (secret: Secret): Secret =>
    ({ ...secret, metadata: { ...secret.metadata, labels: { ...secret.metadata.labels, ...labels } } });
  const annotated = (annotations: Record<string, string>) => (secret: Secret): Secret =>
    ({ ...secret, metadata: { ...secret.metadata, annotations: { ...secret.metadata.annotations, ...annotations } } });

  const cases: Record<
    string, readonly [change: (secret: Secret) => Secret, expected: Partial<typeof spec> | undefined]
  > = {
    'says that it is as it was written': [(same) => same, {}],
    'takes labels and annotations of others for nothing':
      [(secret) => annotated({ b: 'c' })(relabelled({ theirs: 'x' })(secret)), {}],
    'tells changed contents': [(secret) => ({ ...secret, data: { key: 'Yg==' } }), { intact: false }],
    'tells added contents': [(secret) => ({ ...secret, data: { ...secret.data, more: '' } }), { intact: false }],
    'tells a changed label that was carried': [relabelled({ team: 'b' }), { intact: false }],
    'tells a changed digest': [annotated({ [COPY_DIGEST_ANNOTATION]: 'x' }), { intact: false }],
    'believes the version that is written there, which is then another':
      [annotated({ [COPY_VERSION_ANNOTATION]: '4' }), { parentVersion: '4' }],
    'is none for a copy that says of itself to be of another name':
      [annotated({ [PARENT_NAME_ANNOTATION]: 'y' }), undefined],
    'is none without a source': [relabelled({ [PARENT_CLUSTER_LABEL]: '' }), undefined],
  };
  for (const [what, [change, expected]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(
      toCopiedSecret(stored(copy, change)),
      expected && { namespace: 'a', name: 'x', sourceId: CLUSTER, spec: { ...spec, ...expected } },
    ));
  }

  it('of a copy that an older source wrote is not intact, and so is written anew', () => {
    const record = toCopiedSecret(stored(toCopy(secretKind(), original({}), CLUSTER)));
    assert.deepEqual([record?.spec.intact, record?.spec.parentVersion], [false, '']);
  });

  it('is intact for whatever a source writes, and holds nothing of it', () => {
    const words = fc.dictionary(
      fc.constantFrom('a', 'b', COPY_VERSION_ANNOTATION, COPY_DIGEST_ANNOTATION),
      fc.string({ minLength: 30, maxLength: 40 }), { maxKeys: 3 },
    );
    fc.assert(fc.property(words, words, (data, annotations) => {
      const record = toCopiedSecret(stored(copyOf(original(data, annotations))));
      assert.equal(record?.spec.intact, true);
      for (const text of Object.values(data)) assert.ok(!JSON.stringify(record).includes(text));
    }));
  });
});

describe('the copy of a Secret that its source cannot read', () => {
  it('is a copy like any other, with the version that it was made of', () => {
    const copy = copyOf(original({ key: 'YQ==' }));
    assert.ok(isCopyOf(copy, CLUSTER));
    assert.equal(copy.metadata.annotations?.[COPY_VERSION_ANNOTATION], '5');
  });

  it('does not carry such notes of a Secret that is a copy itself', () => {
    const twice = copyOf(
      { ...copyOf(original({})), metadata: { ...copyOf(original({})).metadata, uid: 'second', resourceVersion: '9' } },
    );
    assert.equal(twice.metadata.annotations?.[COPY_VERSION_ANNOTATION], '9');
    assert.equal(toCopiedSecret(stored(twice))?.spec.intact, true);
  });
});

describe('planReport', () => {
  const secret: CopiedSecret = {
    namespace: 'a', name: 'x', sourceId: CLUSTER,
    spec: { secretUID: 's', secretVersion: '7', parentUID: 'p', parentVersion: '5', intact: true },
  };
  const report: SecretReport = { uid: 'r', spec: secret.spec };
  const deletion = [{
    kind: 'delete', type: SECRET_COPIES, at: { namespace: 'a', name: 'x' }, preconditions: { uid: 'r' },
    propagation: 'Background',
  }];

  it('makes a report that goes with its Secret, and that the source finds by its own label', () => {
    const [command] = planReport('a/x', secret, undefined);
    assert.ok(command?.kind === 'create');
    const { metadata } = command.object;
    assert.deepEqual(metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Secret', name: 'x', uid: 's' }]);
    assert.deepEqual(metadata.labels, { [PARENT_CLUSTER_LABEL]: CLUSTER });
    assert.deepEqual(toSecretReport(command.object as never), { uid: '', spec: secret.spec });
  });

  it('writes nothing where all is said', () => assert.deepEqual(planReport('a/x', secret, report), []));
  it('says what has changed, to this very report', () => {
    const [command] = planReport('a/x', { ...secret, spec: { ...secret.spec, intact: false } }, report);
    assert.deepEqual(
      command?.kind === 'patch' && command.patch, { metadata: { uid: 'r' }, spec: { ...secret.spec, intact: false } },
    );
  });
  it('takes back the report on a Secret that is gone', () => assert.deepEqual(
    planReport('a/x', undefined, report), deletion,
  ));
  it('takes back the report on the Secret of that name before, which owns it', () => assert.deepEqual(
    planReport('a/x', secret, { uid: 'r', spec: { ...secret.spec, secretUID: 'old' } }), deletion,
  ));
  it('does nothing where there is neither', () => assert.deepEqual(planReport('a/x', undefined, undefined), []));
});
