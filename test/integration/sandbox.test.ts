// A sandbox as its users meet it: real control planes that behave as a cluster does, and that leave nothing behind.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Agent, request, WebSocket } from 'undici';
import { parse } from 'yaml';
import { isAlive, type ProcessIdentity } from '../../process/programs/process-identity.ts';
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxRecord } from '../../sandbox/sandbox-record.ts';
import { isthmus } from '../support/processes/command-line.ts';
import { firstPodByToken, HALF_WAY } from '../support/docs/first-pod.ts';

const run = promisify(execFile);
const command = join(import.meta.dirname, '..', '..', 'cli', 'main.js');
const never = new AbortController().signal;

/** The fields of any object that are looked at here. */
interface ApiObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string; readonly taints?: readonly object[] };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly succeeded?: number;
    readonly token?: string;
    readonly userInfo?: { readonly username: string };
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
  readonly items: readonly ApiObject[];
}

interface ContainerStatus {
  readonly state: {
    readonly running?: { readonly startedAt: string }; readonly terminated?: { readonly exitCode: number }
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: ApiObject;
}

const data = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString();

/** Requests to the API server of a kubeconfig, as its user or with a token. */
class Api {
  readonly server: string;
  readonly #withCertificate: Agent;
  readonly #withoutCertificate: Agent;

  constructor(kubeconfig: string) {
    const config = parse(kubeconfig) as {
      clusters: [{ cluster: Record<string, string> }]; users: [{ user: Record<string, string> }]
    };
    const { cluster } = config.clusters[0];
    const { user } = config.users[0];
    const ca = data(cluster['certificate-authority-data']);
    this.server = cluster['server']!;
    this.#withCertificate =
      new Agent({ connect: { ca, cert: data(user['client-certificate-data']), key: data(user['client-key-data']) } });
    this.#withoutCertificate = new Agent({ connect: { ca } });
  }

  async send(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, token?: string): Promise<Answer> {
    const answer = await request(new URL(path, this.server), {
      method,
      dispatcher: token === undefined ? this.#withCertificate : this.#withoutCertificate,
      headers: {
        'content-type': 'application/json', 'user-agent': 'sandbox-test',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, body: (text.startsWith('{') ? JSON.parse(text) : {}) as ApiObject };
  }

  /**
   * Watches until an object of that name satisfies the condition, undefined being a deleted one; gives its last state.
   */
  async until(
    collection: string, name: string, condition: (object: ApiObject | undefined) => boolean, since = '',
  ): Promise<ApiObject | undefined> {
    const query = `watch=true&timeoutSeconds=60&resourceVersion=${since}&fieldSelector=metadata.name%3D${name}`;
    const answer = await request(new URL(`${collection}?${query}`, this.server), { dispatcher: this.#withCertificate });
    let rest = '';
    for await (const chunk of answer.body) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as { type: string; object: ApiObject };
        const state = event.type === 'DELETED' ? undefined : event.object;
        if (condition(state)) return state;
      }
    }
    throw new Error(`${name} did not come to the state that was waited for`);
  }

  /** Runs a command in a pod and gives what it wrote, as `kubectl exec` would. */
  async exec(pod: string, ...words: readonly string[]): Promise<string> {
    const query = words.map((word) => `command=${encodeURIComponent(word)}`).join('&');
    const url =
      `${this.server.replace('https', 'wss')}/api/v1/namespaces/default/pods/${pod}/exec?${query}&stdout=true`;
    const socket = new WebSocket(url, { protocols: ['v5.channel.k8s.io'], dispatcher: this.#withCertificate });
    socket.binaryType = 'arraybuffer';
    let output = '';
    socket.addEventListener('message', (event) => {
      const frame = Buffer.from(event.data as ArrayBuffer);
      if (frame[0] === 1) output += frame.subarray(1).toString();
    });
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('close', () => resolve());
      socket.addEventListener('error', (event) => reject(event.error));
    });
    return output;
  }

  async close(): Promise<void> {
    await Promise.all([this.#withCertificate.close(), this.#withoutCertificate.close()]);
  }
}

const plainPod = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'registry.example/app:v1' }], ...more },
});
const pods = '/api/v1/namespaces/default/pods';
const isRunning = (pod: ApiObject | undefined): boolean => pod?.status.phase === 'Running';
const conditionsOf = (object: ApiObject): Readonly<Record<string, string>> =>
  Object.fromEntries((object.status.conditions ?? []).map(({ type, status }) => [type, status]));

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function living(identities: readonly ProcessIdentity[]): Promise<number> {
  return (await Promise.all(identities.map(isAlive))).filter(Boolean).length;
}

