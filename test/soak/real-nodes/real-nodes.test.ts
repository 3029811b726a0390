// `npm run soak -- real-nodes`: elected pods in containers. A source and two targets with kubelets, containerd, a CNI,
// kube-proxy and CoreDNS; what people do with pods, and what happens to nodes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import type { NodeProgramName, RealNode } from '../../../sandbox/real-nodes/real-node.ts';
import { eventually } from '../../support/history/eventually.ts';
import { inNamespace, type IsthmusWorld, type WorldCluster } from '../../support/worlds/isthmus-world.ts';
import { Packaging, type Ended } from '../../support/peers/packaging.ts';
import { BUSYBOX } from '../../support/real-nodes/real-node-cases.ts';
import {
  ELECTED, KINDS, makePod, NATIVE, TIMEOUT_MS, startRealWorld, untilPod, type AnyObject,
} from '../../support/real-nodes/real-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

let world: IsthmusWorld;
let tools: Packaging;

before(async () => {
  tools = await Packaging.open(AbortSignal.timeout(600_000));
  world = await startRealWorld({ nodes: 2 });
});
after(() => endWorld(world));

const sh = (script: string, more: object = {}): object =>
  ({ name: 'main', image: BUSYBOX, command: ['sh', '-c', script], ...more });
const SLEEP = 'trap "exit 0" TERM; sleep 3600 & wait';
const isRunning = (pod: Pod): boolean => pod.status?.phase === 'Running';
const isReady = (pod: Pod): boolean =>
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
const lasting = (container: object = {}, pod: object = {}): object =>
  ({ terminationGracePeriodSeconds: 1, containers: [sh(SLEEP, container)], ...pod });

function kubectl(...args: readonly string[]): Promise<Ended> {
  return tools.kubectl(args, { kubeconfig: world.source.cluster.kubeconfigPath });
}

/** The target that runs a pod of the source, and its delegate there. */
function delegateOf(name: string): { readonly target: WorldCluster; readonly delegate: Pod } {
  const uid = world.source.pods.get(`${ELECTED}/${name}`)?.metadata.uid;
  for (const target of world.targets) {
    const delegate = inNamespace(target.pods.objects, ELECTED).find(
      ({ metadata }) => Object.values(metadata.labels ?? {}).includes(uid ?? 'none'),
    );
    if (delegate !== undefined) return { target, delegate };
  }
  throw new Error(`no target runs ${name}`);
}

/** The node that runs a pod of the source. */
function nodeOf(name: string): RealNode {
  const { target, delegate } = delegateOf(name);
  const node = world.sandbox.nodes.get(target.cluster.name)?.find(({ plan }) => plan.name === delegate.spec.nodeName);
  if (node === undefined) throw new Error(`${name} runs on no node of ours`);
  return node;
}

async function remove(...names: readonly string[]): Promise<void> {
  for (const name of names) await world.source.client.delete(PODS, { namespace: ELECTED, name });
  await world.source.pods.until(`${names.join(', ')} gone`, (pods) =>
    names.every((name) => !pods.some(({ metadata }) => metadata.namespace === ELECTED && metadata.name === name)),
  TIMEOUT_MS);
}

/** What a controller says of its object in each namespace once it is done. */
async function endsOf(
  kind: typeof KINDS.jobs, name: string, isDone: (object: AnyObject) => boolean,
): Promise<readonly [elected: AnyObject, native: AnyObject]> {
  const end = (namespace: string): Promise<AnyObject> => eventually(`${namespace}/${name}`, async () => {
    const object = await world.source.client.get(kind, { namespace, name });
    return isDone(object) && object;
  }, TIMEOUT_MS);
  return [await end(ELECTED), await end(NATIVE)];
}

const conditionsOf = ({ status }: AnyObject): readonly string[] =>
  ((status?.['conditions'] ?? []) as readonly { readonly type: string; readonly status: string }[])
    .filter((one) => one.status === 'True').map(({ type }) => type).toSorted();
const isComplete = (job: AnyObject): boolean => conditionsOf(job).some((type) => ['Complete', 'Failed'].includes(type));

async function applyBoth(kind: typeof KINDS.jobs, object: AnyObject): Promise<void> {
  for (const namespace of [ELECTED, NATIVE]) {
    await world.source.client.apply(kind, { ...object, metadata: { ...object.metadata, namespace } }, 'isthmus-test');
  }
}

