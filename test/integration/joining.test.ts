// Joining and leaving on real API servers: sources get their identity and lose it, invitations let in one cluster once,
// tokens are renewed.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { Invitation, JoinRequest } from '../../api/kinds/invitation.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, EVENTS, INVITATIONS,
  JOIN_REQUESTS, NAMESPACES, POD_CHAPERONS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SOURCES,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { approveSource } from '../../cli/join/approve.ts';
import { installInto } from '../../cli/install/install.ts';
import { inviteSource, type InvitationOffer } from '../../cli/join/invite.ts';
import { joinTarget } from '../../cli/join/join.ts';
import { peerClusters } from '../../cli/join/peer-clusters.ts';
import type { UnpeerOptions } from '../../cli/unpeer/target-side.ts';
import { unpeerTarget, routeToTarget } from '../../cli/unpeer/unpeer-target.ts';
import { startConnectEndpoint, type ConnectEndpoint } from '../../gateway/local-end/connect-endpoint.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { EventRecorder } from '../../kubernetes/controller/event-recorder.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { TargetClusters } from '../../targets/target-clusters.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { startCredentials } from '../../peering/access/credential-controller.ts';
import { startJoining } from '../../peering/invitation/join-controller.ts';
import { startSources } from '../../peering/identity/source-controller.ts';
import { keyNamespace } from '../../model/access/key-namespace.ts';
import type { RoleObject } from '../../model/access/rbac-objects.ts';
import { targetKubeconfig, tokenKubeconfig, tokenOf } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { API_SERVER_SERVICE } from '../../model/network/gateway-names.ts';
import { createReceiver } from '../../process/crypto/sealed-message.ts';
import { signToken, unverifiedData } from '../../process/crypto/signed-token.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import {
  identityOf, makeAuthority, startGateway, untilConnected, type TestGateway,
} from '../support/doubles/gateway-world.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
const stopped = new AbortController();
const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(230_000)]);
const quiet = { tell: () => undefined, signal };
const patience = { forMs: 30_000, everyMs: 50 };
const offer = (more: Partial<InvitationOffer> = {}): InvitationOffer =>
  ({ targetName: 'eu-west', installNamespace, minutes: 15, needsApproval: false, tokenSeconds: 3_600, ...more });

let sandbox: Sandbox;
let source: OpenCluster;
let target: OpenCluster;
let sourceId: string;

before(async () => {
  sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-joining-')), targets: 1, nodes: 0, gpus: 0, audit: false }, signal,
  );
  [source, target] = (await Promise.all(
    sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
  )) as [OpenCluster, OpenCluster];
  await Promise.all([source, target].map(({ client }) => installInto(client, { installNamespace }, quiet)));
  sourceId = await readClusterId(source.client, signal);
  const asPeering = await componentOf(target, 'isthmus-peering');
  const events = new EventRecorder({ client: asPeering, controller: 'isthmus.dev/peering', logger: SILENT });
  void events.run(signal);
  startSources({ client: asPeering, installNamespace, logger: SILENT }, signal);
  startJoining(
    {
      client: asPeering, clusterId: await readClusterId(target.client, signal), installNamespace, events,
      logger: SILENT,
    },
    signal,
  );
});

const opened: ClusterClient[] = [];

after(async () => {
  stopped.abort();
  await Promise.all(
    [...[source, target].map((cluster) => cluster?.client), ...opened].map((client) => client?.transport.close()),
  );
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir); // fails when the sandbox left something in it
});

/** What a component may do, and no more: its own ServiceAccount. */
async function componentOf({ client, connection }: OpenCluster, name: string): Promise<ClusterClient> {
  const { token } = await requestToken(client, { namespace: installNamespace, name, seconds: 3_600 }, signal);
  return clientOf(
    tokenKubeconfig({
      server: connection.server.href, certificateAuthority: connection.certificateAuthority, token, cluster: 'c',
      user: name,
    }),
  );
}

async function clientOf(text: string): Promise<ClusterClient> {
  const client =
    new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test'));
  opened.push(client);
  return client;
}

const clusterSource = (name: string, spec: ClusterSource['spec']): ClusterSource => ({ metadata: { name }, spec });
const readyOf = (object: Source | ClusterSource | undefined) =>
  object?.status?.conditions?.find(({ type }) => type === 'Ready');

async function untilReady(
  type: ResourceType<ClusterSource> | ResourceType<Source>, at: { name: string; namespace?: string }, reason: string,
): Promise<void> {
  const look = async () => (readyOf(await target.client.get(type, at))?.reason === reason ? true : undefined);
  assert.ok(await pollUntil(look, patience, signal), `${at.name} never says ${reason}`);
}

async function untilGone(type: ResourceType, at: { name: string; namespace?: string }): Promise<void> {
  const look = () => target.client.get(type, at).then(() => undefined, (error: unknown) => (
    error instanceof ApiError && error.status === 404 ? true : Promise.reject(error)
  ));
  // the garbage collector looks for new kinds, such as those of an invitation, every 30 s
  assert.ok(await pollUntil(look, { ...patience, forMs: 60_000 }, signal), `${type.kind} ${at.name} stays`);
}

