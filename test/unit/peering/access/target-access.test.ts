import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import type { Secret } from '../../../../api/objects/core.ts';
import { readKubeconfig } from '../../../../kubernetes/credentials/kubeconfig.ts';
import type { BindingObject, RoleObject } from '../../../../model/access/rbac-objects.ts';
import {
  parseGrant, sourceName, sourceSideManifests, targetKubeconfig, tokenOf, withToken, type Peering,
} from '../../../../peering/access/target-access.ts';
import { webAddress } from '../../../support/objects/web-addresses.ts';

const whole: Peering =
  { name: 'c2', sourceId: '0123abcd-1111-4222-8333-444455556666', installNamespace: 'isthmus-system' };
const oneNamespace: Peering = { ...whole, namespace: 'team-a' };
const listed = (objects: readonly { kind?: string; metadata: { namespace?: string; name?: string } }[]): string[] =>
  objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name].filter(Boolean).join(' '));

describe('what a target grants', () => {
  const grant = { token: 'abc', expirationTimestamp: '2026-01-01T12:00:00Z' };
  const rows: Readonly<Record<string, readonly [text: string, parsed: object | undefined]>> = {
    'is its token and how long that lasts': [JSON.stringify({ ...grant, account: { name: 'c2' }, more: 1 }), grant],
    'is nothing without a token': [JSON.stringify({ ...grant, token: undefined }), undefined],
    'is nothing with an empty one': [JSON.stringify({ ...grant, token: '' }), undefined],
    'is nothing with a token of another shape': [JSON.stringify({ ...grant, token: { value: 'abc' } }), undefined],
    'is nothing without an end': [JSON.stringify({ token: 'abc' }), undefined],
    'is nothing in a list': [JSON.stringify([grant]), undefined],
    'is nothing in what is not JSON': ['token: abc', undefined],
    'is nothing in no text': ['', undefined],
  };
  for (const [what, [text, parsed]] of Object.entries(rows)) {
    it(what, () => assert.deepEqual(parseGrant(text), parsed));
  }
});

describe('the source side of a peering', () => {
  it('of whole clusters is a Secret in the install namespace and a ClusterTarget that names it', () => {
    const objects = sourceSideManifests(whole, 'text');
    assert.deepEqual(listed(objects), [
      'Role isthmus-system isthmus-renewal-c2-kubeconfig', 'RoleBinding isthmus-system isthmus-renewal-c2-kubeconfig',
      'Secret isthmus-system c2-kubeconfig', 'ClusterTarget c2',
    ]);
    assert.deepEqual((objects[3] as { spec?: unknown }).spec, {
      kubeconfigSecret: { name: 'c2-kubeconfig', namespace: 'isthmus-system' },
    });
  });

  it('of one namespace lies in that namespace, with permission to read that one Secret', () => {
    const objects = sourceSideManifests(oneNamespace, 'text');
    assert.deepEqual(listed(objects), [
      'Role team-a isthmus-kubeconfig-c2-kubeconfig', 'RoleBinding team-a isthmus-kubeconfig-c2-kubeconfig',
      'Role team-a isthmus-renewal-c2-kubeconfig', 'RoleBinding team-a isthmus-renewal-c2-kubeconfig',
      'Secret team-a c2-kubeconfig', 'Target team-a c2',
    ]);
    assert.deepEqual((objects[0] as RoleObject).rules, [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: ['c2-kubeconfig'] },
    ]);
    assert.deepEqual((objects[5] as { spec?: unknown }).spec, { kubeconfigSecret: { name: 'c2-kubeconfig' } });
  });

  it('says through which gateway the target is reached, when one is named', () => {
    for (const peering of [whole, oneNamespace]) {
      const specOf = (gatewayCluster: string | undefined) =>
        (sourceSideManifests({ ...peering, gatewayCluster }, '').at(-1) as unknown as {
          readonly spec: { readonly gateway?: object }
        }).spec;
      assert.deepEqual(specOf('eu-west').gateway, { cluster: 'eu-west' });
      assert.equal('gateway' in specOf(undefined), false);
    }
  });

  it('says which member its pods are those of, unless the gateway does', () => {
    for (const peering of [whole, oneNamespace]) {
      const specOf = (more: Partial<Peering>) =>
        (sourceSideManifests({ ...peering, ...more }, '').at(-1) as unknown as {
          readonly spec: { readonly gateway?: object; readonly podPlane?: object }
        }).spec;
      assert.deepEqual(specOf({ podPlaneCluster: 'eu-west' }).podPlane, { cluster: 'eu-west' });
      assert.deepEqual(specOf({ podPlaneCluster: 'eu-west', gatewayCluster: 'hub' }), {
        ...specOf({ gatewayCluster: 'hub' }), podPlane: { cluster: 'eu-west' },
      });
      assert.deepEqual(
        specOf({ podPlaneCluster: 'eu-west', gatewayCluster: 'eu-west' }), specOf({ gatewayCluster: 'eu-west' }),
      );
      assert.equal('podPlane' in specOf({}), false);
    }
  });

  it('lets our peering, and nobody else, renew the token in that one Secret', () => {
    const [role, binding] = sourceSideManifests(whole, 'text') as unknown as [RoleObject, BindingObject];
    assert.deepEqual(role.rules, [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'], resourceNames: ['c2-kubeconfig'] },
    ]);
    assert.deepEqual(binding.subjects.map(({ name }) => name), ['isthmus-peering', 'isthmus']);
  });

  it('says whose token it holds', () => {
    const account = (peering: Peering) => (
      sourceSideManifests(peering, '').find(({ kind }) => kind === 'Secret') as Secret
    ).metadata.annotations?.['isthmus.dev/service-account'];
    assert.equal(account(whole), 'isthmus-system/c2-0123abcd');
    assert.equal(account(oneNamespace), 'team-a/c2-0123abcd');
  });

  it('says of each object that is for one target alone which target that is', () => {
    const marks = (peering: Peering) =>
      sourceSideManifests(peering, '').map(({ metadata }) => metadata.annotations?.['isthmus.dev/peered-target']);
    assert.deepEqual(new Set(marks(whole)), new Set(['ClusterTarget/c2']));
    assert.deepEqual(new Set(marks(oneNamespace)), new Set(['Target/team-a/c2']));
  });

  it('holds the kubeconfig under the default key', () => {
    const secret = sourceSideManifests(whole, 'text: "ä"\n')[2] as Secret;
    assert.deepEqual(Object.keys(secret.data ?? {}), ['config']);
    assert.equal(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8'), 'text: "ä"\n');
  });
});

