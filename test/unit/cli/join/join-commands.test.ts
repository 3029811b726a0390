// The steps of joining that one cluster answers: who may run where, who is approved, what an invitation holds, and the
// key that a source keeps until it has joined.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { INVITATION_KEY_SECRET } from '../../../../api/objects/own-names.ts';
import {
  INVITATIONS, JOIN_REQUESTS, NAMESPACES, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS,
} from '../../../../api/resource-types.ts';
import { sourcesLabel } from '../../../../cli/join/allow.ts';
import { approveSource } from '../../../../cli/join/approve.ts';
import { inviteSource, type InvitationOffer } from '../../../../cli/join/invite.ts';
import { deleteJoinKey, storedJoinKey } from '../../../../cli/join/join-key.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { PART_OF } from '../../../../model/access/rbac-objects.ts';
import { INVITATION_AUDIENCE, toInvitationData } from '../../../../peering/invitation/join-decision.ts';
import { joiningSecretName } from '../../../../peering/access/target-access.ts';
import { verifyToken } from '../../../../process/crypto/signed-token.ts';
import { sealerFor } from '../../../../process/crypto/sealed-message.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

const signal = new AbortController().signal;

describe('sources that are allowed in a namespace', () => {
  const label = (sources: readonly string[], name = 'shop', kind = 'namespace') =>
    sourcesLabel(kind, name, { installNamespace: 'isthmus-system', sources });

  it('are one value of a label, each once', () => assert.equal(label(['eu', 'us', 'eu']), 'eu_us'));
  it('are none when there are none', () => assert.equal(label([]), 'none'));
  it('are named as kubectl abbreviates the kind', () => assert.equal(label(['eu'], 'shop', 'ns'), 'eu'));
  it('fit into 63 characters, and no more', () => {
    assert.equal(label(['a'.repeat(31), 'b'.repeat(31)]).length, 63);
    assert.throws(() => label(['a'.repeat(32), 'b'.repeat(31)]), { code: 'BadInput', message: /--namespace-selector/ });
  });
  for (const name of ['kube-system', 'kube-x', 'isthmus-system', 'isthmus-system-keys', 'isthmus-system-targets']) {
    it(`are never allowed in ${name}`, () =>
      assert.throws(() => label(['eu'], name), { code: 'BadInput', message: new RegExp(`never allowed in ${name}`) }));
  }
});

describe('a cluster that waits with an invitation', () => {
  const request = (name: string, clusterID: string, phase?: string, invitation = 'inv') => [JOIN_REQUESTS, {
    metadata: { namespace: 'isthmus-system', name }, spec: { invitation, clusterID },
    ...(phase && { status: { phase } }),
  } as never] as const;
  const approve = async (requests: readonly ReturnType<typeof request>[], cluster?: string) => {
    const at = { namespace: 'isthmus-system', name: 'inv' };
    const world = new MemoryCluster([INVITATIONS, { metadata: at }], ...requests);
    const approval = { namespace: 'isthmus-system', invitation: 'inv', cluster };
    const approved = await approveSource(world.client, approval, signal);
    const { spec } = world.find(INVITATIONS, 'inv', 'isthmus-system')!;
    assert.deepEqual(spec, { approvedClusterID: approved });
    return approved;
  };

  it('is approved when it is the only one; its repeated requests count once', async () =>
    assert.equal(await approve([request('a', 'one', 'Pending'), request('b', 'one', 'Pending')]), 'one'));
  it('is approved by name among several', async () =>
    assert.equal(await approve([request('a', 'one', 'Pending'), request('b', 'two', 'Pending')], 'two'), 'two'));
  it('must be named among several', async () => {
    await assert.rejects(
      approve([request('a', 'one', 'Pending'), request('b', 'two', 'Pending')]),
      { code: 'BadInput', message: /one, two.*--cluster/ },
    );
  });
  const none: Record<string, readonly ReturnType<typeof request>[]> = {
    'nobody asks': [], 'it was answered': [request('a', 'one', 'Refused')],
    'it was not looked at': [request('a', 'one')],
    'it waits with another one': [request('a', 'one', 'Pending', 'other')],
  };
  for (const [what, requests] of Object.entries(none)) {
    it(`is not there when ${what}`, async () => {
      await assert.rejects(approve(requests), { code: 'NotFound', message: /No cluster waits with invitation inv/ });
    });
  }
  it('of another name than the one that is approved is named', async () => {
    await assert.rejects(approve([request('a', 'one', 'Pending')], 'two'), {
      code: 'NotFound', message: 'Cluster two does not wait with invitation inv. Those that do: one.',
    });
  });
});