describe('isthmus sandbox up --bare --detach', { timeout: 235_000 }, () => {
  let base = '';
  let dir = '';
  let output: {
    readonly source: string; readonly targets: readonly string[]; readonly dir: string;
    readonly auditLogs: Readonly<Record<string, string>>
  };
  let record: SandboxRecord;
  let api: Api;

  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'isthmus-sandbox-'));
    dir = join(base, 'sandbox');
    const args =
      ['sandbox', 'up', '--bare', '--targets', '1', '--nodes', '1', '--dir', dir, '--audit', '--detach', '--json'];
    const { stdout } = await run(process.execPath, [command, ...args]);
    output = JSON.parse(stdout) as typeof output;
    record = JSON.parse(await readFile(join(dir, 'sandbox.json'), 'utf8')) as SandboxRecord;
    api = new Api(await readFile(output.targets[0]!, 'utf8'));
  });
  after(async () => {
    await api.close();
    await run(process.execPath, [command, 'sandbox', 'down', '--dir', dir]);
    await rm(base, { recursive: true, force: true });
  });

  it('prints where the kubeconfigs are, and records its clusters and processes', () => {
    assert.deepEqual(
      [output.source, ...output.targets], [join(dir, 'source.kubeconfig'), join(dir, 'target-1.kubeconfig')],
    );
    assert.deepEqual(record.clusters.map((cluster) => cluster.name), ['source', 'target-1']);
    assert.equal(record.state, 'ready');
    assert.deepEqual(record.processes.filter(
      (known) => known.cluster === 'source',
    ).map((known) => known.component).toSorted(), [
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
    ]);
  });

  it('refuses a second sandbox in the same folder', async () => {
    const second = run(process.execPath, [command, 'sandbox', 'up', '--bare', '--dir', dir]);
    await assert.rejects(second, { code: 1, stderr: /isthmus: error \(BadInput\): A sandbox already runs in .*\n$/ });
  });

  it('says that real nodes cannot run here before it builds anything', async () => {
    const cache = await mkdtemp(join(tmpdir(), 'isthmus-cache-'));
    const env = { PATH: cache, XDG_CACHE_HOME: cache, HOME: cache }; // neither Go nor runc
    const args = [command, 'sandbox', 'up', '--nodes', 'real', '--dir', join(cache, 'sandbox')];
    const refused = await run(process.execPath, args, { env }).catch((error: { readonly stderr: string }) => error);
    assert.match(refused.stderr, /^isthmus: error \(ToolMissing\): Real nodes cannot run here: /);
    await rm(cache, { recursive: true });
  });

  it('has a node with the promised room, Ready and without taints', async () => {
    const { items } = (await api.send('GET', '/api/v1/nodes')).body;
    assert.equal(items.length, 1);
    assert.equal(items[0]!.status.allocatable?.['cpu'], '32');
    assert.equal(items[0]!.spec.taints, undefined);
    assert.equal(conditionsOf(items[0]!)['Ready'], 'True');
  });

  it('accepts the ServiceAccount tokens that it issues', async () => {
    const tokenRequest =
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } };
    const issued = await api.send('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', tokenRequest);
    assert.equal(issued.status, 201, issued.text);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const seen =
      await api.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review, issued.body.status.token);
    assert.equal(seen.body.status.userInfo?.username, 'system:serviceaccount:default:default');
    const denied = await api.send('GET', '/api/v1/nodes', undefined, issued.body.status.token);
    assert.equal(denied.status, 403, 'RBAC is on');
  });

  it('runs a plain pod through kube-scheduler and kwok, in one status', async () => {
    const initContainers = [{ name: 'init', image: 'i' }, { name: 'sidecar', image: 's', restartPolicy: 'Always' }];
    assert.equal((await api.send('POST', pods, plainPod('plain', { initContainers }))).status, 201);
    const pod = (await api.until(pods, 'plain', isRunning))!;
    assert.equal(pod.spec.nodeName, 'target-1-node-1');
    assert.match(pod.status.podIP ?? '', /^10\.129\./);
    for (const type of ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready']) {
      assert.equal(conditionsOf(pod)[type], 'True', type);
    }
    const [init, sidecar] = pod.status.initContainerStatuses ?? [];
    assert.equal(init?.state.terminated?.exitCode, 0);
    assert.ok(sidecar?.state.running, 'a sidecar keeps running');
    assert.ok(pod.status.containerStatuses?.[0]?.state.running?.startedAt);
  });

  it('answers logs and exec through the API server', async () => {
    const log = await api.send('GET', `${pods}/plain/log?container=main`);
    assert.equal(log.status, 200, log.text);
    assert.match(log.text, /simulated container in cluster target-1/);
    assert.equal((await api.send('GET', `${pods}/plain/log?container=main&tailLines=1`)).text, 'It is ready.\n');
    assert.equal(await api.exec('plain', 'echo', 'from the pod'), 'from the pod\n');
  });

  it('completes the pods of a Job', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } };
    const job = {
      apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'short' },
      spec: { completions: 2, parallelism: 2, template },
    };
    assert.equal((await api.send('POST', '/apis/batch/v1/namespaces/default/jobs', job)).status, 201);
    const done =
      await api.until('/apis/batch/v1/namespaces/default/jobs', 'short', (state) => state?.status.succeeded === 2);
    assert.ok(done);
  });

  it("completes delegates of a Job's pods, unless they say how long they run", async () => {
    const labels = { 'multicluster.admiralty.io/job-name': 'short' };
    const delegate = (name: string, annotations = {}) =>
      ({ ...plainPod(name), metadata: { name, labels, annotations } });
    await api.send('POST', pods, delegate('long', { 'sandbox.isthmus.dev/run-for': '24h' }));
    await api.send('POST', pods, delegate('done'));
    await api.until(pods, 'done', (state) => state?.status.phase === 'Succeeded');
    assert.equal((await api.send('GET', `${pods}/long`)).body.status.phase, 'Running');
  });

  it('removes a deleted pod, but not while a finalizer holds it', async () => {
    const held = { ...plainPod('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    await api.send('POST', pods, held);
    await api.until(pods, 'held', isRunning);
    await api.send('DELETE', `${pods}/held`);
    const { resourceVersion } = (await api.send('GET', `${pods}/plain`)).body.metadata;
    await api.send('DELETE', `${pods}/plain`);
    await api.until(pods, 'plain', (state) => state === undefined, resourceVersion);
    assert.ok((await api.send('GET', `${pods}/held`)).body.metadata.deletionTimestamp);
  });

  it('audits who asked for what', async () => {
    await api.send('GET', '/api/v1/namespaces/default/configmaps/audited');
    const path = output.auditLogs['target-1']!;
    const find = async (): Promise<string | undefined> => (await readFile(path, 'utf8')).split('\n')
      .find((line) => line.includes('configmaps/audited'));
    let line = await find();
    for (let attempt = 0; line === undefined && attempt < 100; attempt += 1) {
      await delay(50);
      line = await find();
    }
    const event = JSON.parse(line ?? '{}') as Record<string, unknown>;
    assert.equal(event['userAgent'], 'sandbox-test');
    assert.equal(event['stage'], 'ResponseComplete');
  });

  it('gets its first remote pod with a token and four commands, each killed once', { timeout: 150_000 }, async (t) => {
    const first = await firstPodByToken(
      { source: output.source, target: output.targets[0]!, name: 'first-pod', killedAfter: HALF_WAY },
      AbortSignal.timeout(120_000),
    );
    try {
      // how long it may take is held by npm run soak -- joins, which does the same with both kubeconfigs
      t.diagnostic(`${first.seconds.toFixed(1)} s`);
      assert.equal(first.commands.length, 4, first.commands.join('\n'));
    } finally {
      await first.stop();
    }
  });

  it('lets Isthmus be uninstalled when it is no longer used, or by force', async () => {
    const { source } = output;
    const refused = await isthmus('uninstall', '--kubeconfig', source);
    assert.equal(refused.code, 1);
    for (const pattern of [/isthmus unpeer first-target/, /default\/first-pod/]) assert.match(refused.stderr, pattern);
    const { code, stdout, stderr } = await isthmus('uninstall', '--force', '--kubeconfig', source);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /released Pod default\/first-pod/);
    const cluster = new Api(await readFile(source, 'utf8'));
    const left = await Promise.all(['clusterroles', 'clusterrolebindings'].map(
      async (plural) => (await cluster.send(
        'GET', `/apis/rbac.authorization.k8s.io/v1/${plural}?labelSelector=app.kubernetes.io/part-of=isthmus`,
      )).body.items,
    ));
    assert.deepEqual(left.flat(), []);
    for (const path of [
      '/api/v1/nodes/admiralty-first-target',
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/isthmus',
    ]) assert.equal((await cluster.send('GET', path)).status, 404, path);
    assert.equal(
      (await cluster.send('GET', '/apis/multicluster.admiralty.io/v1alpha1/clustertargets/first-target')).status, 200,
      'the kinds and their objects stay',
    );
    await cluster.close();
  });

  it('lets everything of Isthmus be purged, so that nothing of it is left', { timeout: 200_000 }, async () => {
    const all = await Promise.all([output.source, output.targets[0]!].map(async (kubeconfig) => {
      const { code, stdout, stderr } = await isthmus('uninstall', '--purge', '--force', '--kubeconfig', kubeconfig);
      assert.equal(code, 0, `${stderr}\n${stdout}`);
      const cluster = new Api(await readFile(kubeconfig, 'utf8'));
      const items = async (path: string) =>
        (await cluster.send('GET', path)).body.items.map(({ metadata }) => metadata.name);
      const ours = '?labelSelector=app.kubernetes.io/part-of=isthmus';
      const paths = [
        ...['serviceaccounts', 'secrets', 'configmaps', 'nodes', 'namespaces'].map(
          (plural) => `/api/v1/${plural}${ours}`,
        ),
        ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
          (plural) => `/apis/rbac.authorization.k8s.io/v1/${plural}${ours}`,
        ),
        ...[
          'mutatingwebhookconfigurations', 'validatingwebhookconfigurations', 'validatingadmissionpolicies',
          'validatingadmissionpolicybindings',
        ].map((plural) => `/apis/admissionregistration.k8s.io/v1/${plural}${ours}`),
      ];
      const left = (await Promise.all(paths.map(items))).flat();
      const definitions = (await items('/apis/apiextensions.k8s.io/v1/customresourcedefinitions')).filter(
        (name) => /admiralty|isthmus/.test(name),
      );
      const namespaces = (await items('/api/v1/namespaces')).filter((name) => name.startsWith('isthmus'));
      await cluster.close();
      return [...left, ...definitions, ...namespaces];
    }));
    assert.deepEqual(all, [[], []]);
  });

  it('ends on `sandbox down` without a process or a file', async () => {
    const all = [record.supervisor, ...record.processes];
    assert.equal(await living(all), all.length);
    const { stdout } = await run(process.execPath, [command, 'sandbox', 'down', '--dir', dir]);
    assert.match(stdout, /is stopped/);
    assert.equal(await living(all), 0);
    assert.deepEqual(await readdir(base), []);
    assert.match(
      (await run(process.execPath, [command, 'sandbox', 'down', '--dir', dir])).stdout, /No sandbox runs in/,
    );
  });
});

