// The client layer on real API servers, with faults between them: those of docs/results/faults.md that are the layer's
// to survive: with production's intervals and as long as the table has them by `--as-written`, with short ones without.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { EventEmitter, once } from 'node:events';
import { fork } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { after, afterEach, before, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { DEFAULT_KUBECONFIG_KEY } from '../../../api/kinds/cluster-target.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CUSTOM_RESOURCE_DEFINITIONS, SECRETS, SERVICE_ACCOUNTS,
} from '../../../api/resource-types.ts';
import { ApiError, isAlreadyExists, isConflict, UnreachableError } from '../../../kubernetes/flow/api-error.ts';
import { TRANSPORT_TIMINGS, type TransportTimings } from '../../../kubernetes/http/cluster-access.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { DONE, startController } from '../../../kubernetes/controller/controller.ts';
import { connectionOf, openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import { TargetCluster } from '../../../targets/target-cluster.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { WorkQueue } from '../../../kubernetes/controller/work-queue.ts';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { aborted } from '../../../process/lifecycle.ts';
import { readEnvironment } from '../../../process/config.ts';
import { loadAuthority, type CertificateAuthority } from '../../../process/crypto/certificate-authority.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { FollowedCollection } from '../../support/history/followed-collection.ts';
import { runRandomFaults } from '../../support/faults/random-faults.ts';
import { IS_AS_WRITTEN, SCALE } from '../../support/faults/fault-scale.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

type ConfigMap = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };
const CONFIG_MAPS: ResourceType<ConfigMap> = {
  group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true,
};
const NAMESPACE = 'default';
const QUICK = SCALE.timings;

let sandbox: Sandbox;
let cluster: Cluster;
/** Straight to the API server. */
let admin: ClusterClient;
let proxies: FaultProxy[] = [];
let stop = new AbortController();
let transports: Transport[] = [];

before(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-faults-'));
  sandbox = await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false }, AbortSignal.timeout(180_000));
  cluster = sandbox.clusters[1]!;
  admin = (await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' })).client;
});

after(async () => {
  await admin?.transport.close();
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
});