describe('an invitation', () => {
  const KEY = Buffer.alloc(32, 7);
  const key = (bytes: Buffer = KEY) => [SECRETS, {
    metadata: { namespace: 'isthmus-system-keys', name: INVITATION_KEY_SECRET },
    data: { key: bytes.toString('base64') },
  } as never] as const;
  const offer: InvitationOffer =
    { targetName: 'eu', installNamespace: 'isthmus-system', minutes: 5, needsApproval: false, tokenSeconds: 86_400 };
  const connection = {
    server: new URL('https://target.example/'), insecure: false, certificateAuthority: 'CA',
    credentials: { kind: 'none' as const },
  };
  const world = (...objects: readonly ReturnType<typeof key>[]) =>
    new MemoryCluster([NAMESPACES, { metadata: { name: 'kube-system', uid: 'target' } }], ...objects);
  const invite = (cluster: MemoryCluster, more: Partial<InvitationOffer> = {}, of: object = {}) =>
    inviteSource({ client: cluster.client, connection: { ...connection, ...of } }, { ...offer, ...more }, signal);

  it('holds what a source needs, signed for this cluster, for its time and no longer', async () => {
    const { token, name } = await invite(world(key()), { server: 'https://[fd00::1]:6443' });
    const now = Date.now();
    const verified = await verifyToken(token, { key: KEY, issuer: 'target', audience: INVITATION_AUDIENCE, now });
    assert.ok(verified.kind !== 'refused');
    assert.equal(verified.claims.id, name);
    const data = toInvitationData(verified.claims.data);
    assert.deepEqual([data?.server, data?.certificateAuthority, data?.targetName, data?.namespace], [
      'https://[fd00::1]:6443', 'CA', 'eu', undefined,
    ]);
    const late = { key: KEY, issuer: 'target', audience: INVITATION_AUDIENCE, now: now + 6 * 60_000 };
    assert.equal((await verifyToken(token, late)).kind, 'refused');
  });

  it('holds by the clock of its cluster, whatever that of this machine says', async () => {
    const cluster = world(key());
    const [now, then] = [performance.now(), Date.now() - 3_600_000];
    cluster.client.transport.clock.observe(new Date(then).toUTCString(), now, now);
    const { token, name } = await invite(cluster);
    const expected = { key: KEY, issuer: 'target', audience: INVITATION_AUDIENCE, now: then };
    assert.equal((await verifyToken(token, expected)).kind, 'verified');
    const { expiresAt } = cluster.find(INVITATIONS, name, 'isthmus-system')!['spec'] as { readonly expiresAt: string };
    assert.ok(Date.parse(expiresAt) <= then + 6 * 60_000);
  });

  it('gives its bearer an account that may ask to join, and goes with the invitation', async () => {
    const cluster = world(key());
    const { name } = await invite(cluster, { namespace: undefined, needsApproval: true });
    for (const type of [SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS]) {
      const [at = ''] = cluster.names(type);
      const { ownerReferences } = cluster.find(type, at.split('/')[1] ?? '', 'isthmus-system')!.metadata;
      assert.deepEqual(ownerReferences?.map((owner) => [owner.kind, owner.name]), [['Invitation', name]]);
    }
    const [role = ''] = cluster.names(ROLES);
    const { rules } = cluster.find(ROLES, role.split('/')[1] ?? '', 'isthmus-system')!;
    const verbs = (rules as readonly { readonly verbs: readonly string[] }[]).flatMap((rule) => rule.verbs);
    assert.deepEqual(verbs, ['create', 'get']);
    assert.match(JSON.stringify(cluster.find(INVITATIONS, name, 'isthmus-system')?.['spec']), /"approval":"Manual"/);
  });

  it('makes the key of this cluster when it is the first', async () => {
    const cluster = world();
    await invite(cluster);
    const secret = cluster.find(SECRETS, INVITATION_KEY_SECRET, 'isthmus-system-keys')!;
    assert.equal(Buffer.from((secret['data'] as { readonly key: string }).key, 'base64').length, 32);
  });

  it('is signed with the key of another command that was faster', async () => {
    const cluster = world();
    cluster.before = ({ method, path }) => void (
      method === 'POST' && path.endsWith('/secrets') && cluster.put(...key())
    );
    const { token } = await invite(cluster);
    const verified =
      await verifyToken(token, { key: KEY, issuer: 'target', audience: INVITATION_AUDIENCE, now: Date.now() });
    assert.notEqual(verified.kind, 'refused');
  });

  const refused: Record<string, readonly [attempt: () => Promise<unknown>, error: object]> = {
    'whose cluster has a key that is too short': [() => invite(world(key(Buffer.alloc(31)))), {
      code: 'BadInput', message: /holds no key of 32 bytes; delete it/,
    }],
    'for a namespace that is not there': [() => invite(world(key()), { namespace: 'shop' }), {
      code: 'NotFound', message: 'This cluster has no namespace shop: create it first.',
    }],
    'of a cluster whose certificate the source could not check': [
      () => invite(world(key()), {}, { certificateAuthority: undefined }),
      { code: 'KubeconfigInvalid', message: /needs certificate-authority-data/ },
    ],
    'of a cluster whose certificate is not checked here': [
      () => invite(world(key()), {}, { insecure: true }), { code: 'KubeconfigInvalid' },
    ],
    'of a cluster whose certificate has a name that the source does not get': [
      () => invite(world(key()), {}, { serverName: 'api.example' }),
      { code: 'KubeconfigInvalid', message: /tls-server-name.*--server/ },
    ],
    'of a cluster without Isthmus': [() => invite(world(key()).withoutKinds(INVITATIONS)), {
      code: 'NotFound', message: /run "isthmus install" first/,
    }],
  };
  for (const [what, [attempt, error]] of Object.entries(refused)) {
    it(`${what} is not made`, () => assert.rejects(attempt(), error));
  }

  it('says what to do where an older version has no namespace for keys', async () => {
    const cluster = world();
    cluster.before = ({ method, path }) =>
      (method === 'POST' && path.endsWith('/secrets') ? new ApiError(404, 'NotFound', 'no namespace') : undefined);
    await assert.rejects(invite(cluster), { code: 'NotFound', message: /isthmus-system-keys: run "isthmus install"/ });
  });
});