/** While a Source of this cluster is still going, the next one is refused. */
async function leave(at: { namespace: string; name: string }): Promise<void> {
  await target.client.delete(SOURCES, at);
  await untilGone(SOURCES, at);
}

const dependents = async (source: string): Promise<string[]> => {
  const all = await Promise.all(
    [SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, VALIDATING_ADMISSION_POLICIES].map(
      (type: ResourceType) => target.client.list(type),
    ),
  );
  return all.flat().filter(({ metadata }) => metadata.annotations?.['isthmus.dev/source'] === source).map(
    ({ metadata }) => metadata.name ?? '',
  );
};

describe('a ClusterSource', () => {
  const spec = { serviceAccount: { namespace: installNamespace, name: 'by-hand' }, clusterID: 'cluster-1' };

  it('gets its account and its permissions, and says so', async () => {
    await target.client.create(CLUSTER_SOURCES, clusterSource('by-hand', spec));
    await untilReady(CLUSTER_SOURCES, { name: 'by-hand' }, 'Established');
    assert.equal((await dependents('by-hand')).length, 8);
  });

  it('gets back what somebody took away', async () => {
    const at = { name: 'admiralty-cluster-source-by-hand' };
    const { metadata } = await target.client.get(CLUSTER_ROLE_BINDINGS, at);
    await target.client.delete(CLUSTER_ROLE_BINDINGS, at);
    const look = () => target.client.get(CLUSTER_ROLE_BINDINGS, at)
      .then((found) => (found.metadata.uid === metadata.uid ? undefined : true), () => undefined);
    assert.ok(await pollUntil(look, patience, signal));
  });

  it('is known by any cluster when it no longer says which it is', async () => {
    await target.client.patch(
      CLUSTER_SOURCES, { name: 'by-hand' }, { patchType: 'merge', patch: { spec: { clusterID: null } } },
    );
    const rules = async () => (
      (await target.client.get(CLUSTER_ROLES, { name: 'admiralty-cluster-source-by-hand-leave' })) as RoleObject
    ).rules;
    const isAny = async () => (
      (await rules()).some(({ verbs, resourceNames }) => verbs.includes('own') && resourceNames === undefined)
        ? true
        : undefined
    );
    assert.ok(await pollUntil(isAny, patience, signal));
  });

  it('gets no permissions while nothing limits them', async () => {
    const name = 'isthmus-sources';
    const policy = await target.client.get(VALIDATING_ADMISSION_POLICIES, { name });
    await target.client.delete(VALIDATING_ADMISSION_POLICIES, { name });
    await target.client.create(CLUSTER_SOURCES, clusterSource('unlimited', { userName: 'jane' }));
    await untilReady(CLUSTER_SOURCES, { name: 'unlimited' }, 'PolicyMissing');
    assert.deepEqual(await dependents('unlimited'), []);
    const { metadata: { labels = {} } } = policy;
    await target.client.create(VALIDATING_ADMISSION_POLICIES, { ...policy, metadata: { name, labels } });
    await untilReady(CLUSTER_SOURCES, { name: 'unlimited' }, 'Established');
    await target.client.delete(CLUSTER_SOURCES, { name: 'unlimited' });
  });

  it('leaves nothing when it goes', async () => {
    await target.client.delete(CLUSTER_SOURCES, { name: 'by-hand' });
    assert.ok(
      await pollUntil(async () => ((await dependents('by-hand')).length === 0 ? true : undefined), patience, signal),
    );
  });

  it('that names nobody, or a namespace that is not there, says what to change', async () => {
    await target.client.create(CLUSTER_SOURCES, clusterSource('nobody', {}));
    await untilReady(CLUSTER_SOURCES, { name: 'nobody' }, 'NoIdentity');
    await target.client.create(
      CLUSTER_SOURCES, clusterSource('nowhere', { serviceAccount: { namespace: 'nowhere', name: 'sa' } }),
    );
    await untilReady(CLUSTER_SOURCES, { name: 'nowhere' }, 'NamespaceMissing');
    await Promise.all(['nobody', 'nowhere'].map((name) => target.client.delete(CLUSTER_SOURCES, { name })));
  });

  it('uses an account that somebody else made, and leaves it when it goes', async () => {
    const account = { namespace: installNamespace, name: 'theirs' };
    await target.client.create(SERVICE_ACCOUNTS, { metadata: account });
    await target.client.create(
      CLUSTER_SOURCES, clusterSource('theirs', { serviceAccount: account, clusterID: 'cluster-2' }),
    );
    await untilReady(CLUSTER_SOURCES, { name: 'theirs' }, 'Established');
    await target.client.delete(CLUSTER_SOURCES, { name: 'theirs' });
    assert.ok(
      await pollUntil(async () => ((await dependents('theirs')).length === 0 ? true : undefined), patience, signal),
    );
    assert.equal(
      (await target.client.get(SERVICE_ACCOUNTS, account)).metadata.annotations?.['isthmus.dev/source'], undefined,
    );
  });
});