describe('startSandbox', { timeout: 180_000 }, () => {
  let base = '';
  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'isthmus-sandbox-'));
  });
  after(() => rm(base, { recursive: true, force: true }));

  const start = (signal: AbortSignal = never, told: string[] = []): Promise<Sandbox> =>
    startSandbox(
      {
        dir: join(base, 'sandbox'), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000,
        onProgress: (text) => told.push(text),
      },
      signal,
    );
  const recorded = async (): Promise<SandboxRecord> =>
    JSON.parse(await readFile(join(base, 'sandbox', 'sandbox.json'), 'utf8')) as SandboxRecord;

  it('clears everything away when it is aborted half way', async () => {
    const controller = new AbortController();
    const told: string[] = [];
    const starting = start(controller.signal, told);
    starting.catch(() => undefined);
    const log = join(base, 'sandbox', 'source', 'kube-apiserver.log');
    while (!(await exists(log))) await delay(10);
    controller.abort(new Error('changed my mind'));
    await assert.rejects(starting, /changed my mind/);
    assert.deepEqual(await readdir(base), []);
  });

  it('survives a crash, a pause and a restart of a component, and stops itself when one ends unasked', async () => {
    const told: string[] = [];
    const sandbox = await start(never, told);
    const [source] = sandbox.clusters;
    const api = new Api(source!.kubeconfig);
    await source!.stopComponent('kube-apiserver', 'SIGKILL');
    await assert.rejects(api.send('GET', '/readyz'));
    await source!.startComponent('kube-apiserver');
    assert.equal((await api.send('GET', '/readyz')).text, 'ok', 'on the same port, with the same data');
    await source!.stopComponent('kube-apiserver', 'SIGSTOP');
    await source!.startComponent('kube-apiserver');
    assert.equal((await api.send('GET', '/readyz')).text, 'ok');
    await api.close();

    const record = await recorded();
    const victim =
      record.processes.find((known) => known.cluster === 'target-1' && known.component === 'kube-scheduler')!;
    process.kill(victim.pid, 'SIGKILL');
    if (!sandbox.failed.aborted) await once(sandbox.failed, 'abort');
    assert.match(String(sandbox.failed.reason), /target-1\/kube-scheduler was ended by SIGKILL/);
    await sandbox.stop();
    assert.equal(await living(record.processes), 0);
    assert.deepEqual(await readdir(base), []);
    assert.ok(told.some((text) => text.includes('The sandbox stops.')));
  });

  it('clears away what a supervisor left that was killed', async () => {
    const dir = join(base, 'sandbox');
    const child = spawn(
      process.execPath, [command, 'sandbox', 'up', '--bare', '--targets', '1', '--nodes', '0', '--dir', dir, '--json'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    await once(child.stdout, 'data');
    const record = await recorded();
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(await living(record.processes), record.processes.length);
    const { stdout } = await run(process.execPath, [command, 'sandbox', 'down', '--dir', dir]);
    assert.match(stdout, /had died; its leftovers are removed/);
    assert.equal(await living(record.processes), 0);
    assert.deepEqual(await readdir(base), []);
  });
});