describe('the key of a source that joins', () => {
  const peering = { name: 'eu', sourceId: 'source', installNamespace: 'isthmus-system' };
  const at = { namespace: 'isthmus-system', name: joiningSecretName(peering) };
  const read = async (cluster: MemoryCluster) => (await storedJoinKey(cluster.client, peering, signal)).receiver;

  it('is made once: what was sealed for it before an interruption is opened after it', async () => {
    const cluster = new MemoryCluster();
    const seal = await sealerFor((await read(cluster)).publicKey);
    assert.equal(await (await read(cluster)).open((await seal?.('granted')) ?? ''), 'granted');
    assert.deepEqual(cluster.writes.length, 1);
  });

  it('is the one of another command that was faster', async () => {
    const [cluster, other] = [new MemoryCluster(), new MemoryCluster()];
    const { publicKey } = await read(other);
    cluster.before = ({ method }) =>
      void (method === 'POST' && cluster.put(SECRETS, other.find(SECRETS, at.name, at.namespace)!));
    assert.equal((await read(cluster)).publicKey, publicKey);
  });

  it('is never read from, or removed with, a Secret of somebody else', async () => {
    const cluster = new MemoryCluster([SECRETS, { metadata: at, data: { key: 'e30=' } } as never]);
    await assert.rejects(read(cluster), { code: 'BadInput', message: /was not created by Isthmus.*--name/ });
    await deleteJoinKey(cluster.client, peering, signal);
    assert.deepEqual(cluster.names(SECRETS), [`${at.namespace}/${at.name}`]);
  });

  for (const [what, data] of Object.entries({
    'is empty': {}, 'is no JSON': { key: 'e3' }, 'is of another curve': {
      key: Buffer.from('{"kty":"EC","crv":"P-384","d":"x","x":"x","y":"x"}').toString('base64'),
    },
  })) {
    it(`that ${what} is an error that says what to delete`, async () => {
      const cluster = new MemoryCluster([SECRETS, { metadata: { ...at, labels: PART_OF }, data } as never]);
      await assert.rejects(read(cluster), { code: 'BadInput', message: /has no key to continue .*; delete it/ });
    });
  }

  it('needs the namespace of the target', async () => {
    const cluster = new MemoryCluster();
    cluster.before = ({ method }) => (method === 'POST' ? new ApiError(404, 'NotFound', 'no namespace') : undefined);
    await assert.rejects(read(cluster), { code: 'NotFound', message: /no namespace isthmus-system: create it/ });
  });
});
