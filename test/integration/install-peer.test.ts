// `isthmus install` and `isthmus peer` on real API servers: what they make is admitted, can be repeated, and gives the
// source's identity and our components what they need and nothing that they do not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Service } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_SOURCES, CLUSTER_TARGETS, CLUSTERSET_MEMBERS, CONFIG_MAPS, CLUSTERSET_ENDPOINTS, INGRESSES, NAMESPACES, NODES,
  POD_CHAPERONS,
  PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICES, LEASES, SERVICE_ACCOUNTS, MUTATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { ClustersetMember, ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import {
  ALL_SOURCES, ELECT_ANNOTATION, OWN_ENDPOINT_LABEL, PARENT_CLUSTER_LABEL, SOURCES_LABEL, TRUE,
} from '../../api/objects/keys.ts';
import { applyObjects, typeOf } from '../../cli/clusters/apply-objects.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { installInto } from '../../cli/install/install.ts';
import { peerClusters, type PeerCluster, type PeeringRequest } from '../../cli/join/peer-clusters.ts';
import { untilTargetReady } from '../../cli/clusters/target-readiness.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { brokerManifests, gatewayManifests } from '../../manifests/objects/gateway.ts';
import type { PolicyRule } from '../../model/access/rbac-objects.ts';
import { installManifests } from '../../manifests/install.ts';
import {
  WEBHOOK_CONFIGURATION_NAME, WEBHOOK_NAME, webhookConfiguration,
} from '../../manifests/objects/webhook-configuration.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import { accountManifest, identityManifests, sourceObject } from '../../peering/identity/source-identity.ts';
import {
  peeringIdentity, sourceAccount, sourceName, sourceSideManifests, tokenKubeconfig, type Peering,
} from '../../peering/access/target-access.ts';
import type { AppError } from '../../process/errors.ts';
import { freePorts } from '../../sandbox/processes/free-ports.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { isthmus } from '../support/processes/command-line.ts';
import {
  documentedPermissions, permissionsOfRules, permissionsOfTable,
} from '../support/docs/documented-permissions.ts';
import { Packaging } from '../support/peers/packaging.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
const deadline = AbortSignal.timeout(300_000);
const quiet = { tell: () => undefined, signal: deadline };
const patience = { forMs: 15_000, everyMs: 50 };

let sandbox: Sandbox;
let source: PeerCluster;
let target: PeerCluster;

before(async () => {
  sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-install-')), targets: 1, nodes: 0, gpus: 0, audit: false }, deadline,
  );
  [source, target] = (await Promise.all(
    sandbox.clusters.map(async ({ name, kubeconfigPath }) => (
      { ...(await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })), label: name }
    )),
  )) as [PeerCluster, PeerCluster];
});

after(async () => {
  await Promise.all([source, target].map((cluster) => cluster?.client.transport.close()));
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir); // fails when the sandbox left something in it
});

const kubeconfigs = (): readonly string[] => sandbox.clusters.map((cluster) => cluster.kubeconfigPath);

const request = (more: Partial<PeeringRequest> = {}): PeeringRequest =>
  ({ name: 'eu-west', installNamespace, source, target, ...more });

const connectionWith = (change: object): PeerCluster =>
  ({ ...target, connection: { ...target.connection, ...change } });

async function peeringOf(more: Partial<Peering> = {}): Promise<Peering> {
  return { name: 'eu-west', installNamespace, sourceId: await readClusterId(source.client, deadline), ...more };
}

function targetSide(peering: Peering): readonly KubernetesObject[] {
  const identity = peeringIdentity(peering);
  return [
    sourceObject(identity), accountManifest(identity)!, ...identityManifests(identity, installNamespace, ['default']),
  ];
}

function read(client: ClusterClient, object: KubernetesObject): Promise<KubernetesObject> {
  return client.get(typeOf(object), { namespace: object.metadata.namespace, name: object.metadata.name ?? '' });
}

/** Kubernetes itself writes the status of definitions and of policies; their generation changes with the spec alone. */
const version = ({ kind, metadata }: KubernetesObject) => (
  ['CustomResourceDefinition', 'ValidatingAdmissionPolicy'].includes(kind ?? '')
    ? metadata.generation
    : metadata.resourceVersion
);

async function versions(client: ClusterClient, objects: readonly KubernetesObject[]): Promise<readonly string[]> {
  const stored =
    await Promise.all(objects.filter((object) => object.kind !== 'Secret').map((object) => read(client, object)));
  return stored.map((object) => `${object.kind} ${object.metadata.name} ${version(object)}`);
}

async function createNamespace(
  client: ClusterClient, name: string, labels: Record<string, string> = {},
): Promise<void> {
  await client.create(NAMESPACES, { metadata: { name, labels } });
  const account = { namespace: name, name: 'default' };
  await pollUntil(() => client.get(SERVICE_ACCOUNTS, account).catch(() => undefined), patience, deadline);
}

const podIn = (namespace: string, annotations?: Record<string, string>) => ({
  metadata: { generateName: 'pod-', namespace, ...(annotations && { annotations }) },
  spec: { containers: [{ name: 'c', image: 'image.example/c:1' }] },
});

const elected = (namespace: string) => source.client.create(PODS, podIn(namespace, { [ELECT_ANNOTATION]: '' }));