const template = (app: string, spec: object): object =>
  ({ metadata: { labels: { app }, annotations: { [ELECT_ANNOTATION]: '' } }, spec });
const podsOf = (namespace: string, app: string): readonly Pod[] => inNamespace(world.source.pods.objects, namespace)
  .filter(({ metadata }) => metadata.labels?.['app'] === app);

interface Terminated {
  readonly exitCode: number;
  readonly message?: string;
}

const terminated = (pod: Pod): Terminated | undefined => (
  (pod.status?.containerStatuses ?? []) as readonly { readonly state?: { readonly terminated?: Terminated } }[]
)[0]?.state?.terminated;
const restarts = (pod: Pod): number =>
  ((pod.status?.containerStatuses ?? []) as readonly { readonly restartCount?: number }[])[0]?.restartCount ?? 0;

describe('an elected pod in a container', () => {
  before(async () => {
    await makePod(world, ELECTED, { name: 'first', spec: lasting({ command: ['sh', '-c', `echo hello; ${SLEEP}`] }) });
    await untilPod(world, ELECTED, 'first', isReady);
  });

  it('has its logs in the source', async () => {
    const { stdout, stderr } = await kubectl('-n', ELECTED, 'logs', 'first');
    assert.equal(stdout, 'hello\n', stderr);
  });
  it('runs commands for the source', async () => {
    const { stdout, stderr } = await kubectl('-n', ELECTED, 'exec', 'first', '--', 'sh', '-c', 'echo $((6 * 7))');
    assert.equal(stdout, '42\n', stderr);
  });
  it('ends commands with their own code', async () => {
    assert.equal((await kubectl('-n', ELECTED, 'exec', 'first', '--', 'sh', '-c', 'exit 7')).code, 7);
  });
  it('shows the address that it has in its target', () => {
    const proxy = world.source.pods.get(`${ELECTED}/first`);
    assert.equal(proxy?.status?.podIP, delegateOf('first').delegate.status?.podIP);
  });
  it('is debugged in its target: the source says where', async () => {
    const { code, stderr } = await kubectl('-n', ELECTED, 'debug', 'first', `--image=${BUSYBOX}`, '--', 'true');
    assert.notEqual(code, 0);
    assert.match(stderr, new RegExp(delegateOf('first').delegate.metadata.name ?? 'none'));
  });
});

describe('a Job', () => {
  it('that waits for the end of a deleted pod is told it', async () => {
    const script = 'trap "sleep 3; exit 0" TERM; sleep 3600 & wait';
    const spec = {
      backoffLimit: 0, podReplacementPolicy: 'Failed',
      template: template('deleted', { restartPolicy: 'Never', containers: [sh(script)] }),
    };
    await applyBoth(KINDS.jobs, { metadata: { name: 'deleted' }, spec });
    for (const namespace of [ELECTED, NATIVE]) {
      await world.source.pods.until('both run', () => podsOf(namespace, 'deleted').some(isRunning), TIMEOUT_MS);
      const [pod] = podsOf(namespace, 'deleted');
      await world.source.client.delete(PODS, { namespace, name: pod?.metadata.name ?? '' });
    }
    const ends = await endsOf(KINDS.jobs, 'deleted', isComplete);
    assert.deepEqual(conditionsOf(ends[0]), conditionsOf(ends[1]));
    assert.deepEqual([ends[0].status?.['succeeded'], ends[0].status?.['failed']], [
      ends[1].status?.['succeeded'], ends[1].status?.['failed'],
    ]);
  });

  it('with indexes gives each pod its own, over both targets', async () => {
    const count = 20;
    const container = sh('echo $JOB_COMPLETION_INDEX > /dev/termination-log; sleep 2', {
      resources: { requests: { cpu: '200m' } },
    });
    const spec = {
      completions: count, parallelism: 10, completionMode: 'Indexed', backoffLimit: 0,
      template: template('indexed', { restartPolicy: 'Never', containers: [container] }),
    };
    await applyBoth(KINDS.jobs, { metadata: { name: 'indexed' }, spec });
    const ends = await endsOf(KINDS.jobs, 'indexed', isComplete);
    assert.deepEqual(conditionsOf(ends[0]), conditionsOf(ends[1]));
    assert.equal(ends[0].status?.['completedIndexes'], `0-${count - 1}`);
    const pods = podsOf(ELECTED, 'indexed');
    assert.deepEqual(
      pods.map((pod) => Number(terminated(pod)?.message?.trim())).toSorted((one, other) => one - other),
      Array.from({ length: count }, (_, index) => index),
    );
    assert.equal(new Set(pods.map(({ spec: { nodeName } }) => nodeName)).size, 2, 'both targets ran some');
  });
});

