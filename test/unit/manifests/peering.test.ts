import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import type { Secret } from '../../../api/core.ts';
import { readKubeconfig } from '../../../kubernetes/kubeconfig.ts';
import { sourceAccount, sourceName, sourceSideManifests, targetKubeconfig, targetSideManifests, type Peering } from '../../../manifests/peering.ts';
import type { BindingObject } from '../../../manifests/rbac-objects.ts';

const whole: Peering = { name: 'c2', sourceId: '0123abcd-1111-4222-8333-444455556666', installNamespace: 'isthmus-system' };
const oneNamespace: Peering = { ...whole, namespace: 'team-a' };
const listed = (objects: readonly { kind?: string; metadata: { namespace?: string; name?: string } }[]): string[] =>
  objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name].filter(Boolean).join(' '));

describe('the target side of a peering', () => {
  it('of whole clusters is a ClusterSource with its account in the install namespace', () => {
    assert.deepEqual(listed(targetSideManifests(whole)), [
      'ServiceAccount isthmus-system c2-0123abcd',
      'ClusterSource c2-0123abcd',
      'ClusterRoleBinding admiralty-cluster-source-c2-0123abcd',
      'ClusterRoleBinding admiralty-cluster-source-c2-0123abcd-cluster-summary-viewer',
      'ValidatingAdmissionPolicy admiralty-cluster-source-c2-0123abcd-own-objects',
      'ValidatingAdmissionPolicyBinding admiralty-cluster-source-c2-0123abcd-own-objects',
    ]);
  });

  it('of one namespace is a Source with its account there, and sees capacity only cluster-wide', () => {
    const names = listed(targetSideManifests(oneNamespace));
    assert.deepEqual(names.slice(0, 3), [
      'ServiceAccount team-a c2-0123abcd',
      'Source team-a c2-0123abcd',
      'RoleBinding team-a admiralty-source-c2-0123abcd',
    ]);
    // Two variable parts with dashes of their own: Admiralty's rule appends a hash (contract §1.3).
    assert.match(names[3] ?? '', /^ClusterRoleBinding admiralty-source-team-a-c2-0123abcd-cluster-summary-viewer-[0-9a-f]{10}$/);
    assert.deepEqual(names.slice(4).map((name) => name.split(' ')[0]), ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']);
  });

  for (const [what, peering] of [['whole clusters', whole], ['one namespace', oneNamespace]] as const) {
    it(`of ${what} binds the source's own account and no other`, () => {
      const bindings = targetSideManifests(peering).filter((object): object is BindingObject => object.kind?.endsWith('RoleBinding') === true);
      for (const { subjects } of bindings) assert.deepEqual(subjects, [{ kind: 'ServiceAccount', ...sourceAccount(peering) }]);
      assert.deepEqual(bindings.map(({ roleRef }) => roleRef.name), ['isthmus-source', 'isthmus-cluster-summary-viewer']);
    });
  }

  it('keeps two sources apart that call the target by the same name', () => {
    const other = { ...whole, sourceId: 'ffffabcd-1111-4222-8333-444455556666' };
    const names = new Set(listed(targetSideManifests(whole)));
    assert.ok(listed(targetSideManifests(other)).every((name) => !names.has(name)));
  });
});

describe('the source side of a peering', () => {
  it('of whole clusters is a Secret in the install namespace and a ClusterTarget that names it', () => {
    const objects = sourceSideManifests(whole, 'text');
    assert.deepEqual(listed(objects), ['Namespace isthmus-system', 'Secret isthmus-system c2-kubeconfig', 'ClusterTarget c2']);
    assert.deepEqual((objects[2] as { spec?: unknown }).spec, { kubeconfigSecret: { name: 'c2-kubeconfig', namespace: 'isthmus-system' } });
  });

  it('of one namespace lies in that namespace, with the right to read its Secrets', () => {
    const objects = sourceSideManifests(oneNamespace, 'text');
    assert.deepEqual(listed(objects), ['RoleBinding team-a isthmus-target-secret-reader', 'Secret team-a c2-kubeconfig', 'Target team-a c2']);
    assert.deepEqual((objects[2] as { spec?: unknown }).spec, { kubeconfigSecret: { name: 'c2-kubeconfig' } });
  });

  it('holds the kubeconfig under the default key', () => {
    const secret = sourceSideManifests(whole, 'text: "ä"\n')[1] as Secret;
    assert.deepEqual(Object.keys(secret.data ?? {}), ['config']);
    assert.equal(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8'), 'text: "ä"\n');
  });
});

describe('targetKubeconfig', () => {
  it('is what a tenant may store: whatever it is made from is read back the same', async () => {
    const server = fc.webUrl({ validSchemes: ['https'], withFragments: false, withQueryParameters: false });
    const texts = { token: fc.string({ minLength: 1 }), certificateAuthority: fc.option(fc.string({ minLength: 1, unit: 'grapheme' }), { nil: undefined }) };
    const peering = fc.constantFrom(whole, oneNamespace);
    await fc.assert(
      fc.asyncProperty(fc.record({ server, ...texts }), peering, async (access, peering) => {
        const connection = await readKubeconfig({ text: targetKubeconfig(peering, access), author: 'tenant' });
        assert.equal(connection.server.href, new URL(access.server).href);
        assert.deepEqual(connection.credentials, { kind: 'token', token: access.token });
        assert.equal(connection.certificateAuthority, access.certificateAuthority);
        assert.equal(connection.insecure, false);
      }),
    );
  });

  it('names the cluster as the target, the user as the source, and the one namespace', () => {
    const config = parse(targetKubeconfig(oneNamespace, { server: 'https://b.example', token: 't' })) as Record<string, unknown>;
    assert.deepEqual(config['contexts'], [{ name: 'c2', context: { cluster: 'c2', user: sourceName(oneNamespace), namespace: 'team-a' } }]);
    assert.deepEqual(config['clusters'], [{ name: 'c2', cluster: { server: 'https://b.example' } }]);
    assert.equal(config['current-context'], 'c2');
  });
});