/** `authorization.k8s.io/v1` ResourceAttributes. */
interface Access {
  readonly verb: string;
  readonly resource: string;
  readonly group?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

const ours = 'multicluster.admiralty.io';

async function isAllowed(client: ClusterClient, access: Access, user?: string): Promise<boolean> {
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const answer = await client.transport.call<{ status: { allowed: boolean } }>({
    method: 'POST',
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: {
      apiVersion: 'authorization.k8s.io/v1', kind,
      spec: { resourceAttributes: access, ...(user !== undefined && { user }) },
    },
  });
  return answer.status.allowed;
}

/** All that an identity may do in a namespace, as `kubectl auth can-i --list` asks for it. */
async function permissionsIn(client: ClusterClient, namespace: string): Promise<readonly string[]> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const { status } = await client.transport.call<
    {
      status: {
        incomplete: boolean; resourceRules: readonly PolicyRule[];
        nonResourceRules: readonly { verbs: readonly string[]; nonResourceURLs: readonly string[] }[]
      }
    }
  >({
    method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', body,
  });
  assert.equal(status.incomplete, false);
  const addresses = status.nonResourceRules.map(
    ({ verbs, nonResourceURLs }) => ({ verbs, resources: nonResourceURLs, apiGroups: [''] }),
  );
  return permissionsOfRules([...status.resourceRules, ...addresses]);
}

async function sourceKubeconfig(secretNamespace: string): Promise<string> {
  const secret = await source.client.get(SECRETS, { namespace: secretNamespace, name: 'eu-west-kubeconfig' });
  return Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8');
}

async function asSource(secretNamespace: string): Promise<ClusterClient> {
  const text = await sourceKubeconfig(secretNamespace);
  return new ClusterClient(new Transport(await readKubeconfig({ text, author: 'tenant' }), 'isthmus-test-source'));
}

const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;

describe('before an installation', () => {
  it('refuses to peer and says what to run first', async () => {
    await assert.rejects(
      peerClusters(request(), quiet),
      (error: AppError) => error.code === 'NotFound' && /isthmus install/.test(error.message),
    );
  });
});

describe('isthmus install', () => {
  it('applies everything to a source and a target, a line for each object', async () => {
    for (const { client } of [source, target]) {
      const lines: string[] = [];
      await installInto(client, { installNamespace }, { tell: (line) => lines.push(line), signal: deadline });
      assert.equal(lines.length, installManifests({ installNamespace }).length + 1);
    }
    assert.deepEqual(await target.client.list(POD_CHAPERONS), []);
    await target.client.patch(NAMESPACES, { name: 'default' }, {
      patchType: 'merge', patch: { metadata: { labels: { [SOURCES_LABEL]: ALL_SOURCES } } },
    });
  });

  it('repeated from the command line changes nothing', async () => {
    const objects = installManifests({ installNamespace });
    const before = await versions(source.client, objects);
    const { stdout, code } = await isthmus('install', '--kubeconfig', kubeconfigs()[0]!);
    assert.equal(code, 0);
    assert.match(stdout, /Isthmus is installed\. Next:/);
    const afterwards = await versions(source.client, objects);
    assert.deepEqual(afterwards, before);
  });

  it('keeps the certificate authority that the webhook wrote, also when the address changes', async () => {
    const { keyPair } = await createAuthority('test', 1, new Date());
    const caBundle = Buffer.from(keyPair.certificate).toString('base64');
    const written = {
      metadata: { name: WEBHOOK_CONFIGURATION_NAME }, webhooks: [{ name: WEBHOOK_NAME, clientConfig: { caBundle } }],
    };
    await source.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, written, 'isthmus-webhook');
    const clientConfig = async () => (
      await source.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME })
    ).webhooks?.[0]?.clientConfig;

    await installInto(source.client, { installNamespace, webhookUrl: 'https://127.0.0.1:1/mutate--v1-pod' }, quiet);
    assert.deepEqual(await clientConfig(), { caBundle, url: 'https://127.0.0.1:1/mutate--v1-pod' });
    await installInto(source.client, { installNamespace }, quiet);
    const service = { namespace: installNamespace, name: 'isthmus-webhook', port: 443 };
    assert.deepEqual(await clientConfig(), { caBundle, service });
  });

  it('repeated without --webhook-url keeps a URL while there is no Service to move to', async () => {
    const url = 'https://127.0.0.1:1/mutate--v1-pod';
    const again = async () => {
      const { code, stdout } = await isthmus('install', '--kubeconfig', kubeconfigs()[0]!);
      assert.equal(code, 0);
      const { webhooks } =
        await source.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME });
      return { stdout, clientConfig: webhooks?.find(({ name }) => name === WEBHOOK_NAME)?.clientConfig };
    };
    await installInto(source.client, { installNamespace, webhookUrl: url }, quiet);
    const kept = await again();
    assert.equal(kept.clientConfig?.url, url);
    assert.match(kept.stdout, /the webhook stays at its URL/);
    assert.match(kept.stdout, /so that its webhook answers at https:\/\/127\.0\.0\.1:1/);
    const service = { namespace: installNamespace, name: 'isthmus-webhook' };
    await source.client.create(SERVICES, { metadata: service, spec: { ports: [{ port: 443 }] } } as Service);
    try {
      assert.equal((await again()).clientConfig?.url, undefined);
    } finally {
      await source.client.delete(SERVICES, service);
    }
  });

  it('prints the objects and changes nothing in a dry run', async () => {
    const { stdout, code } = await isthmus('install', '--dry-run', '--namespace', 'elsewhere');
    assert.equal(code, 0);
    assert.match(stdout, /kind: MutatingWebhookConfiguration/);
    await assert.rejects(
      source.client.get(NAMESPACES, { name: 'elsewhere' }),
      (error) => error instanceof ApiError && error.status === 404,
    );
  });

  it('names the file of a kubeconfig that is not there', async () => {
    const { stderr, code } = await isthmus('install', '--kubeconfig', 'missing.kubeconfig');
    assert.equal(code, 1);
    assert.match(stderr, /missing\.kubeconfig cannot be read/);
  });
});