describe('what follows a pod', () => {
  const withFiles = (configMap: string): object => lasting({
    volumeMounts: [{ name: 'c', mountPath: '/c' }, { name: 's', mountPath: '/s' }],
  }, {
    volumes: [{ name: 'c', configMap: { name: configMap } }, { name: 's', secret: { secretName: 'password' } }],
  });
  /** Mounts that failed because a copy was not there; kubelet's own delays are not ours. */
  const failedMounts = async (about: string): Promise<readonly unknown[]> => {
    const at = { namespace: ELECTED };
    const events = await Promise.all(world.targets.map(({ client }) => client.list(KINDS.events, at)));
    return events.flat().filter(({ reason, message }) => reason === 'FailedMount' && String(message).includes(about))
      .map(({ message, count }) => [message, count]);
  };

  it('is there when a pod starts whose like runs already, fifty times', async () => {
    const rounds = 5;
    const atOnce = 10;
    await Promise.all(['eu-west', 'us-east'].map(async (region) => {
      const nodeSelector = { 'topology.kubernetes.io/region': region };
      const name = `keeps-${region}`;
      await makePod(world, ELECTED, { name, spec: { ...withFiles('settings'), nodeSelector } });
      await untilPod(world, ELECTED, name, isRunning);
    }));
    const before = await failedMounts('not found');
    for (let round = 0; round < rounds; round += 1) {
      const names = Array.from({ length: atOnce }, (_, index) => `mounted-${round}-${index}`);
      await Promise.all(names.map((name) => makePod(world, ELECTED, { name, spec: withFiles('settings') })));
      await Promise.all(names.map((name) => untilPod(world, ELECTED, name, isRunning)));
      await remove(...names);
    }
    assert.deepEqual(await failedMounts('not found'), before);
    await remove('keeps-eu-west', 'keeps-us-east');
  });

  it('comes in time for most pods that are the first to need it', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `first-${index}`);
    for (const name of names) {
      const settings: AnyObject = { metadata: { name, namespace: ELECTED }, data: { color: 'red' } };
      await world.source.client.apply(KINDS.configMaps, settings, 'isthmus-test');
      await makePod(world, ELECTED, { name, spec: withFiles(name) });
      await untilPod(world, ELECTED, name, isRunning);
    }
    const late = await Promise.all(names.map(async (name) => (await failedMounts(`"${name}" not found`)).length > 0));
    const count = late.filter(Boolean).length;
    process.stdout.write(`${count} of ${names.length} first pods mounted before the copy was there\n`);
    await remove(...names);
  });

  it('changes in the container when it changes in the source', async () => {
    const container = sh('while [ "$(cat /c/size)" != large ]; do sleep 0.2; done; cp /c/size /dev/termination-log', {
      volumeMounts: [{ name: 'c', mountPath: '/c' }],
    });
    const volumes = [{ name: 'c', configMap: { name: 'sizes' } }];
    const sizes = (size: string): AnyObject => ({ metadata: { name: 'sizes', namespace: ELECTED }, data: { size } });
    await world.source.client.apply(KINDS.configMaps, sizes('small'), 'isthmus-test');
    const spec = { restartPolicy: 'Never', containers: [container], volumes };
    await makePod(world, ELECTED, { name: 'follows', spec });
    await untilPod(world, ELECTED, 'follows', isRunning);
    await world.source.client.apply(KINDS.configMaps, sizes('large'), 'isthmus-test');
    const pod = await untilPod(world, ELECTED, 'follows', ({ status }) => status?.phase === 'Succeeded');
    assert.equal(terminated(pod)?.message, 'large');
  });
});