describe('a Source of one namespace', () => {
  it('takes its cluster-wide binding with it, which it cannot own', async () => {
    await target.client.create(NAMESPACES, { metadata: { name: 'team-b' } });
    const named: Source = {
      metadata: { namespace: 'team-b', name: 's' },
      spec: { serviceAccountName: 'sa', userName: 'jane', clusterID: 'cluster-3' },
    };
    await target.client.create(SOURCES, named);
    await untilReady(SOURCES, { namespace: 'team-b', name: 's' }, 'Established');
    assert.equal((await dependents('team-b/s')).length, 8);
    await target.client.delete(SOURCES, { namespace: 'team-b', name: 's' });
    assert.ok(
      await pollUntil(async () => ((await dependents('team-b/s')).length === 0 ? true : undefined), patience, signal),
    );
  });
});

/** Asks with this token as a source would; gives the answer of the target. */
async function ask(token: string, more: Partial<JoinRequest['spec']> = {}): Promise<JoinRequest> {
  const { publicKey } = await createReceiver();
  const { jti } = unverifiedData(token) ?? {};
  const spec = {
    invitation: typeof jti === 'string' ? jti : 'none', token, clusterID: sourceId, targetName: 'eu-west', publicKey,
    ...more,
  };
  const request: JoinRequest = { metadata: { namespace: installNamespace, generateName: 'asked-' }, spec };
  const { metadata } = await target.client.create(JOIN_REQUESTS, request);
  const at = { namespace: installNamespace, name: metadata.name ?? '' };
  const answered = await pollUntil(async () => {
    const found = await target.client.get(JOIN_REQUESTS, at);
    return found.status === undefined ? undefined : found;
  }, patience, signal);
  assert.ok(answered, 'no answer');
  return answered;
}

const refusal = async (token: string, more: Partial<JoinRequest['spec']> = {}): Promise<string> => {
  const { status } = await ask(token, more);
  return `${status?.phase} ${status?.reason}`;
};