describe('the webhook configuration, while no webhook answers', () => {
  before(async () => {
    const optedIn = { 'multicluster-scheduler': 'enabled' };
    await createNamespace(source.client, 'opted-in', optedIn);
    await createNamespace(source.client, 'not-opted-in');
    const patch = { metadata: { labels: optedIn } };
    await source.client.patch(NAMESPACES, { name: installNamespace }, { patchType: 'merge', patch });
    const account = { namespace: installNamespace, name: 'default' };
    await pollUntil(() => source.client.get(SERVICE_ACCOUNTS, account).catch(() => undefined), patience, deadline);
    // API servers read webhook configurations a moment after they are stored: the first refusal shows that ours is
    // read.
    await pollUntil(() => elected('opted-in').then(() => undefined, () => true), patience, deadline);
  });

  it('refuses an annotated pod of a namespace that opted in', async () => {
    await assert.rejects(
      elected('opted-in'), (error) => error instanceof ApiError && error.message.includes(WEBHOOK_NAME),
    );
  });

  it('lets a pod without annotations, and one with others, be created there', async () => {
    await source.client.create(PODS, podIn('opted-in'));
    await source.client.create(PODS, podIn('opted-in', { 'example.com/other': '' }));
  });

  it('does not see annotated pods of other namespaces, nor of the install namespace even when it is labelled',
    async () => {
    await elected('not-opted-in');
    await elected(installNamespace);
  });

  after(() => installInto(source.client, { installNamespace }, quiet));
});

describe('isthmus peer', () => {
  it('refuses to peer a cluster with itself and names the alternative', async () => {
    await assert.rejects(
      peerClusters(request({ target: source }), quiet),
      (error: AppError) => error.code === 'BadInput' && /self: true/.test(error.message),
    );
  });

  const unusable: [string, Partial<PeeringRequest>, RegExp][] = [
    [
      'a target whose certificate is not checked', { get target() { return connectionWith({ insecure: true }); } },
      /insecure-skip-tls-verify/,
    ],
    [
      'a target that needs another server name',
      { get target() { return connectionWith({ serverName: 'other.example' }); } }, /--target-server/,
    ],
    [
      'a server that kubeconfigs in Secrets may not name', { targetServer: 'https://169.254.169.254' },
      /metadata address/,
    ],
  ];
  for (const [what, more, pattern] of unusable) {
    it(`refuses ${what} before it writes anything`, async () => {
      await assert.rejects(peerClusters(request(more), quiet), pattern);
      assert.deepEqual(await target.client.list(CLUSTER_SOURCES), []);
    });
  }

  it('makes a ClusterTarget from the command line and says that nothing runs yet', async () => {
    const [sourceFile, targetFile] = kubeconfigs();
    const { stdout, stderr, code } = await isthmus(
      'peer', '--source-kubeconfig', sourceFile!, '--target-kubeconfig', targetFile!, '--name', 'eu-west',
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /token of the source is valid until \d{4}-/);
    assert.match(stdout, /ClusterTarget eu-west is peered, but nothing in the source has looked at it so far/);
  });

  it('asks for a token of a day and gets it', async () => {
    const lines: string[] = [];
    await peerClusters(request(), { tell: (line) => lines.push(line), signal: deadline });
    const until = /valid until (\S+);/.exec(lines.join('\n'))?.[1] ?? '';
    assert.ok(Math.abs(Date.parse(until) - Date.now() - 86_400_000) < 60_000, until);
  });

  it('repeated changes nothing but the Secret', async () => {
    const peering = await peeringOf();
    const stored = async () => [
      ...(await versions(target.client, targetSide(peering))),
      ...(await versions(source.client, sourceSideManifests(peering, ''))),
    ];
    const before = await stored();
    await peerClusters(request(), quiet);
    assert.deepEqual(await stored(), before);
  });

  it('finds out which member of the clusterset the target is while both run a pod plane', async () => {
    const podPlane = async () =>
      (await source.client.get<ClusterTarget>(CLUSTER_TARGETS, { name: 'eu-west' })).spec?.podPlane;
    const member = (clusterID: string): ClustersetMember => ({
      metadata: { namespace: installNamespace, name: clusterID }, spec: { clusterID, clusterCIDR: ['10.1.0.0/16'] },
    });
    const endpoint = (clusterID: string, own: boolean): ClustersetEndpoint => ({
      metadata: {
        namespace: installNamespace, name: `${clusterID}-wireguard`,
        ...(own && { labels: { [OWN_ENDPOINT_LABEL]: TRUE } }),
      },
      spec: { clusterID, backend: 'wireguard', addresses: [], publicKeys: [`key of ${clusterID}`] },
    });
    for (const [cluster, own] of [[source, 'us'], [target, 'eu']] as const) {
      for (const clusterID of ['us', 'eu']) {
        await cluster.client.create(CLUSTERSET_MEMBERS, member(clusterID));
        await cluster.client.create(CLUSTERSET_ENDPOINTS, endpoint(clusterID, clusterID === own));
      }
    }
    const lines: string[] = [];
    const peering = await peerClusters(request(), { tell: (line) => lines.push(line), signal: deadline });
    assert.equal(peering.podPlaneCluster, 'eu');
    assert.deepEqual(await podPlane(), { cluster: 'eu' });
    assert.match(lines.join('\n'), /target: it is member eu of the clusterset/);

    await peerClusters(request({ podPlaneCluster: 'asia' }), quiet);
    assert.deepEqual(await podPlane(), { cluster: 'asia' }, 'what is named counts');
    for (const { client } of [source, target]) {
      for (
        const [type, name] of [
          [
            CLUSTERSET_ENDPOINTS, 'us-wireguard',
          ], [CLUSTERSET_ENDPOINTS, 'eu-wireguard'], [CLUSTERSET_MEMBERS, 'us'], [CLUSTERSET_MEMBERS, 'eu'],
        ] as const
      ) await client.delete(type, { namespace: installNamespace, name });
    }
    await peerClusters(request(), quiet);
    assert.equal(await podPlane(), undefined, 'without a pod plane the target is no member');
  });

  it('sees the target become Ready, and why it is not', async () => {
    const peering = await peeringOf();
    const quick = { firstStatus: { forMs: 5_000, everyMs: 20 }, ready: { forMs: 200, everyMs: 20 } };
    const setReady = (status: string, reason: string) => {
      const condition =
        { type: 'Ready', status, reason, message: 'test', lastTransitionTime: new Date().toISOString() };
      const clusterTarget = sourceSideManifests(peering, '').at(-1)!;
      const at = { name: 'eu-west', subresource: 'status' } as const;
      return source.client.patch(
        typeOf(clusterTarget), at, { patchType: 'merge', patch: { status: { conditions: [condition] } } },
      );
    };
    await setReady('False', 'Forbidden');
    assert.deepEqual(await untilTargetReady(source.client, peering, deadline, quick), {
      kind: 'not-ready', reason: 'Forbidden', message: 'test',
    });
    await setReady('True', 'Connected');
    assert.deepEqual(await untilTargetReady(source.client, peering, deadline, quick), { kind: 'ready' });
  });
});