describe('targetKubeconfig', () => {
  it('is what a tenant may store: whatever it is made from is read back the same', async () => {
    const server = webAddress(['https']);
    const texts = {
      token: fc.string({ minLength: 1 }),
      certificateAuthority: fc.option(fc.string({ minLength: 1, unit: 'grapheme' }), { nil: undefined }),
    };
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
    const config =
      parse(targetKubeconfig(oneNamespace, { server: 'https://b.example', token: 't' })) as Record<string, unknown>;
    assert.deepEqual(config['contexts'], [
      { name: 'c2', context: { cluster: 'c2', user: sourceName(oneNamespace), namespace: 'team-a' } },
    ]);
    assert.deepEqual(config['clusters'], [{ name: 'c2', cluster: { server: 'https://b.example' } }]);
    assert.equal(config['current-context'], 'c2');
  });
});

describe('withToken', () => {
  const text =
    targetKubeconfig(oneNamespace, { server: 'https://b.example', certificateAuthority: 'pem', token: 'old' });

  it('changes the token and nothing else', () => {
    assert.equal(withToken(text, 'new'), targetKubeconfig(
      oneNamespace, { server: 'https://b.example', certificateAuthority: 'pem', token: 'new' },
    ));
    assert.equal(tokenOf(withToken(text, 'new')), 'new');
  });

  it('keeps what somebody has added to its user', () => {
    const added = 'users: [{name: a, user: {token: old, client-certificate-data: x, client-key-data: y}}]';
    assert.deepEqual(parse(withToken(added, 'new')), parse(added.replace('old', 'new')));
  });

  for (
    const [what, other] of [
      ['no kubeconfig', 'just text'], ['nothing', ''],
      ['two users', 'users: [{name: a, user: {token: x}}, {name: b, user: {token: y}}]'],
      ['a certificate', 'users: [{name: a, user: {client-certificate-data: x}}]'],
    ] as const
  ) {
    it(`leaves ${what} alone`, () => {
      assert.equal(tokenOf(other), undefined);
      assert.equal(withToken(other, 'new'), other);
    });
  }
});