afterEach(async () => {
  stop.abort();
  stop = new AbortController();
  await Promise.all([...transports.map((transport) => transport.close()), ...proxies.map((proxy) => proxy.stop())]);
  [transports, proxies] = [[], []];
  await admin.transport.call({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/configmaps` });
});

async function proxyTo(to: Cluster = cluster, protocols?: readonly ('h2' | 'http/1.1')[]): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(to.kubeconfig, protocols);
  proxies.push(proxy);
  return proxy;
}

function clientOf(connection: ClusterConnection, timings: Partial<TransportTimings> = QUICK): ClusterClient {
  const transport = new Transport(connection, 'isthmus-test/1', timings);
  transports.push(transport);
  return new ClusterClient(transport);
}

/** Follows the ConfigMaps of the test's namespace; ends with the test. */
async function follow(
  client: ClusterClient, options: { readonly streaming?: boolean } = {},
): Promise<FollowedCollection> {
  client.transport.offersStreamingLists = options.streaming ?? true;
  return new FollowedCollection(
    client, CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: 'test' },
  ).start(stop.signal);
}

let written = 0;
/**
 * Creates, changes and deletes ConfigMaps with text of more than one byte a character; each call does about 30 writes.
 */
async function churn(names = 10): Promise<void> {
  const name = (i: number) => `c-${(written + i * 7) % 40}`;
  await Promise.all(
    Array.from({ length: names }, async (_, i) => {
      const object: ConfigMap = {
        metadata: { namespace: NAMESPACE, name: name(i), labels: { test: '' } },
        data: { text: `äöü€😀-${written}`.repeat(20) },
      };
      await admin.apply(CONFIG_MAPS, object, 'churn');
      if (i % 3 === 0) await admin.delete(CONFIG_MAPS, { namespace: NAMESPACE, name: name(i) }).catch(() => undefined);
      else await admin.apply(CONFIG_MAPS, { ...object, data: { text: `${i}ß` } } as KubernetesObject, 'churn');
    }),
  );
  written += 1;
}

/**
 * Resolves once the collection equals a fresh list; fails with the difference when it does not within four times `ms`:
 * machines are slow at times.
 */
function settled(followed: FollowedCollection, ms: number): Promise<void> {
  return followed.untilEqual(() => admin.list(CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: 'test' }), ms * 4);
}

describe('a connection that fails', () => {
  it('1, 5: an API server that is killed and comes back costs nothing: no delete is made up, at most one list',
    { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    const followed = await follow(clientOf(proxy.connection));
    await churn();
    await settled(followed, 5_000);
    const { length } = followed.deletes;
    await cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await sleep(10_000);
    assert.equal(followed.deletes.length, length, 'nothing was concluded from the silence');
    await cluster.startComponent('kube-apiserver');
    await churn();
    await settled(followed, 15_000);
    assert(proxy.count('list', 'configmaps') <= 2, 'one at the start, at most one afterwards');
    followed.assertOrdered();
  });

  for (const protocol of ['h2', 'http/1.1'] as const) {
    it(`3, 22: a black hole is noticed over ${protocol}, quiet watches live on, and another cluster is not disturbed`,
      { timeout: SCALE.patience }, async () => {
      assert(
        2 * TRANSPORT_TIMINGS.pingAfterMs + TRANSPORT_TIMINGS.pingTimeoutMs <= 45_000
          && TRANSPORT_TIMINGS.silenceMs <= 45_000,
      );
      const [proxy, other] = [await proxyTo(cluster, [protocol]), await proxyTo(sandbox.clusters[0])];
      const timings = IS_AS_WRITTEN ? QUICK : { ...QUICK, watchSilenceMs: 60_000 };
      const followed = await follow(clientOf(proxy.connection, timings));
      const quiet =
        await new FollowedCollection(clientOf(other.connection, timings), SERVICE_ACCOUNTS, {}).start(stop.signal);
      await churn();
      await settled(followed, 5_000);
      if (protocol === 'h2') {
        const before = proxy.requests.length;
        await sleep(SCALE.quiet);
        assert.equal(proxy.requests.length, before, 'a quiet watch is not opened anew');
      }
      const quietRequests = other.requests.length;
      // more than one where a slow machine let the first pass its deadline
      const lists = proxy.count('list', 'configmaps');
      const broken = followed.nextBreak();
      proxy.blackHole();
      const fell = performance.now();
      await churn();
      await broken;
      const noticedMs = performance.now() - fell;
      assert(noticedMs < SCALE.noticed, `noticed after ${Math.round(noticedMs)} ms`);
      proxy.heal();
      await settled(followed, 10_000);
      assert.equal(proxy.count('list', 'configmaps'), lists, 'resumed without a list');
      if (protocol === 'h2') assert.equal(other.requests.length, quietRequests);
      assert(quiet.size > 0);
      followed.assertOrdered();
    });
  }

  it('22: a watch that brings nothing while pings are answered is opened anew',
    { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    const followed = await follow(clientOf(proxy.connection));
    await churn();
    await settled(followed, 5_000);
    const broken = followed.nextBreak();
    proxy.freezeWatches();
    const fell = performance.now();
    await churn();
    await broken;
    const noticedMs = performance.now() - fell;
    assert(noticedMs < SCALE.silenceNoticed, `noticed after ${Math.round(noticedMs)} ms`);
    await settled(followed, 8_000);
    assert.equal(proxy.count('list', 'configmaps'), 1);
  });

  it('23: watches that end at once are resumed from the last version, further and further apart, without lists',
    { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    const followed = await follow(clientOf(proxy.connection));
    const ending = setInterval(() => proxy.endWatches(), 100);
    for (let i = 0; i < 10; i += 1) {
      await churn(5);
      await sleep(200);
    }
    clearInterval(ending);
    await settled(followed, 8_000);
    assert.equal(proxy.count('list', 'configmaps'), 1);
    const watches = proxy.count('watch', 'configmaps');
    assert(watches >= 2 && watches <= 12, `${watches} watches in 2 s, backing off from 0.2 s to 5 s`);
    followed.assertOrdered();
  });

  it('24: streams that are cut anywhere, inside a line or a character, lose nothing',
    { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    let bytes = 1;
    proxy.fate = ({ url }) => (
      url.searchParams.get('watch') === 'true'
        && bytes < 20 ? { kind: 'cut-after', bytes: 997 * (bytes += 1) } : undefined
    );
    const followed = await follow(clientOf(proxy.connection), { streaming: false });
    for (let i = 0; i < 10; i += 1) {
      await churn();
      await sleep(50);
    }
    bytes = 100;
    await settled(followed, 12_000);
    assert.equal(proxy.count('list', 'configmaps'), 1);
    followed.assertOrdered();
  });

  it('25: events that come twice, and old ones that come again, change nothing', async () => {
    const proxy = await proxyTo();
    const old: string[] = [];
    proxy.fate = ({ url }) => {
      if (url.searchParams.get('watch') !== 'true') return undefined;
      return { kind: 'rewrite', line: (line) => [line, line, ...(old.push(line) > 3 ? old.slice(-4) : [])] };
    };
    const followed = await follow(clientOf(proxy.connection), { streaming: false });
    for (let i = 0; i < 5; i += 1) await churn();
    await settled(followed, 5_000);
    followed.assertOrdered();
  });
});

describe('history that is gone', () => {
  it('19: 410 on the stream leads to a full list with synthetic deletes', async () => {
    const proxy = await proxyTo();
    const followed = await follow(clientOf(proxy.connection));
    await churn();
    await settled(followed, 5_000);
    proxy.freezeWatches();
    for (
      const { metadata } of (await admin.list(CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: 'test' })).slice(0, 3)
    ) {
      await admin.delete(CONFIG_MAPS, { namespace: NAMESPACE, name: metadata.name ?? '' });
    }
    const { length } = followed.deletes;
    proxy.failWatches(410, 'Expired');
    await settled(followed, 5_000);
    assert.equal(followed.deletes.length, length + 3);
    assert.equal(proxy.count('list', 'configmaps'), 2);
  });

  for (const streaming of [true, false]) {
    it('20: 410 on connect, and on a page in the middle of a list, lead to a full list ' +
      (streaming ? 'by a stream' : 'by pages'), async () => {
      for (let i = 0; i < 4; i += 1) await churn();
      const proxy = await proxyTo();
      let left = 2;
      proxy.fate = ({ url }) => {
        const isHit = url.pathname.endsWith('/configmaps')
          && (url.searchParams.has('continue') || url.searchParams.has('resourceVersion'));
        return isHit && (left -= 1) >= 0 ? { kind: 'answer', status: 410 } : undefined;
      };
      const followed = await follow(clientOf(proxy.connection), { streaming });
      proxy.endWatches(); // the next one meets the 410
      await churn();
      await settled(followed, 10_000);
      followed.assertOrdered();
    });
  }

  it('21: etcd is compacted and the API server restarted while we are away', { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    const followed = await follow(clientOf(proxy.connection));
    await churn();
    await settled(followed, 5_000);
    proxy.refuse();
    for (let i = 0; i < 3; i += 1) await churn();
    const { metadata } = await admin.listPage(CONFIG_MAPS, { namespace: NAMESPACE }, { limit: 1 });
    await compact(cluster, metadata.resourceVersion);
    await cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await cluster.startComponent('kube-apiserver');
    proxy.heal();
    await settled(followed, 15_000);
    followed.assertOrdered();
  });
});

/** Forgets all history before a revision, through etcd's JSON gateway. */
function compact({ directory }: Cluster, revision: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = {
      socketPath: join(directory, 'etcd.sock:0'), method: 'POST', path: '/v3/kv/compaction',
      headers: { 'content-type': 'application/json' },
    };
    const request = httpRequest(options, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`etcd answered ${response.statusCode}`));
    });
    request.on('error', reject);
    request.end(JSON.stringify({ revision, physical: true }));
  });
}

describe('errors of the server', () => {
  it('26: writers that meet a conflict every second time lose no update', { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    let writes = 0;
    proxy.fate = ({ method }) =>
      (method === 'PATCH' && (writes += 1) % 2 === 0 ? { kind: 'answer', status: 409 } : undefined);
    const client = clientOf(proxy.connection);
    const at = { namespace: NAMESPACE, name: 'counter' };
    await admin.create(
      CONFIG_MAPS, { metadata: { ...at, labels: { test: '' } }, data: { a: '0', b: '0' } } as KubernetesObject,
    );
    const add = async (field: string) => {
      const { metadata, data } = await client.get(CONFIG_MAPS, at);
      const patch = {
        metadata: { resourceVersion: metadata.resourceVersion }, data: { [field]: String(Number(data?.[field]) + 1) },
      };
      await client.patch(CONFIG_MAPS, at, { patchType: 'merge', patch });
    };
    const runs = { a: 0, b: 0 };
    const ended = new AbortController();
    const controller = startController(
      {
        name: 'counter', concurrency: 2, logger: SILENT,
        reconcile: async (field) => {
          await add(field); // a conflict is thrown: again, from a fresh read
          runs[field as 'a' | 'b'] += 1;
          if (runs.a === 10 && runs.b === 10) ended.abort();
          return runs[field as 'a' | 'b'] < 10 ? { kind: 'requeue-after', ms: 1 } : DONE;
        },
      },
      stop.signal,
    );
    controller.enqueue('a');
    controller.enqueue('b');
    await aborted(ended.signal);
    assert.deepEqual((await admin.get(CONFIG_MAPS, at)).data, { a: '10', b: '10' });
    await assert.rejects(
      client.patch(CONFIG_MAPS, at, { patchType: 'merge', patch: { metadata: { resourceVersion: '1' } } }), isConflict,
    );
  });

  it('27, 29: a create that times out is maybe done: asked again it exists', async () => {
    const proxy = await proxyTo();
    proxy.fate = ({ method }) => (method === 'POST' ? { kind: 'swallow-answer' } : undefined);
    const client = clientOf(proxy.connection);
    const object = { metadata: { namespace: NAMESPACE, name: 'once', labels: { test: '' } } };
    await assert.rejects(client.create(CONFIG_MAPS, object), UnreachableError);
    assert.equal(proxy.requests.filter(({ method }) => method === 'POST').length, 1, 'never repeated by the transport');
    proxy.fate = () => undefined;
    await assert.rejects(client.create(CONFIG_MAPS, object), isAlreadyExists);
  });

  it('28: 429 with Retry-After is obeyed by all calls to that cluster, and by no others',
    { timeout: SCALE.patience }, async () => {
    const [proxy, other] = [await proxyTo(), await proxyTo(sandbox.clusters[0])];
    const client = clientOf(proxy.connection, { ...QUICK, callTimeoutMs: 10_000 });
    const { throttled: scale } = SCALE;
    const followed = await follow(client);
    let throttled = true;
    proxy.fate = () => (
      throttled
        ? { kind: 'answer', status: 429, headers: { 'retry-after': String(scale.retryAfterSeconds()) } }
        : undefined
    );
    await churn();
    proxy.endWatches();
    const calls = Array.from(
      { length: 20 },
      (_, i) => client.get(CONFIG_MAPS, { namespace: NAMESPACE, name: `none-${i}` }).catch((error: unknown) => error),
    );
    const began = performance.now();
    const elsewhere = clientOf(other.connection);
    let answered = 0;
    while (performance.now() - began < scale.for) {
      await elsewhere.list(SERVICE_ACCOUNTS);
      answered += 1;
      await sleep(20);
    }
    throttled = false;
    // Each call is sent once before the first answer can be known; on a busy machine that first round, and the last
    // list, may take long.
    const hits = proxy.requests.filter(({ at }) => at > began && at < began + scale.for).length - calls.length;
    assert(hits <= scale.requests, `${hits} requests in ${scale.for / 1_000} s`);
    assert(answered > scale.for / 500, `the other cluster answered ${answered} lists meanwhile`);
    await Promise.all(calls);
    await settled(followed, 60_000);
    followed.assertOrdered();
  });

  it('29: a fifth of all answers are 500, 503 or 504 or late: nothing is lost, and no more calls are in flight than may',
    { timeout: SCALE.patience }, async () => {
    const proxy = await proxyTo();
    let seen = 0;
    proxy.fate = () => {
      seen += 1;
      if (seen % 5 === 0) return { kind: 'answer', status: [500, 503, 504][seen % 3] ?? 500 };
      return seen % 7 === 0 ? { kind: 'delay', ms: SCALE.slowAnswer() } : undefined;
    };
    const client = clientOf(proxy.connection);
    const followed = await follow(client);
    const failures: unknown[] = [];
    const names = Array.from({ length: 200 }, (_, i) => `slow-${i}`);
    const write = async (name: string): Promise<void> => {
      for (;;) {
        try {
          await client.apply(CONFIG_MAPS, { metadata: { namespace: NAMESPACE, name, labels: { test: '' } } }, 'test');
          return;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(names.map(write));
    await settled(followed, 10_000);
    assert(
      failures.length > 20 && failures.every((error) => error instanceof ApiError || error instanceof UnreachableError),
    );
    assert(proxy.inFlight.most <= 32, `${proxy.inFlight.most} in flight`);
    followed.assertOrdered();
  });
});

const bearer = async (name: string) => {
  const { status } = await admin.post<{ status: { token: string } }>(
    SERVICE_ACCOUNTS, { namespace: NAMESPACE, name, subresource: 'token' },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  );
  return status.token;
};
const whoAmI = async (client: ClusterClient) => {
  const answer = await client.transport.call<{ status: { userInfo: { username: string } } }>({
    method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  return answer.status.userInfo.username;
};
const anonymous = () => connectionOf({ kubeconfigPath: cluster.kubeconfigPath }, readEnvironment({})).then(
  ({ server, certificateAuthority, insecure }) =>
    ({ server, insecure, ...(certificateAuthority !== undefined && { certificateAuthority }) }),
);

/** ServiceAccounts that may do anything, to be told apart by their tokens. */
async function prepareIdentities(): Promise<void> {
  for (const name of ['one', 'two']) {
    await admin.apply(SERVICE_ACCOUNTS, { metadata: { namespace: NAMESPACE, name } }, 'test');
    await admin.apply(
      CLUSTER_ROLE_BINDINGS,
      {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', namespace: NAMESPACE, name }],
      } as KubernetesObject,
      'test',
    );
  }
}

describe('credentials that change while watching (39)', () => {
  async function authority(): Promise<CertificateAuthority> {
    const [certificate, key] =
      await Promise.all(['ca.crt', 'ca.key'].map((file) => readFile(join(cluster.directory, 'pki', file), 'utf8')));
    return loadAuthority({ certificate: certificate!, key: key! });
  }

  before(async () => {
    assert(TRANSPORT_TIMINGS.credentialsMaxAgeMs * 2 <= 10_000);
    await prepareIdentities();
  });

  const rotations: Record<
    string,
    (folder: string) => Promise<{ client: ClusterClient; first: string; rotate: () => Promise<void>; second: string }>
  > = {
    'a token file': async (folder) => {
      const path = join(folder, 'token');
      await writeFile(path, await bearer('one'));
      const client = clientOf({ ...(await anonymous()), credentials: { kind: 'token-file', path } });
      return {
        client, first: `system:serviceaccount:${NAMESPACE}:one`, second: `system:serviceaccount:${NAMESPACE}:two`,
        rotate: async () => writeFile(path, await bearer('two')),
      };
    },
    'a client certificate in the files of a kubeconfig': async (folder) => {
      const made = await authority();
      const issue = async (commonName: string) => {
        const { certificate, key } =
          await made.issue({ commonName, organizations: ['system:masters'], usages: ['client'], days: 1 }, new Date());
        await writeFile(join(folder, 'client.key'), key);
        await writeFile(join(folder, 'client.crt'), certificate);
      };
      await issue('first');
      const { server, certificateAuthority } = await anonymous();
      const kubeconfigPath = join(folder, 'kubeconfig');
      await writeFile(kubeconfigPath, JSON.stringify({
        'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{
          name: 'c',
          cluster: {
            server: server.href,
            'certificate-authority-data': Buffer.from(certificateAuthority ?? '').toString('base64'),
          },
        }],
        users: [{ name: 'u', user: { 'client-certificate': 'client.crt', 'client-key': 'client.key' } }],
      }));
      return {
        client: clientOf(await connectionOf({ kubeconfigPath }, readEnvironment({}))), first: 'first', second: 'second',
        rotate: () => issue('second'),
      };
    },
    'the connection, as when a target\'s Secret changes': async () => {
      const base = await anonymous();
      const client = clientOf({ ...base, credentials: { kind: 'token', token: await bearer('one') } });
      const next = { ...base, credentials: { kind: 'token', token: await bearer('two') } } as const;
      return {
        client, first: `system:serviceaccount:${NAMESPACE}:one`, second: `system:serviceaccount:${NAMESPACE}:two`,
        rotate: async () => client.transport.use(next),
      };
    },
  };

  for (const [what, prepare] of Object.entries(rotations)) {
    it(`${what}: the new credentials are used soon, watches move to them, no event is lost and nothing is listed again`,
      { timeout: SCALE.patience }, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-rotation-'));
      t.after(() => rm(folder, { recursive: true }));
      const { client, first, rotate, second } = await prepare(folder);
      const followed = await follow(client);
      assert.equal(await whoAmI(client), first);
      const began = performance.now();
      const writing = (async () => {
        for (let i = 0; i < 8 || performance.now() - began < SCALE.rotated / 2; i += 1) await churn(5);
      })();
      const reopened = followed.nextOpen();
      await rotate();
      const rotated = performance.now();
      await reopened;
      while ((await whoAmI(client)) !== second) await sleep(20);
      const usedMs = performance.now() - rotated;
      assert(usedMs < SCALE.rotated, `used after ${Math.round(usedMs)} ms`);
      await writing;
      await settled(followed, 5_000);
      assert.equal(followed.breaks, 0, 'a rotation is no failure');
      assert.equal(followed.lists, 1);
      followed.assertOrdered();
    });
  }

  it('a token that the server no longer takes is read again at once, long before it is due; while there is none, the ' +
    'reason is Unauthorized', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'isthmus-rotation-'));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, 'token');
    const client = clientOf(
      { ...(await anonymous()), credentials: { kind: 'token-file', path } }, { ...QUICK, credentialsMaxAgeMs: 60_000 },
    );
    await writeFile(path, 'expired');
    await assert.rejects(client.list(SERVICE_ACCOUNTS), (error) => error instanceof ApiError && error.status === 401);
    await writeFile(path, await bearer('one'));
    assert.equal(await whoAmI(client), `system:serviceaccount:${NAMESPACE}:one`);

    const other = clientOf(
      { ...(await anonymous()), credentials: { kind: 'token-file', path } }, { ...QUICK, credentialsMaxAgeMs: 60_000 },
    );
    await writeFile(path, await bearer('one'));
    assert.equal(await whoAmI(other), `system:serviceaccount:${NAMESPACE}:one`);
    await admin.delete(SERVICE_ACCOUNTS, { namespace: NAMESPACE, name: 'one' }); // its tokens end with it
    await writeFile(path, await bearer('two'));
    // the server may remember the old one for some seconds
    while ((await whoAmI(other)) !== `system:serviceaccount:${NAMESPACE}:two`) await sleep(100);
  });
});

describe('a target whose Secret changes (39)', () => {
  const SECRET = { namespace: NAMESPACE, name: 'kubeconfig-of-target' };
  let source: OpenCluster;

  before(async () => {
    source = await openCluster({ kubeconfigPath: sandbox.clusters[0]!.kubeconfigPath, userAgent: 'isthmus-test' });
    for (const definition of customResourceDefinitions()) {
      await admin.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, 'test');
    }
    await prepareIdentities();
  });
  after(() => source?.client.transport.close());

  async function store(token: string): Promise<void> {
    const { server, certificateAuthority = '' } = await anonymous();
    const kubeconfig = JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }], users: [{ name: 'u', user: { token } }],
      clusters: [{
        name: 'c',
        cluster:
          { server: server.href, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') },
      }],
    });
    await source.client.apply(
      SECRETS,
      {
        metadata: SECRET, data: { [DEFAULT_KUBECONFIG_KEY]: Buffer.from(kubeconfig).toString('base64') },
      } as KubernetesObject,
      'test',
    );
  }

  it('moves its session to the new token within 10 s without a list; a token that is not taken is Unauthorized, ' +
    'until there is another one', { timeout: 90_000 }, async (t) => {
    const events = new EventEmitter();
    const until = async (holds: () => boolean) => {
      while (!holds()) await once(events, 'change', { signal: AbortSignal.timeout(30_000) });
    };
    let lists = 0;
    const { client, connection } = source;
    const environment = {
      source: client, sourceConnection: connection, sourceId: 'the-source', installNamespace: NAMESPACE,
      userAgent: 'isthmus-test/1', logger: SILENT,
    };
    const target = new TargetCluster({ kind: 'ClusterTarget', name: 't' }, environment, {
      sessionOpened: (_target, opened) => opened.delegates.onListed(() => (lists += 1)),
      changed: () => events.emit('change'),
      identified: () => undefined, storedDelegation: () => undefined,
      movedTo: async () => undefined, isTarget: () => false,
    });
    t.after(() => target.stop());
    const isReady = () => target.availability.kind === 'ready';
    await store(await bearer('one'));
    target.update({ kubeconfigSecret: SECRET });
    await until(isReady);
    const { session } = target;
    assert(session !== undefined);

    await store(await bearer('two'));
    while ((await whoAmI(session.client)) !== `system:serviceaccount:${NAMESPACE}:two`) await sleep(50);
    await until(isReady);

    await store('no-token-of-this-cluster');
    await until(() => target.availability.kind === 'unavailable' && target.availability.reason === 'Unauthorized');
    await store(await bearer('one'));
    await until(isReady);
    assert.equal(await whoAmI(session.client), `system:serviceaccount:${NAMESPACE}:one`);
    assert.equal(target.session, session, 'nothing was restarted');
    assert.equal(lists, 1, 'no event was lost, so nothing was listed again');
  });
});

describe('a consumer that is slow (58)', () => {
  const FLOOD = fileURLToPath(new URL('../../support/faults/event-flood.js', import.meta.url));
  const collect = (): number => {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    return process.memoryUsage().heapUsed;
  };

  it('58: thousands of events a second merge per key: the queue stays as long as there are keys, memory stays, no ' +
    'key is told out of order', { timeout: SCALE.patience }, async (t) => {
    const [keys, rate, seconds] = [500, 5_000, SCALE.flood / 1_000];
    const sender = fork(FLOOD, [keys, rate, seconds].map(String));
    t.after(() => sender.disconnect());
    const [port] = (await once(sender, 'message')) as [number];
    const client =
      clientOf({ server: new URL(`http://127.0.0.1:${port}`), insecure: false, credentials: { kind: 'none' } });
    client.transport.offersStreamingLists = false;
    const followed = new FollowedCollection(client, CONFIG_MAPS, {});
    let deepest = 0;
    const queue = new WorkQueue(() => sleep(5), 4, stop.signal);
    followed.onChange((key) => {
      queue.add(key);
      deepest = Math.max(deepest, queue.depth);
    });
    const began = performance.now();
    await followed.start(stop.signal);
    while (followed.changes < keys * 10) await sleep(20);
    const [live, resident] = [collect(), process.memoryUsage.rss()];
    let most = resident;
    while (followed.changes < seconds * rate) {
      await sleep(50);
      most = Math.max(most, process.memoryUsage.rss());
    }
    const took = (performance.now() - began) / 1_000;
    const [grown, grownMost] = [collect() - live, most - resident];
    const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
    t.diagnostic(
      `${followed.changes} events in ${took.toFixed(1)} s; at most ${deepest} keys in the queue; live memory ` +
        `${megabytes(live)} at first, ${megabytes(grown)} more at the end; resident ${megabytes(resident)} at first, ` +
        `${megabytes(grownMost)} more at most`,
    );
    assert(deepest <= keys, `${deepest} keys in the queue`);
    assert(grown < 15e6 && grownMost < 150e6, `${megabytes(grown)} more, ${megabytes(grownMost)} at most`);
    assert.equal(followed.changes, seconds * rate, 'each is told once');
    followed.assertOrdered();
  });
});

describe('random faults', () => {
  it('for 8 s lose nothing and keep every key in order; `npm run soak -- random-faults` does it for 10 minutes',
    { timeout: SCALE.patience }, async () => {
    const run = await runRandomFaults(cluster, admin, { ms: 8_000, seed: Math.floor(Math.random() * 1e9) });
    const injected = Object.values(run.faults).reduce((sum, count) => sum + count, 0);
    // how many of them break a watch is the dice's
    assert(run.writes > 100 && injected > 2 && run.breaks > 0, JSON.stringify(run));
  });
});
