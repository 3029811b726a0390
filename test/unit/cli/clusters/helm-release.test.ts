import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import {
  holdsAdmiralty, withKeepPolicy, lacksKeepPolicy, readRelease, writeRelease,
} from '../../../../cli/clusters/helm-release.ts';

const definition = (name: string) =>
  ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name } });
const role = (name: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, annotations: { a: 'b' } },
  rules: [],
});
const ROLES = ['mc-source'];
const texts = [definition('podchaperons.multicluster.admiralty.io'), role('mc-source'), role('mc-vk'), definition(
  'issuers.cert-manager.io',
)].map((object) => stringify(object));
const release = {
  name: 'mc', version: 3, manifest: texts.map((text) => `---\n# Source: admiralty/templates/x.yaml\n${text}`).join(''),
  hooks: [{ name: 'post-delete' }],
};
const objectsOf = ({ manifest }: { readonly manifest: string }) =>
  parseAllDocuments(manifest).map((document) => document.toJS() as KubernetesObject);
const keptIn = (of: { readonly manifest: string }) => objectsOf(of)
  .filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep')
  .map(({ metadata }) => metadata.name);

describe('a release of Helm', () => {
  it('is what was written', () => assert.deepEqual(readRelease(writeRelease(release)), release));

  it('says what its uninstall would take along', () => {
    assert.deepEqual(lacksKeepPolicy(release, ROLES), [
      'CustomResourceDefinition podchaperons.multicluster.admiralty.io', 'ClusterRole mc-source',
    ]);
  });

  it("keeps Admiralty's definitions and the roles of sources, nothing else, and runs no hooks", () => {
    const kept = withKeepPolicy(release, ROLES);
    assert.deepEqual(keptIn(kept), ['podchaperons.multicluster.admiralty.io', 'mc-source']);
    assert.deepEqual([lacksKeepPolicy(kept, ROLES), kept.hooks, Object.keys(kept)], [[], [], Object.keys(release)]);
    assert.deepEqual(
      objectsOf(kept).map(({ metadata }) => metadata.name), objectsOf(release).map(({ metadata }) => metadata.name),
    );
    assert.equal(objectsOf(kept)[1]?.metadata.annotations?.['a'], 'b');
  });

  it('is the same after it was changed twice', () => assert.deepEqual(
    withKeepPolicy(withKeepPolicy(release, ROLES), ROLES), withKeepPolicy(release, ROLES),
  ));

  it("is left alone where it is somebody else's", () => assert.equal(
    holdsAdmiralty({ manifest: texts.slice(2).join('---\n') }, ROLES), false,
  ));
});
