import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { CONFIG_MAPS } from '../../../../api/resource-types.ts';
import { planAdmiraltyFinalizerRemoval, planRelabelling } from '../../../../cli/takeover/followed-takeover.ts';

const P = 'multicluster.admiralty.io/';
const object = (metadata: KubernetesObject['metadata']): KubernetesObject =>
  ({ metadata: { namespace: 'web', name: 'settings', resourceVersion: '7', uid: 'copy', ...metadata } });
const patchOf = (plan: ReturnType<typeof planAdmiraltyFinalizerRemoval>) =>
  plan.map((command) => (command.kind === 'patch' ? command.patch : command.kind));
const copy = (labels: Readonly<Record<string, string>>) => object({
  labels: { [`${P}parent-uid`]: 'u1', [`${P}parent-cluster-name`]: '', ...labels },
  annotations: { [`${P}parent-name`]: 'settings' },
});
const given = (of: KubernetesObject) =>
  planRelabelling(CONFIG_MAPS, of, { from: '', to: 'S', parents: new Set(['u1']) });

describe('an object of the source that followed pods of Admiralty', () => {
  it("is freed from Admiralty's finalizers and its label, and keeps those of others", () => {
    const held =
      object({ finalizers: ['a.example/b', `${P}c2`, `${P}web-c2`], labels: { [`${P}has-finalizer`]: 'true' } });
    assert.deepEqual(patchOf(planAdmiraltyFinalizerRemoval(CONFIG_MAPS, held)), [
      { metadata: { resourceVersion: '7', finalizers: ['a.example/b'], labels: { [`${P}has-finalizer`]: null } } },
    ]);
  });

  it('is left alone where Admiralty holds nothing of it', () => assert.deepEqual(
    planAdmiraltyFinalizerRemoval(CONFIG_MAPS, object({ finalizers: ['a.example/b'] })), [],
  ));
});

describe('a copy in a target', () => {
  it('is given to the other side, though the name of the cluster was empty', () => {
    assert.deepEqual(
      patchOf(given(copy({}))), [{ metadata: { uid: 'copy', labels: { [`${P}parent-cluster-name`]: 'S' } } }],
    );
  });

  const left: Record<string, KubernetesObject> = {
    'that another source has made, whose cluster name is empty, too': copy({ [`${P}parent-uid`]: 'u2' }),
    'that is given already': copy({ [`${P}parent-cluster-name`]: 'S' }),
    'that somebody else has labelled': object({ labels: { [`${P}parent-uid`]: 'u1' } }),
  };
  for (const [what, of] of Object.entries(left)) {
    it(`stays as it is, one ${what}`, () => assert.deepEqual(given(of), []));
  }
});