describe('an invitation', () => {
  let token: string;
  let invitation: string;
  let bearer: string;

  it('is one token', async () => {
    ({ token, name: invitation } = await inviteSource(target, offer(), signal));
    assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    bearer = String(unverifiedData(token)?.['bearer']);
  });

  it('may be used to ask, and for nothing else', async () => {
    const { connection } = target;
    const asInvited = await clientOf(
      tokenKubeconfig({
        server: connection.server.href, certificateAuthority: connection.certificateAuthority, token: bearer,
        cluster: 'c', user: 'u',
      }),
    );
    const isForbidden = (error: unknown) => error instanceof ApiError && error.status === 403;
    const calls: (() => Promise<unknown>)[] = [
      () => asInvited.list(JOIN_REQUESTS, { namespace: installNamespace }), () => asInvited
        .list(INVITATIONS, { namespace: installNamespace }),
      () => asInvited.list(SECRETS, { namespace: installNamespace }),
      () => asInvited.list(POD_CHAPERONS), () => asInvited.get(NAMESPACES, { name: 'kube-system' }),
      () => requestToken(asInvited, { namespace: installNamespace, name: 'isthmus', seconds: 600 }, signal),
    ];
    for (const call of calls) await assert.rejects(call, isForbidden);
  });

  const forged = async (change: { readonly [claim: string]: unknown }, key?: Uint8Array): Promise<string> => {
    const claims = unverifiedData(token)!;
    const { iss, aud, jti, nbf, exp, ...data } = { ...claims, ...change } as Record<string, unknown>;
    return signToken(
      {
        issuer: String(iss), audience: String(aud), id: String(jti), notBefore: Number(nbf), expiresAt: Number(exp),
        data,
      },
      key ?? (await realKey()),
    );
  };
  const realKey = async (): Promise<Uint8Array> => Buffer.from(
    (
      await target.client.get(SECRETS, { namespace: keyNamespace(installNamespace), name: 'isthmus-invitation-key' })
    ).data?.['key']
      ?? '',
    'base64',
  );
  const tampered = (change: object): string => {
    const [header, , signature] = token.split('.');
    const data = JSON.stringify({ ...unverifiedData(token), ...change });
    return `${header}.${Buffer.from(data).toString('base64url')}.${signature}`;
  };
  const forgeries: readonly [string, () => Promise<string>, string][] = [
    [
      'without a signature',
      async () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`, 'AlgorithmRefused',
    ],
    ['signed with another key', () => forged({}, new Uint8Array(32)), 'SignatureInvalid'],
    ['for another audience', () => forged({ aud: 'other' }), 'WrongAudience'],
    ['that has expired', () => forged({ exp: Math.floor(Date.now() / 1_000) - 1 }), 'InvitationExpired'],
    ['that is not valid yet', () => forged({ nbf: Math.floor(Date.now() / 1_000) + 600 }), 'TokenNotYetValid'],
    ['of another cluster', () => forged({ iss: 'another' }), 'WrongIssuer'],
    ['with a changed address', async () => tampered({ server: 'https://evil.example' }), 'SignatureInvalid'],
    ['with a changed pin', async () => tampered({ certificateAuthority: 'other' }), 'SignatureInvalid'],
    ['that was cut short', async () => token.slice(0, -4), 'SignatureInvalid'],
    ['that is nothing like it', async () => 'x', 'TokenMalformed'],
  ];
  for (const [what, make, reason] of forgeries) {
    it(`C2-30: lets in nobody with a token ${what}: ${reason}`, async () => assert.equal(
      await refusal(await make()), `Refused ${reason}`,
    ));
  }

  it('offers what is stored of it, and not what a token claims', async () => {
    const { token: offered, name } =
      await inviteSource(target, offer({ targetName: 'claimed', namespace: 'team-b' }), signal);
    const { iss, aud, jti, nbf, exp, namespace: _namespace, ...data } =
      unverifiedData(offered) as Record<string, unknown>;
    const claims = await signToken(
      {
        issuer: String(iss), audience: String(aud), id: String(jti), notBefore: Number(nbf), expiresAt: Number(exp),
        data,
      },
      await realKey(),
    );
    const { status } = await ask(claims, { targetName: 'claimed' });
    assert.equal(status?.phase, 'Accepted');
    assert.equal(
      await target.client.get(CLUSTER_SOURCES, { name: `claimed-${sourceId.slice(0, 8)}` })
        .then(() => 'whole cluster', () => 'one namespace'),
      'one namespace',
    );
    await leave({ namespace: 'team-b', name: `claimed-${sourceId.slice(0, 8)}` });
    assert.match(name, /^invitation-/);
  });

  it('C2-30 and C2-38: lets nobody in with the token of another invitation, nor the target itself', async () => {
    assert.equal(await refusal(token, { invitation: 'other' }), 'Refused WrongInvitation');
    assert.equal(
      await refusal(token, { clusterID: await readClusterId(target.client, signal) }), 'Refused SameCluster',
    );
  });

  it('with approval lets in only after it was approved', async () => {
    const { token: waiting, name } =
      await inviteSource(target, offer({ targetName: 'approved', needsApproval: true, namespace: 'team-b' }), signal);
    await assert.rejects(
      approveSource(target.client, { namespace: installNamespace, invitation: name }, signal), /No cluster waits/,
    );
    const asked = new EventEmitter();
    const told = once(asked, 'told', { signal });
    await source.client.create(NAMESPACES, { metadata: { name: 'team-b' } });
    const joining = joinTarget({ client: source.client, token: waiting, installNamespace }, {
      tell: (line) => void (line.includes('isthmus approve') && asked.emit('told')), signal,
    });
    await Promise.race([told, joining]);
    assert.equal(
      await approveSource(target.client, { namespace: installNamespace, invitation: name }, signal), sourceId,
    );
    assert.equal((await joining).namespace, 'team-b', 'and only into the namespace that was offered');
    const stored: Invitation = await target.client.get(INVITATIONS, { namespace: installNamespace, name });
    assert.equal(stored.status?.clusterID, sourceId);
    assert.ok(invitation !== name);
    await leave({ namespace: 'team-b', name: `approved-${sourceId.slice(0, 8)}` });
  });

  it('makes a ClusterTarget that works, from the token alone', async () => {
    const lines: string[] = [];
    const peering = await joinTarget(
      { client: source.client, token: token.replaceAll(/.{80}/g, '$&\n'), installNamespace }, // as a terminal wraps it
      { tell: (line) => lines.push(line), signal },
    );
    assert.equal(peering.name, 'eu-west');
    assert.ok(lines.every((line) => !line.includes(token) && !line.includes(bearer)));
    const { data } = await source.client.get(SECRETS, { namespace: installNamespace, name: 'eu-west-kubeconfig' });
    const joined = await clientOf(Buffer.from(data?.['config'] ?? '', 'base64').toString());
    assert.equal(await readClusterId(joined, signal), await readClusterId(target.client, signal));
    assert.deepEqual(await joined.list(POD_CHAPERONS), []);
    const made = await target.client.get(CLUSTER_SOURCES, { name: `eu-west-${sourceId.slice(0, 8)}` });
    assert.equal(made.spec.clusterID, sourceId, 'the identity is bound to the cluster that asked');
  });

  it('C2-30: is used up: a replay and a second cluster are told so, by an Event too', async () => {
    assert.equal(await refusal(token), 'Refused AlreadyRedeemed');
    assert.equal(await refusal(token, { clusterID: 'another-cluster' }), 'Refused AlreadyRedeemed');
    const type: ResourceType<KubernetesObject & { readonly reason?: string; readonly note?: string }> = EVENTS;
    const events = () => target.client.list(type, { namespace: installNamespace });
    const look = async () =>
      (await events()).find(({ reason, note }) => reason === 'AlreadyRedeemed' && note?.includes('another-cluster'));
    assert.ok(await pollUntil(look, patience, signal), 'no Event');
  });

  it('C2-31: gives nobody the identity of a source that is there, whoever he says he is', async () => {
    const { token: another } = await inviteSource(target, offer(), signal);
    assert.equal(await refusal(another), 'Refused AlreadyASource');
    assert.equal(
      await refusal(another, { clusterID: `${sourceId.slice(0, 8)}-of-somebody-else` }), 'Refused AlreadyASource',
    );
  });

  it('lets nobody act as a component by a name and a cluster that make up its account', async () => {
    const { token: another } = await inviteSource(target, offer(), signal);
    const account = { namespace: installNamespace, name: 'isthmus-peering' };
    const before = await target.client.get(SERVICE_ACCOUNTS, account);
    assert.equal(await refusal(another, { targetName: 'isthmus', clusterID: 'peering' }), 'Refused AccountTaken');
    assert.deepEqual(await target.client.get(SERVICE_ACCOUNTS, account), before);
    await assert.rejects(target.client.get(CLUSTER_SOURCES, { name: 'isthmus-peering' }), /not found/);
  });

  it('is not used up by a request from which nothing came', async () => {
    const { token: another, name } = await inviteSource(target, offer(), signal);
    const stored = async () => (await target.client.get(INVITATIONS, { namespace: installNamespace, name })).status;
    assert.equal(await refusal(another, { publicKey: '{}', clusterID: 'without-key' }), 'Refused KeyUnusable');
    assert.equal((await stored())?.redeemedBy, undefined);
    assert.equal(await refusal(another, { targetName: 'isthmus', clusterID: 'peering' }), 'Refused AccountTaken');
    assert.equal((await stored())?.redeemedBy, undefined);
    const { status } = await ask(another, { targetName: 'third', clusterID: 'third-cluster' });
    assert.equal(`${status?.phase} ${status?.reason}`, 'Accepted Joined');
    await target.client.delete(CLUSTER_SOURCES, { name: 'third-third-cl' });
  });

  it('is refused by the command with the reason of the target', async () => {
    const isRefused = (error: unknown) =>
      error instanceof AppError && error.code === 'InvitationRefused' && /AlreadyRedeemed/.test(error.message);
    await assert.rejects(joinTarget({ client: source.client, token, installNamespace }, quiet), isRefused);
    const left = await source.client.list(SECRETS, { namespace: installNamespace });
    assert.ok(left.every(({ metadata }) => metadata.name?.startsWith('isthmus-joining-') !== true), 'no key is left');
  });

  it('whose address or pin was changed never gets as far as the source\'s data', async () => {
    const { connection } = source; // a real API server, but not the one that the pin is of
    const elsewhere = tampered({ server: connection.server.href.replace(/\/$/, '') });
    const isRefused = (error: unknown) => error instanceof AppError && error.code === 'InvitationRefused';
    await assert.rejects(joinTarget({ client: source.client, token: elsewhere, installNamespace }, quiet), isRefused);
    await assert.rejects(
      joinTarget(
        {
          client: source.client, token: tampered({ certificateAuthority: connection.certificateAuthority }),
          installNamespace,
        },
        quiet,
      ),
      isRefused,
    );
  });

  it('that was taken back is worth nothing', async () => {
    const { token: taken, name } = await inviteSource(target, offer({ targetName: 'other' }), signal);
    await target.client.delete(INVITATIONS, { namespace: installNamespace, name });
    assert.equal(await refusal(taken), 'Refused InvitationGone');
    await untilGone(SERVICE_ACCOUNTS, { namespace: installNamespace, name: `isthmus-${name}` });
    await assert.rejects(
      joinTarget({ client: source.client, token: taken, installNamespace }, quiet),
      (error: unknown) => error instanceof AppError && error.code === 'InvitationRefused',
    );
  });

  it('of text that is no token is refused by the command', () =>
    assert.rejects(
      joinTarget({ client: source.client, token: 'a.b.c', installNamespace }, quiet),
      /not a complete token of "isthmus invite"/,
    ));
});

describe('the token of a target', () => {
  it('is renewed over its own connection, and the session goes on with the new one', async () => {
    const asPeering = await componentOf(source, 'isthmus-peering');
    const targets = new TargetClusters({
      source: asPeering, sourceConnection: source.connection, sourceId, installNamespace, userAgent: 'isthmus-test',
      logger: SILENT,
    });
    const running = targets.run(signal);
    const at = { namespace: installNamespace, name: 'eu-west-kubeconfig' };
    const kubeconfig = async () => Buffer.from((await source.client.get(SECRETS, at)).data?.['config'] ?? '', 'base64')
      .toString();
    const before = await kubeconfig();
    let isRenewed = false;
    const now = () => Date.now() + (isRenewed ? 0 : 3_000_000); // of 3,600 s, this is beyond two thirds
    startCredentials({ source: asPeering, targets, installNamespace, logger: SILENT, now }, signal);
    const renewed =
      await pollUntil(async () => ((await kubeconfig()) === before ? undefined : kubeconfig()), patience, signal);
    isRenewed = true;
    assert.ok(renewed !== undefined && tokenOf(renewed) !== tokenOf(before));
    const { server, certificateAuthority } = target.connection;
    const expected = targetKubeconfig({ name: 'eu-west', sourceId, installNamespace }, {
      server: server.href.replace(/\/$/, ''), certificateAuthority, token: tokenOf(renewed) ?? '',
    });
    assert.equal(renewed, expected, 'nothing but the token has changed');
    const joined = await clientOf(renewed);
    assert.deepEqual(await joined.list(POD_CHAPERONS), []);
    await assert.rejects(
      requestToken(joined, { namespace: installNamespace, name: 'isthmus', seconds: 600 }, signal), /forbidden/i,
      'a source may not become somebody else',
    );
    void running;
  });

  it('dies with its source', async () => {
    const { data } = await source.client.get(SECRETS, { namespace: installNamespace, name: 'eu-west-kubeconfig' });
    const joined = await clientOf(Buffer.from(data?.['config'] ?? '', 'base64').toString());
    await target.client.delete(CLUSTER_SOURCES, { name: `eu-west-${sourceId.slice(0, 8)}` });
    const look = () => joined.list(POD_CHAPERONS).then(
      () => undefined, (error: unknown) => (error instanceof ApiError && error.status === 401 ? true : undefined),
    );
    assert.ok(await pollUntil(look, { forMs: 60_000, everyMs: 200 }, signal), 'the token still works');
    assert.equal(
      (await source.client.list(CLUSTER_TARGETS)).length, 1,
      'the source keeps its target, which then says why it is not Ready',
    );
  });
});

describe('joining that was broken off', () => {
  /** As if the process were killed once the target has let it in, before the source has written any of it down. */
  const killedOnceGranted = (withToken: string) => {
    const tell = (line: string): void => {
      if (/granted a token/.test(line)) throw new Error('killed');
    };
    return assert.rejects(
      joinTarget({ client: source.client, token: withToken, installNamespace, name: 'resumed' }, { tell, signal }),
      /killed/,
    );
  };
  const untilResumed = async (withToken: string): Promise<void> => {
    await joinTarget({ client: source.client, token: withToken, installNamespace, name: 'resumed' }, quiet);
    const { data } = await source.client.get(SECRETS, { namespace: installNamespace, name: 'resumed-kubeconfig' });
    assert.deepEqual(
      await (await clientOf(Buffer.from(data?.['config'] ?? '', 'base64').toString())).list(POD_CHAPERONS), [],
    );
    await untilGone(SECRETS, { namespace: installNamespace, name: 'isthmus-joining-resumed' });
    await unpeerTarget(
      {
        client: source.client, target: { kind: 'ClusterTarget', name: 'resumed' }, installNamespace, isForced: false,
        evictUnmanaged: false,
      },
      quiet,
    );
    await untilGone(CLUSTER_SOURCES, { name: `resumed-${sourceId.slice(0, 8)}` });
  };

  it('goes on with the same token', async () => {
    const { token: once } = await inviteSource(target, offer(), signal);
    await killedOnceGranted(once);
    await untilResumed(once);
  });

  it('goes on with the same token also where all was written, and the target waited for', async () => {
    const { token: once } = await inviteSource(target, offer(), signal);
    await assert.rejects(joinTarget(
      { client: source.client, token: once, installNamespace, name: 'resumed' }, quiet,
      () => Promise.reject(new Error('no answer')),
    ), /no answer/);
    await untilResumed(once);
  });

  it('goes on with another token, for the key that was let in is still there', async () => {
    const [{ token: first }, { token: second }, { token: third }] = await Promise.all([
      inviteSource(target, offer(), signal), inviteSource(target, offer(), signal),
      inviteSource(target, offer(), signal),
    ]);
    await killedOnceGranted(first);
    assert.equal(
      await refusal(third, { targetName: 'resumed' }), 'Refused AlreadyASource',
      'of somebody else who says he is that cluster',
    );
    await untilResumed(second);
  });

  it('says what to delete in the target when its key was lost', async () => {
    const [{ token: first }, { token: second }, { token: third }] = await Promise.all([
      inviteSource(target, offer(), signal), inviteSource(target, offer(), signal),
      inviteSource(target, offer(), signal),
    ]);
    await killedOnceGranted(first);
    await source.client.delete(SECRETS, { namespace: installNamespace, name: 'isthmus-joining-resumed' });
    const name = `resumed-${sourceId.slice(0, 8)}`;
    await assert.rejects(
      joinTarget({ client: source.client, token: second, installNamespace, name: 'resumed' }, quiet),
      new RegExp(`AlreadyASource.*kubectl delete clustersource ${name}`),
    );
    await target.client.delete(CLUSTER_SOURCES, { name });
    await untilGone(CLUSTER_SOURCES, { name });
    await untilResumed(third);
  });
});

describe('leaving a target', () => {
  const leave = (more: Partial<UnpeerOptions> = {}): UnpeerOptions => ({
    client: source.client, target: { kind: 'ClusterTarget', name: 'left' }, installNamespace, isForced: false,
    evictUnmanaged: false, ...more,
  });
  const types: readonly ResourceType[] = [
    CLUSTER_SOURCES, SOURCES, CLUSTER_TARGETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, SECRETS, CONFIG_MAPS,
  ];
  const all = async (): Promise<string[]> => {
    const lists = await Promise.all([source, target].flatMap(
      ({ client }, side) => types.map(async (type) => (await client.list(type)).map(
        ({ metadata }) => `${side} ${type.kind} ${metadata.namespace ?? ''}/${metadata.name}`,
      )),
    ));
    // a control plane makes some of its own later
    return lists.flat().filter((one) => !/ (kube-[a-z-]+\/|\/system:)/.test(one)).toSorted();
  };
  const peer = () => peerClusters(
    { name: 'left', installNamespace, source: { ...source, label: 'source' }, target: { ...target, label: 'target' } },
    quiet,
  );
  let before: string[];
  /** Garbage collection has its own time: what was made from a cache that was behind goes a moment later. */
  async function becomesAsBefore(): Promise<void> {
    let now: string[] = [];
    await pollUntil(async () => ((now = await all()).join() === before.join() ? true : undefined), patience, signal);
    assert.deepEqual(
      { more: now.filter((one) => !before.includes(one)), less: before.filter((one) => !now.includes(one)) },
      { more: [], less: [] },
    );
  }

  it('removes on both sides what peering made, by the identity of the source alone', async () => {
    // what an earlier source left is garbage-collected in its own time, and would be missing afterwards
    before = await pollUntil(async () => {
      const found = await all();
      return found.some((one) => one.includes('-resumed-')) ? undefined : found;
    }, patience, signal) ?? [];
    await peer();
    assert.notDeepEqual(await all(), before);
    await unpeerTarget(leave(), quiet);
    await becomesAsBefore();
  });

  it('that was left before is an error, and changes nothing', async () => {
    await assert.rejects(
      unpeerTarget(leave(), quiet),
      (error: unknown) =>
        error instanceof AppError && error.code === 'NotFound'
          && /There is no ClusterTarget left here\. Targets here: .*eu-west/.test(error.message),
    );
    await becomesAsBefore();
  });

  it('that was broken off before the Secret was removed goes on', async () => {
    await peer();
    await source.client.delete(CLUSTER_TARGETS, { name: 'left' });
    await unpeerTarget(leave(), quiet);
    await becomesAsBefore();
  });

  it('that was broken off once the target had removed its source goes on', async () => {
    await peer();
    await assert.rejects(unpeerTarget(leave(), { ...quiet, tell: (line) => {
      if (/removed ClusterSource/.test(line)) throw new AppError('Timeout', 'broken off');
    } }), /broken off/);
    await untilGone(CLUSTER_SOURCES, { name: `left-${sourceId.slice(0, 8)}` });
    await unpeerTarget(leave(), quiet);
    await becomesAsBefore();
  });

  it('may not remove another source', async () => {
    await target.client.create(CLUSTER_SOURCES, clusterSource('of-another', { clusterID: 'another' }));
    await peer();
    const { data } = await source.client.get(SECRETS, { namespace: installNamespace, name: 'left-kubeconfig' });
    const own = await clientOf(Buffer.from(data?.['config'] ?? '', 'base64').toString());
    await assert.rejects(own.delete(CLUSTER_SOURCES, { name: 'of-another' }), /forbidden/i);
    await target.client.delete(CLUSTER_SOURCES, { name: 'of-another' });
  });

  it('that has what is ours and does not let it go says what', async () => {
    const labels = { 'multicluster.admiralty.io/parent-cluster-name': sourceId };
    const stuck: KubernetesObject =
      { metadata: { namespace: 'default', name: 'stuck', labels, finalizers: ['example.com/held'] } };
    await target.client.create(
      POD_CHAPERONS, { ...stuck, spec: { containers: [{ name: 'c', image: 'i' }] } } as KubernetesObject,
    );
    const soon = new AbortController();
    const left = unpeerTarget(leave(), { ...quiet, signal: AbortSignal.any([signal, soon.signal]) });
    assert.equal(await Promise.race([left, delay(1_000, 'waits')]), 'waits');
    soon.abort(new Error('long enough'));
    await assert.rejects(left, /long enough/);
    await target.client.patch(POD_CHAPERONS, { namespace: 'default', name: 'stuck' }, {
      patchType: 'merge', patch: { metadata: { finalizers: null } },
    });
    await target.client.delete(POD_CHAPERONS, { namespace: 'default', name: 'stuck' });
  });

  it('that is dead takes less than ten seconds with force, and what remains there is written down', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1'); // takes connections and never answers
    await once(silent, 'listening');
    try {
      const { port } = silent.address() as AddressInfo;
      const dead = tokenKubeconfig({ server: `https://localhost:${port}`, token: 't', cluster: 'c', user: 'u' });
      const patch = { data: { config: Buffer.from(dead).toString('base64') } };
      await source.client.patch(
        SECRETS, { namespace: installNamespace, name: 'left-kubeconfig' }, { patchType: 'merge', patch },
      );
      const started = performance.now();
      await unpeerTarget(leave({ isForced: true }), quiet);
      assert.ok(performance.now() - started < 10_000, `${performance.now() - started} ms`);
    } finally {
      silent.close();
      silent.unref();
    }
    const type: ResourceType<KubernetesObject & { readonly data?: Record<string, string> }> = CONFIG_MAPS;
    const record = await source.client.get(type, { namespace: installNamespace, name: 'isthmus-left-behind-left' });
    assert.match(record.data?.['remains'] ?? '', new RegExp(
      `^ClusterSource left-${sourceId.slice(0, 8)}, PodChaperons with label .*=${sourceId}$`,
    ));
    assert.deepEqual(
      await source.client.list(CLUSTER_TARGETS).then((targets) => targets.map(({ metadata }) => metadata.name)),
      ['eu-west'],
    );
  });

  it('is finished by an administrator of the target', async () => {
    await unpeerTarget(leave({ targetAdministrator: target.client }), quiet);
    await untilGone(CLUSTER_SOURCES, { name: `left-${sourceId.slice(0, 8)}` });
    await assert.rejects(
      source.client.get(CONFIG_MAPS, { namespace: installNamespace, name: 'isthmus-left-behind-left' }), /not found/,
      'nothing is left behind any more',
    );
  });

  it('that was peered with nothing of ours in it needs an administrator there, and leaves nothing of it', async () => {
    const untouched = await all();
    await peerClusters(
      {
        name: 'left', installNamespace, delegation: 'Pod', source: { ...source, label: 'source' },
        target: { ...target, label: 'target' },
      },
      quiet,
    );
    const made = (await all()).filter((one) => !untouched.includes(one));
    assert.ok(made.some((one) => one.includes('isthmus-pod-mode-left')), made.join());
    await assert.rejects(unpeerTarget(leave(), quiet), /Give --target-kubeconfig of an administrator/);
    await unpeerTarget(leave({ targetAdministrator: target.client }), quiet);
    const now = await all();
    assert.deepEqual(made.filter((one) => now.includes(one)), []);
  });
});