describe('a Service of the source', () => {
  it('is called by name from an elected pod, through kube-proxy and CoreDNS of its target', async () => {
    const nodeSelector = { 'topology.kubernetes.io/region': 'eu-west' }; // a Service has the endpoints of its cluster
    const server = sh('', { command: ['httpd', '-f', '-p', '8080', '-h', '/etc'], ports: [{ containerPort: 8_080 }] });
    const spec = {
      replicas: 4, selector: { matchLabels: { app: 'web' } },
      template: template('web', { terminationGracePeriodSeconds: 1, nodeSelector, containers: [server] }),
    };
    const metadata = { name: 'web', namespace: ELECTED };
    const ports = [{ port: 80, targetPort: 8_080 }];
    const service: AnyObject = { metadata, spec: { selector: { app: 'web' }, ports } };
    const deployment: AnyObject = { metadata, spec };
    await world.source.client.apply(KINDS.services, service, 'isthmus-test');
    await world.source.client.apply(KINDS.deployments, deployment, 'isthmus-test');
    await world.source.pods.until('servers', () => podsOf(ELECTED, 'web').filter(isReady).length === 4, TIMEOUT_MS);
    // A static busybox resolves names in its nslookup alone: its wget would need a C library.
    const script = 'while :; do address=$(nslookup web.elected.svc.cluster.local | grep ^Address | tail -1 | grep -o ' +
      '"10[.0-9]*$"); printf "GET /passwd HTTP/1.0\\r\\n\\r\\n" | nc -w 2 "$address" 80 | grep ^root > ' +
      '/dev/termination-log && exit 0; sleep 0.5; done';
    const caller = { restartPolicy: 'Never', nodeSelector, containers: [sh(script)] };
    await makePod(world, ELECTED, { name: 'caller', spec: caller });
    const pod = await untilPod(world, ELECTED, 'caller', ({ status }) => status?.phase === 'Succeeded');
    assert.match(terminated(pod)?.message ?? '', /^root:x:0:0/);
    await world.source.client.delete(KINDS.deployments, metadata, { propagation: 'Background' });
  });
});

describe('a deleted pod', () => {
  it('keeps its proxy until its container has ended in its own time', async () => {
    const container = sh('trap "sleep 4; exit 9" TERM; sleep 3600 & wait');
    const spec = { terminationGracePeriodSeconds: 20, containers: [container] };
    await makePod(world, ELECTED, { name: 'slow', spec });
    await untilPod(world, ELECTED, 'slow', isRunning);
    const before = world.source.pods.history.length;
    await remove('slow');
    const last = world.source.pods.history.slice(before).findLast(
      ({ key, after: pod }) => key === `${ELECTED}/slow` && pod !== undefined,
    );
    assert.equal(last?.after === undefined ? undefined : terminated(last.after)?.exitCode, 9);
  });
});

describe('a node', () => {
  const spec = lasting();

  for (const program of ['kubelet', 'containerd'] as const satisfies readonly NodeProgramName[]) {
    it(`whose ${program} crashes and comes back keeps its containers`, async () => {
      const name = `through-${program}`;
      await makePod(world, ELECTED, { name, spec });
      await untilPod(world, ELECTED, name, isReady);
      const node = nodeOf(name);
      await node.killProgram(program);
      await node.startProgram(program);
      const answered = await eventually(`exec after ${program}`, async () => {
        const { code, stdout } = await kubectl('-n', ELECTED, 'exec', name, '--', 'echo', 'there');
        return code === 0 && stdout;
      }, TIMEOUT_MS);
      assert.equal(answered, 'there\n');
      const pod = await untilPod(world, ELECTED, name, isReady);
      assert.equal(restarts(pod), 0);
      await remove(name);
    });
  }

  it('that loses its power runs its pods again, which stay the same for the source', async () => {
    await makePod(world, ELECTED, { name: 'rebooted', spec });
    const before = await untilPod(world, ELECTED, 'rebooted', isReady);
    const node = nodeOf('rebooted');
    await node.crash(world.signal);
    await node.start(world.signal);
    const pod = await untilPod(world, ELECTED, 'rebooted', (one) => isReady(one) && restarts(one) === 1);
    assert.equal(pod.metadata.uid, before.metadata.uid);
    assert.ok(isProxyPod(pod));
    await remove('rebooted');
  });
});