describe('the identity of a source that was peered with the whole target', () => {
  let client: ClusterClient;
  /** An identity that nobody gave any permissions. */
  let plain: ClusterClient;
  let plainKubeconfig: string;
  before(async () => {
    client = await asSource(installNamespace);
    const { connection } = target;
    const { token } =
      await requestToken(target.client, { namespace: installNamespace, name: 'default', seconds: 3_600 }, deadline);
    const text = tokenKubeconfig({
      server: connection.server.href, certificateAuthority: connection.certificateAuthority, token, cluster: 'c',
      user: 'plain',
    });
    plainKubeconfig = text;
    plain =
      new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test-plain'));
  });
  after(() => Promise.all([client, plain].map((one) => one?.transport.close())));

  it('creates, reads and deletes chaperons and lists pods', async () => {
    const { spec } = podIn('default');
    const labels = { [PARENT_CLUSTER_LABEL]: await readClusterId(source.client, deadline) };
    const made = await client.create(
      POD_CHAPERONS, { metadata: { namespace: 'default', name: 'chaperon', labels }, spec } as KubernetesObject,
    );
    assert.equal(
      (await client.get(POD_CHAPERONS, { namespace: 'default', name: 'chaperon' })).metadata.uid, made.metadata.uid,
    );
    await client.delete(POD_CHAPERONS, { namespace: 'default', name: 'chaperon' });
    assert.ok(Array.isArray(await client.list(PODS)));
  });

  it('may not create, change, take over or delete what another source has there', async () => {
    const { spec } = podIn('default');
    const at = { namespace: 'default', name: 'of-another' };
    const [another, own] =
      ['another-cluster', await readClusterId(source.client, deadline)].map((id) => ({ [PARENT_CLUSTER_LABEL]: id }));
    const chaperon = (name: string, labels?: object) =>
      ({ metadata: { namespace: 'default', name, ...(labels && { labels }) }, spec }) as KubernetesObject;
    await target.client.create(POD_CHAPERONS, chaperon(at.name, another));
    const isRefused = (call: () => Promise<unknown>) =>
      call().then(() => undefined, (error: unknown) => (isForbidden(error) ? true : Promise.reject(error)));
    const patience = { forMs: 30_000, everyMs: 200 }; // an API server takes a policy up a little after it was written
    assert.ok(await pollUntil(
      () =>
        isRefused(() => client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { metadata: { labels: own } } })),
      patience, deadline,
    ));
    for (const call of [
      () => client.create(POD_CHAPERONS, chaperon('unnamed')),
      () => client.create(POD_CHAPERONS, chaperon('disguised', another)),
      () => client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { spec: { hostNetwork: true } } }),
      () => client.delete(POD_CHAPERONS, at),
      () => client.transport.call(
        { method: 'DELETE', path: '/apis/multicluster.admiralty.io/v1alpha1/namespaces/default/podchaperons' },
      ),
    ]) await assert.rejects(call, isForbidden);
    await target.client.delete(POD_CHAPERONS, at);
  });

  it('may not write Secrets, ConfigMaps, Services and Ingresses that are not its own copies', async () => {
    for (const type of [SECRETS, CONFIG_MAPS, SERVICES, INGRESSES] as readonly ResourceType[]) {
      const port = { port: 80 };
      const spec = type === SERVICES
        ? { spec: { ports: [port] } }
        : type === INGRESSES ? { spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } } : {};
      const object = (name: string, labels: object) =>
        ({ metadata: { namespace: 'default', name, labels }, ...spec }) as KubernetesObject;
      const own = { [PARENT_CLUSTER_LABEL]: await readClusterId(source.client, deadline) };
      const others: readonly [string, object][] =
        [['of-nobody', {}], ['of-another-source', { [PARENT_CLUSTER_LABEL]: 'another-cluster' }]];
      for (const [name, labels] of others) {
        const at = { namespace: 'default', name };
        await target.client.create(type, object(name, labels));
        for (const call of [
          type === SECRETS ? () => client.update(type, object(name, own)) : () => client
            .patch(type, at, { patchType: 'merge', patch: { metadata: { labels: own } } }),
          () => client.delete(type, at),
          () => client.create(type, object(`${name}-2`, labels)),
        ]) await assert.rejects(call, isForbidden, `${type.kind} ${name}`);
        await target.client.delete(type, at);
      }
      await client.create(type, object('own', own));
      await client.delete(type, { namespace: 'default', name: 'own' });
    }
  });

  describe('facing Secrets', () => {
    const encoded = Buffer.from('canary-of-the-target').toString('base64');
    const at = { namespace: 'default', name: 'theirs' };
    const path = '/api/v1/namespaces/default/secrets/theirs';
    let own: Record<string, string>;
    before(async () => {
      own = { [PARENT_CLUSTER_LABEL]: await readClusterId(source.client, deadline) };
      await target.client.create(SECRETS, { metadata: at, data: { key: encoded } } as KubernetesObject);
    });
    after(() => target.client.delete(SECRETS, at));

    const secret = (labels: object, more: object = {}) =>
      ({ metadata: { ...at, labels, ...more }, data: { key: '' } }) as KubernetesObject;
    /** What the API server says when it refuses. */
    const refusalOf = (call: Promise<unknown>, status: number): Promise<string> => call.then(() => assert
      .fail('it was allowed'), (error: unknown) => {
      assert.ok(error instanceof ApiError && error.status === status, String(error));
      return error.message;
    });

    const reads: [string, () => Promise<unknown>][] = [
      ['get', () => client.get(SECRETS, at)],
      ['list', () => client.list(SECRETS, { namespace: 'default' })],
      ['list by its own label', () => client.list(
        SECRETS, { labelSelector: `${PARENT_CLUSTER_LABEL}=${own[PARENT_CLUSTER_LABEL]}` },
      )],
      ['watch', () => client.transport.call(
        { method: 'GET', path: '/api/v1/namespaces/default/secrets', query: { watch: 'true' } },
      )],
      ['merge patch', () => client.patch(SECRETS, at, { patchType: 'merge', patch: {} })],
      ['merge patch that fits no schema', () => client.patch(
        SECRETS, at, { patchType: 'merge', patch: { immutable: 'x' } },
      )],
      ['dry run of a patch', () => client.transport.call(
        { method: 'PATCH', path, query: { dryRun: 'All' }, body: {}, contentType: 'application/merge-patch+json' },
      )],
      ['JSON patch that copies what it cannot see', () => client.transport.call(
        {
          method: 'PATCH', path, body: [{ op: 'copy', from: '/data/key', path: '/metadata/labels' }],
          contentType: 'application/json-patch+json',
        },
      )],
      ['server-side apply', () => client.apply(SECRETS, secret(own), 'isthmus-test')],
    ];
    for (const [what, call] of reads) {
      it(`reads none by a ${what}`, async () => assert.ok(!(await refusalOf(call(), 403)).includes(encoded)));
    }

    const writes: [string, number, () => Promise<unknown>][] = [
      ['replaced', 403, () => client.update(SECRETS, secret(own))],
      ['replaced, by its own version', 403, async () => {
        const { uid, resourceVersion } = (await target.client.get(SECRETS, at)).metadata;
        return client.update(SECRETS, secret(own, { uid, resourceVersion }));
      }],
      ['replaced in a dry run', 403, () => client.transport.call(
        { method: 'PUT', path, query: { dryRun: 'All' }, body: { apiVersion: 'v1', kind: 'Secret', ...secret(own) } },
      )],
      ['deleted', 403, () => client.delete(SECRETS, at)],
      ['deleted in a dry run', 403, () => client.transport.call({ method: 'DELETE', path, query: { dryRun: 'All' } })],
      ['replaced as if it were an object of before', 409, () => client.update(
        SECRETS, secret(own, { uid: 'another' }),
      )],
      ['made anew', 409, () => client.create(SECRETS, secret(own))],
    ];
    for (const [what, status, call] of writes) {
      it(`has none ${what} that it did not make, and is not told what it says`, async () => {
        assert.ok(!(await refusalOf(call(), status)).includes(encoded));
        assert.deepEqual((await target.client.get(SECRETS, at)).data, { key: encoded });
      });
    }

    it('makes, replaces and deletes its own', async () => {
      const mine = (value: string) =>
        ({ metadata: { namespace: 'default', name: 'mine', labels: own }, data: { key: value } }) as KubernetesObject;
      const { metadata } = await client.create(SECRETS, mine('YQ=='));
      await client.update(SECRETS, { ...mine('Yg=='), metadata: { ...mine('').metadata, uid: metadata.uid ?? '' } });
      assert.deepEqual(
        (await target.client.get(SECRETS, { namespace: 'default', name: 'mine' })).data, { key: 'Yg==' },
      );
      await client.delete(
        SECRETS, { namespace: 'default', name: 'mine' }, { preconditions: { uid: metadata.uid ?? '' } },
      );
    });

    it('has no right to patch because that would be one to read: what fits no schema is answered with the whole ' +
      'object, before admission', async () => {
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['patch'] }];
      const name = { namespace: 'default', name: 'patches' };
      await target.client.create(ROLES, { metadata: name, rules } as KubernetesObject);
      const subjects = [{ kind: 'ServiceAccount', namespace: installNamespace, name: 'default' }];
      await target.client.create(
        ROLE_BINDINGS,
        {
          metadata: name, subjects, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: name.name },
        } as KubernetesObject,
      );
      const told = () => plain.patch(SECRETS, at, { patchType: 'merge', patch: { immutable: 'x' } }).then(
        () => '', (error: unknown) => (error instanceof ApiError && error.status !== 403 ? error.message : undefined),
      );
      assert.match((await pollUntil(told, patience, deadline)) ?? '', new RegExp(encoded));
      await Promise.all([target.client.delete(ROLES, name), target.client.delete(ROLE_BINDINGS, name)]);
    });
  });

  const ownPermissions = async (): Promise<readonly string[]> => {
    const peering = await peeringOf();
    return documentedPermissions().inTarget.map(
      (right) => right.replace(/=(SOURCE|ACCOUNT)$/, `=${sourceName(peering)}`)
        .replace(/=CLUSTER$/, `=${peering.sourceId}`),
    );
  };

  it('may do what docs/joining.md lists, and nothing else', async () => {
    const { inNamespaces, elsewhere } = documentedPermissions();
    const own = await ownPermissions();
    const everybody = new Set(await permissionsIn(plain, installNamespace));
    const permissions = await permissionsIn(client, installNamespace);
    assert.ok([...everybody].every((right) => permissions.includes(right)));
    assert.deepEqual(permissions.filter((right) => !everybody.has(right)), [...elsewhere, ...own].toSorted());
    const letIn = (await permissionsIn(client, 'default')).filter((right) => !everybody.has(right));
    assert.deepEqual(
      letIn, [...inNamespaces, ...own].filter((right) => !right.includes('serviceaccounts/token')).toSorted(),
    );
  });

  it('is told the same by kubectl auth can-i --list', async () => {
    const tools = await Packaging.open(deadline);
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-can-i-'));
    const listed = async (text: string): Promise<readonly string[]> => {
      const kubeconfig = join(dir, 'kubeconfig');
      await writeFile(kubeconfig, text);
      const { stdout, stderr, code } =
        await tools.kubectl(['auth', 'can-i', '--list', '--namespace', installNamespace], { kubeconfig });
      assert.equal(code, 0, stderr);
      return permissionsOfTable(stdout);
    };
    try {
      const [permissions, everybody] =
        [await listed(await sourceKubeconfig(installNamespace)), new Set(await listed(plainKubeconfig))];
      assert.deepEqual(
        permissions.filter((right) => !everybody.has(right)),
        [...documentedPermissions().elsewhere, ...(await ownPermissions())].toSorted(),
      );
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it('learns which cluster it talks to', async () => {
    assert.equal(await readClusterId(client, deadline), await readClusterId(target.client, deadline));
  });

  const refused: [string, () => Promise<unknown>][] = [
    ['read ServiceAccounts', () => client.list(SERVICE_ACCOUNTS, { namespace: 'default' })],
    ['create a pod', () => client.create(PODS, podIn('default'))],
    ['list nodes', () => client.list(NODES)],
    ['read another namespace', () => client.get(NAMESPACES, { name: 'default' })],
    ['list leases', () => client.list(LEASES, { namespace: 'kube-node-lease' })],
  ];
  for (const [what, call] of refused) {
    it(`may not ${what}`, () => assert.rejects(call(), isForbidden));
  }

  const reviews: [boolean, Access][] = [
    [true, { verb: 'deletecollection', group: ours, resource: 'podchaperons', namespace: 'default' }],
    [true, { verb: 'watch', resource: 'pods' }],
    // but for delegates that it asks for
    [false, { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'default' }],
    [false, { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'default' }],
    ...['exec', 'attach', 'portforward'].map(
      (subresource): [boolean, Access] => [false, { verb: 'get', resource: 'pods', subresource, namespace: 'default' }],
    ),
    [true, { verb: 'watch', group: ours, resource: 'clustersummaries' }],
    [true, { verb: 'update', resource: 'secrets', namespace: 'default' }],
    ...['get', 'list', 'watch', 'patch'].map(
      (verb): [boolean, Access] => [false, { verb, resource: 'secrets', namespace: 'default' }],
    ),
    [false, { verb: 'update', group: 'isthmus.dev', resource: 'secretcopies', namespace: 'default' }],
    [false, { verb: 'deletecollection', resource: 'secrets', namespace: 'default' }],
    [false, { verb: 'update', group: ours, resource: 'podchaperons', subresource: 'status', namespace: 'default' }],
    [false, { verb: 'patch', group: ours, resource: 'clustersummaries' }],
    [false, { verb: 'delete', resource: 'pods', namespace: 'default' }],
    [false, { verb: 'patch', resource: 'pods', namespace: 'default' }],
    [false, { verb: 'create', resource: 'pods', subresource: 'eviction', namespace: 'default' }],
    [false, { verb: 'delete', resource: 'nodes' }],
    [false, { verb: 'get', resource: 'nodes', subresource: 'proxy' }],
    [false, { verb: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' }],
    [false, { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'default' }],
    [false, { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' }],
    [false, { verb: 'impersonate', resource: 'users' }],
    [false, { verb: 'get', group: ours, resource: 'clustersources' }],
  ];
  for (const [allowed, access] of reviews) {
    const { verb, resource, subresource } = access;
    it(`${allowed ? 'may' : 'may not'} ${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`,
      async () => {
      assert.equal(await isAllowed(client, access), allowed);
    });
  }
});

describe('peering of one namespace', () => {
  const namespace = 'team-a';
  let client: ClusterClient;

  it('says in which cluster the namespace is missing', async () => {
    await createNamespace(source.client, namespace);
    await assert.rejects(
      peerClusters(request({ namespace }), quiet),
      (error: AppError) =>
        error.code === 'NotFound' && error.message.includes(`${target.label} has no namespace team-a`),
    );
  });

  it('gives permissions in that namespace alone', async () => {
    await createNamespace(target.client, namespace);
    await peerClusters(request({ namespace }), quiet);
    client = await asSource(namespace);
    const create = { verb: 'create', group: ours, resource: 'podchaperons' };
    assert.equal(await isAllowed(client, { ...create, namespace }), true);
    assert.equal(await isAllowed(client, { ...create, namespace: 'default' }), false);
    assert.equal(await isAllowed(client, { verb: 'list', resource: 'pods' }), false);
    assert.equal(await isAllowed(client, { verb: 'watch', group: ours, resource: 'clustersummaries' }), true);
    assert.equal(sourceAccount(await peeringOf({ namespace })).namespace, namespace);
  });

  it('C2-5: lets the components read the kubeconfig there, and no other Secret', async () => {
    const user = `system:serviceaccount:${installNamespace}:isthmus-scheduler`;
    const secrets = { verb: 'watch', resource: 'secrets' };
    assert.equal(await isAllowed(source.client, { ...secrets, namespace, name: 'eu-west-kubeconfig' }, user), true);
    assert.equal(await isAllowed(source.client, { ...secrets, namespace, name: 'of-the-team' }, user), false);
    assert.equal(await isAllowed(source.client, { ...secrets, namespace }, user), false);
    assert.equal(await isAllowed(source.client, { ...secrets, namespace: installNamespace }, user), true);
    assert.equal(await isAllowed(source.client, { ...secrets, namespace: 'default' }, user), false);
    assert.equal(await isAllowed(source.client, secrets, user), false);
  });

  after(() => client?.transport.close());
});

describe('the components in a cluster', () => {
  const rows: [string, boolean, Access][] = [
    ['webhook', true, {
      verb: 'patch', group: 'admissionregistration.k8s.io', resource: 'mutatingwebhookconfigurations', name: 'isthmus',
    }],
    ['webhook', false, {
      verb: 'patch', group: 'admissionregistration.k8s.io', resource: 'mutatingwebhookconfigurations', name: 'other',
    }],
    ['webhook', false, { verb: 'get', resource: 'secrets', namespace: installNamespace }],
    ['webhook', false, { verb: 'get', resource: 'configmaps', namespace: 'default' }],
    ['scheduler', true, { verb: 'create', resource: 'pods', subresource: 'binding', namespace: 'default' }],
    ['scheduler', true, { verb: 'patch', resource: 'pods', subresource: 'status', namespace: 'default' }],
    ['scheduler', false, { verb: 'create', resource: 'pods', namespace: 'default' }],
    ['scheduler', true, { verb: 'delete', resource: 'pods', namespace: 'default' }],
    ['scheduler', false, { verb: 'delete', resource: 'nodes' }],
    ['scheduler', false, { verb: 'patch', resource: 'nodes' }],
    ['delegate-controller', true, { verb: 'create', resource: 'pods', namespace: 'default' }],
    ['delegate-controller', true, {
      verb: 'patch', group: ours, resource: 'podchaperons', subresource: 'status', namespace: 'default',
    }],
    ['delegate-controller', true, { verb: 'patch', group: ours, resource: 'clustersummaries', name: 'singleton' }],
    ['delegate-controller', true, {
      verb: 'delete', group: ours, resource: 'clustersummaries', name: 'of-a-target-without-us',
    }],
    ['delegate-controller', true, { verb: 'watch', resource: 'secrets', namespace: 'default' }],
    ['delegate-controller', false, { verb: 'patch', resource: 'secrets', namespace: 'default' }],
    ['delegate-controller', true, { verb: 'patch', resource: 'services', namespace: 'default' }],
    ['delegate-controller', false, { verb: 'create', resource: 'pods', subresource: 'binding', namespace: 'default' }],
    ['virtual-node', true, {
      verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease',
    }],
    ['virtual-node', true, { verb: 'patch', resource: 'nodes', subresource: 'status' }],
    ['virtual-node', true, { verb: 'patch', group: ours, resource: 'clustertargets', subresource: 'status' }],
    ['virtual-node', false, { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: 'default' }],
    ['virtual-node', false, { verb: 'delete', group: ours, resource: 'clustertargets' }],
    ['virtual-node', true, { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' }],
    ['virtual-node', true, {
      verb: 'watch', resource: 'configmaps', namespace: 'kube-system', name: 'extension-apiserver-authentication',
    }],
    ['virtual-node', false, { verb: 'watch', resource: 'configmaps', namespace: 'kube-system' }],
    ['virtual-node', false, {
      verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests', subresource: 'approval',
    }],
    ['peering', true, {
      verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name: 'isthmus-source',
    }],
    ['peering', false, {
      verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name: 'cluster-admin',
    }],
    ['peering', false, {
      verb: 'escalate', group: 'rbac.authorization.k8s.io', resource: 'roles', namespace: 'default',
    }],
    ['peering', false, { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'kube-system' }],
    ['peering', false, { verb: 'list', resource: 'secrets', namespace: 'default' }],
  ];
  for (const [component, allowed, access] of rows) {
    const what = [access.resource, access.subresource].filter(Boolean).join('/');
    it(`${component} ${allowed ? 'may' : 'may not'} ${access.verb} ${what} ${access.name ?? ''}`.trim(), async () => {
      assert.equal(
        await isAllowed(source.client, access, `system:serviceaccount:${installNamespace}:isthmus-${component}`),
        allowed,
      );
    });
  }
});

describe('what the API server stores', () => {
  it('of the webhook configuration is what was sent, field by field', async () => {
    const sent = webhookConfiguration({ installNamespace }).webhooks![0]!;
    const type: ResourceType = MUTATING_WEBHOOK_CONFIGURATIONS;
    const stored = (await target.client.get(type, { name: WEBHOOK_CONFIGURATION_NAME })) as unknown as {
      webhooks: Record<string, unknown>[]
    };
    assert.deepEqual({ ...stored.webhooks[0], ...sent }, { ...stored.webhooks[0] });
  });

  it('of a wrong object is refused with its reason, not swallowed', async () => {
    const wrong = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'Not-A-Label' } };
    await assert.rejects(
      applyObjects(target.client, [wrong], 'test', quiet), (error) => error instanceof ApiError && error.status === 422,
    );
  });
});

describe('the shipped gateway and broker, where the API server enforces the Pod Security Standard restricted', () => {
  const namespace = 'restricted-gateway';
  const restricted = {
    apiVersion: 'v1', kind: 'Namespace',
    metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  };
  // it has no say in what is admitted
  const workloads: KubernetesObject[] = [
    restricted, ...gatewayManifests({ namespace, image: 'isthmus:test' }),
    ...brokerManifests({ namespace, image: 'isthmus:test' }),
  ].filter(({ kind }) => kind !== 'PodDisruptionBudget');
  const templates = workloads.filter(({ kind }) => kind === 'Deployment')
    .map((object) => (object as unknown as { readonly spec: { readonly template: Pod } }).spec.template);

  it('get their pods', { timeout: 90_000 }, async () => {
    const { client } = target;
    await applyObjects(client, workloads, 'test', quiet);
    assert.equal(
      (await client.get(NAMESPACES, { name: namespace })).metadata.labels?.['pod-security.kubernetes.io/enforce'],
      'restricted',
    );
    const wanted = { 'isthmus-gateway': 2, 'isthmus-broker': 1 };
    for (const [name, count] of Object.entries(wanted)) {
      const admitted = async () => (
        (await client.list(PODS, { namespace, labelSelector: `app.kubernetes.io/name=${name}` })).length === count
          ? true
          : undefined
      );
      assert.ok(await pollUntil(admitted, { forMs: 60_000, everyMs: 100 }, deadline), `${name} has not got its pods`);
    }
  });

  const changes: Record<string, (pod: Pod) => object> = {
    'a capability': ({ spec }) => ({
      ...spec,
      containers: spec.containers.map(
        (container) => ({
          ...container,
          securityContext: {
            ...(container as { securityContext?: object }).securityContext,
            capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
          },
        }),
      ),
    }),
    'the right to run as root': ({ spec }) =>
      ({ ...spec, securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }),
    'the network of its node': ({ spec }) => ({ ...spec, hostNetwork: true }),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`would be refused with ${what}`, async () => {
      await applyObjects(target.client, workloads, 'test', quiet);
      for (const template of templates) {
        const pod = {
          ...template, metadata: { ...template.metadata, name: 'changed', namespace }, spec: change(template),
        } as unknown as Pod;
        await assert.rejects(
          target.client.create(PODS, pod),
          (error) =>
            error instanceof ApiError && error.status === 403 && /violates PodSecurity "restricted/.test(error.message),
        );
      }
    });
  }
});

describe('a process that cannot start', () => {
  const taken = createServer();
  before(() => new Promise<void>((resolve) => taken.listen(0, '0.0.0.0', resolve)));
  after(() => taken.close());

  for (const [what, words, remedy] of [
    [
      'run', ['run', '--components', 'webhook,scheduler', '--health-host', '127.0.0.1', '--health-port'],
      '--health-port',
    ],
    [
      'the webhook', ['run', '--components', 'webhook,scheduler', '--webhook-host', '127.0.0.1', '--webhook-port'],
      '--webhook-port',
    ],
    ['service run', ['service', 'run', '--dns', 'none', '--health-port'], '--health-port'],
  ] as const) {
    it(`ends and says what to change: a port of ${what} is taken`, { timeout: 60_000 }, async () => {
      const { port } = taken.address() as AddressInfo;
      const { code, stderr, stdout } = await isthmus(...words, String(port), '--kubeconfig', kubeconfigs()[1]!);
      assert.equal(code, 1, stderr + stdout);
      assert.match(stderr, new RegExp(`cannot listen on .*:${port}: .*EADDRINUSE.*choose another ${remedy}`));
    });
  }
});

describe('the probes of a process', () => {
  async function probed(
    t: TestContext, kubeconfig: string,
  ): Promise<(path: string) => Promise<{ readonly status: number; readonly text: string }>> {
    const [port = 0] = await freePorts(1);
    const command = new URL('../../cli/main.js', import.meta.url).pathname;
    const args = [
      'run', '--kubeconfig', kubeconfig, '--components', 'delegate-controller', '--no-leader-elect', '--health-host',
      '127.0.0.1', '--health-port', String(port),
    ];
    const child = spawn(process.execPath, [command, ...args], { stdio: 'ignore' });
    t.after(async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    });
    return async (path) => {
      for (;;) {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: deadline }).catch(() => undefined);
        if (answer !== undefined) return { status: answer.status, text: await answer.text() };
        await sleep(100);
      }
    };
  }

  it('say ready once every cache is complete, those of the target side as well', { timeout: 90_000 }, async (t) => {
    const ask = await probed(t, kubeconfigs()[1]!);
    while ((await ask('/readyz')).status !== 200) await sleep(100);
    const { text } = await ask('/readyz');
    for (const cache of ['targets', 'proxies', 'chaperons', 'nodes', 'pods']) {
      assert(text.includes(`[+] ${cache} ok`), text);
    }
  });

  it('say alive and not ready while the cluster cannot be reached', { timeout: 90_000 }, async (t) => {
    const [closed = 0] = await freePorts(1);
    const unreachable = join(sandbox.dir, 'unreachable.kubeconfig');
    await writeFile(unreachable, JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }], users: [{ name: 'u', user: { token: 't' } }],
      clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${closed}` } }],
    }));
    t.after(() => rm(unreachable));
    const ask = await probed(t, unreachable);
    assert.equal((await ask('/healthz')).status, 200);
    assert.deepEqual(
      await ask('/readyz'), { status: 503, text: '[-] targets not ready\n[-] proxies not ready\nnot ready\n' },
    );
  });
});