describe('a target that only the gateway reaches', () => {
  const at = { name: 'behind' } as const;
  const targetRef = { kind: 'ClusterTarget', ...at } as const;
  let gateways: readonly TestGateway[] = [];
  let endpoint: ConnectEndpoint;
  let behind: OpenCluster;

  before(async () => {
    const authority = await makeAuthority();
    const { server } = target.connection;
    const services = new Map([[API_SERVER_SERVICE, { host: server.hostname, port: Number(server.port) }]]);
    const ours = await startGateway({ clusterId: 'source', identity: await identityOf(authority, 'source') });
    const theirs = await startGateway(
      { clusterId: 'target', identity: await identityOf(authority, 'target'), services, listen: undefined },
    );
    gateways = [ours, theirs];
    ours.driver.connect({ clusterId: 'target', addresses: [] });
    theirs.driver.connect({ clusterId: 'source', addresses: [`127.0.0.1:${ours.driver.port}`] });
    await untilConnected(ours, 'target');
    endpoint = await startConnectEndpoint({
      host: '127.0.0.1', port: 0, driver: () => ours.driver, connections: 50, halfClosedMs: 1_000,
      audit: () => undefined,
    });
    // The same kubeconfig, but its server is an address where nobody listens.
    const path = join(sandbox.dir, 'behind.kubeconfig');
    await writeFile(
      path,
      (await readFile(sandbox.clusters[1]?.kubeconfigPath ?? '', 'utf8')).replaceAll(
        server.origin, 'https://127.0.0.1:1',
      ),
      { mode: 0o600 },
    );
    behind = await openCluster(
      { kubeconfigPath: path, gateway: { clusterId: 'target', endpoints: [endpointUrl()] }, userAgent: 'isthmus-test' },
    );
    opened.push(behind.client);
    await rm(path);
  });
  after(async () => {
    await endpoint?.close();
    await Promise.all(gateways.map(({ driver }) => driver.close()));
  });
  const endpointUrl = () => new URL(`http://127.0.0.1:${endpoint.port}`);
  const peer = () => peerClusters(
    {
      name: at.name, installNamespace, gatewayCluster: 'target', source: { ...source, label: 'source' },
      target: { ...behind, label: 'target' },
    },
    quiet,
  );

  it('is peered through it, and what the source is given leads there by it alone', async () => {
    await peer();
    const { spec } = await source.client.get(CLUSTER_TARGETS, at);
    assert.deepEqual(spec.gateway, { cluster: 'target' });
    const { data } = await source.client.get(SECRETS, { namespace: installNamespace, name: 'behind-kubeconfig' });
    const connection =
      await readKubeconfig({ text: Buffer.from(data?.['config'] ?? '', 'base64').toString(), author: 'administrator' });
    assert.equal(connection.server.origin, 'https://127.0.0.1:1');
    const through = new ClusterClient(
      new Transport({ ...connection, gateway: { clusterId: 'target', endpoints: [endpointUrl()] } }, 'isthmus-test'),
    );
    opened.push(through);
    assert.equal(await readClusterId(through, signal), await readClusterId(target.client, signal));
    assert.deepEqual(await through.list(POD_CHAPERONS), []);
  });

  it('is peered again without any other change', async () => {
    const before = await source.client.get(CLUSTER_TARGETS, at);
    await peer();
    assert.deepEqual((await source.client.get(CLUSTER_TARGETS, at)).spec, before.spec);
  });

  it('says that it needs the gateway when none is named to leave it', () =>
    assert.rejects(
      routeToTarget(source.client, targetRef, undefined, signal),
      (error: unknown) =>
        error instanceof AppError && error.code === 'BadInput' && /--gateway http:\/\/HOST:PORT/.test(error.message),
    ));

  it('is left through it, and nothing of the source stays there', async () => {
    const [made] =
      (await target.client.list(CLUSTER_SOURCES)).filter(({ metadata }) => metadata.name?.startsWith('behind'));
    const route = await routeToTarget(source.client, targetRef, [endpointUrl()], signal);
    await unpeerTarget(
      { client: source.client, target: targetRef, installNamespace, route, isForced: false, evictUnmanaged: false },
      quiet,
    );
    await untilGone(CLUSTER_SOURCES, { name: made?.metadata.name ?? '' });
    assert.equal(await routeToTarget(source.client, targetRef, undefined, signal), undefined, 'it is gone');
  });
});
