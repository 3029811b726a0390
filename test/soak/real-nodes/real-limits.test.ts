// `npm run soak -- real-nodes`: nodes at their limits. A hundred elected pods on one node, a node under disk pressure,
// and `kubectl top` through metrics-server in both clusters. A source and two targets with one real node each.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { NODES, PODS } from '../../../api/resource-types.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { environment } from '../../../process/config.ts';
import type { ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { RealNode } from '../../../sandbox/real-nodes/real-node.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import { eventually } from '../../support/history/eventually.ts';
import { inNamespace, isRunning, type IsthmusWorld, type WorldCluster } from '../../support/worlds/isthmus-world.ts';
import { ensureMetricsServer } from '../../support/real-nodes/metrics-program.ts';
import { startMetricsServer } from '../../support/real-nodes/metrics-server-process.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { BUSYBOX } from '../../support/real-nodes/real-node-cases.ts';
import {
  ELECTED, KINDS, makePod, startRealWorld, untilPod, type AnyObject,
} from '../../support/real-nodes/real-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

/** A node of two shared cores starts some pods a second at best. In ms. */
const TIMEOUT_MS = 600_000;
const HUNDRED = 100;

let world: IsthmusWorld;
let tools: Packaging;

before(async () => {
  tools = await Packaging.open(AbortSignal.timeout(600_000));
  world = await startRealWorld();
});
after(() => endWorld(world));

async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tools.kubectl(args, { kubeconfig: world.source.cluster.kubeconfigPath });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function typed(...words: readonly string[]): Promise<void> {
  const { code, stderr } = await isthmus(...words, '--kubeconfig', world.source.cluster.kubeconfigPath);
  if (code !== 0) throw new Error(`isthmus ${words.join(' ')}: ${stderr}`);
}

const container = (script: string, more: object = {}): object =>
  ({ name: 'main', image: BUSYBOX, command: ['sh', '-c', script], ...more });
const LASTING = 'echo "I am $HOSTNAME"; trap "exit 0" TERM; sleep 3600 & wait';

async function deploy(name: string, replicas: number): Promise<void> {
  const labels = { app: name };
  const resources = { requests: { cpu: '1m', memory: '2Mi' } };
  await world.source.client.apply(KINDS.deployments, {
    metadata: { name, namespace: ELECTED },
    spec: {
      replicas, selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } },
        spec: { terminationGracePeriodSeconds: 1, containers: [container(LASTING, { resources })] },
      },
    },
  } as AnyObject, 'isthmus-test');
}

async function remove(name: string): Promise<void> {
  await world.source.client.delete(KINDS.deployments, { namespace: ELECTED, name });
  await world.source.pods.until(`${name} gone`, (pods) => labelled(pods, name).length === 0, TIMEOUT_MS);
}

const labelled = (pods: readonly Pod[], app: string): readonly Pod[] =>
  inNamespace(pods, ELECTED).filter(({ metadata }) => metadata.labels?.['app'] === app);
const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');

/** Nodes of the delegates of a Deployment's pods that run in a target. */
function nodesIn(target: WorldCluster, app: string): readonly string[] {
  const proxies = new Set(labelled(world.source.pods.objects, app).map(({ metadata }) => metadata.uid));
  return inNamespace(target.pods.objects, ELECTED).filter(isRunning)
    .filter(({ metadata }) => proxies.has(metadata.labels?.[PARENT_UID_LABEL])).map(({ spec }) => spec.nodeName ?? '');
}

describe('a node with a hundred pods', () => {
  before(() => typed('cordon', 'target-2'));
  after(() => typed('uncordon', 'target-2'));

  it('runs each of them for the source, and forgets them all', async () => {
    await deploy('crowd', HUNDRED);
    const pods = labelled(await world.source.pods.until(
      `${HUNDRED} Ready`, (all) => labelled(all, 'crowd').filter(isReady).length === HUNDRED, TIMEOUT_MS,
    ), 'crowd');
    const [target] = world.targets;
    assert.equal(nodesIn(target, 'crowd').length, HUNDRED);
    assert.equal(new Set(nodesIn(target, 'crowd')).size, 1, 'one node');
    assert.equal(new Set(pods.map(({ status }) => status?.podIP)).size, HUNDRED, 'an address each');
    for (const { metadata: { name = '' } } of pods.slice(-5)) {
      assert.equal(await kubectl('-n', ELECTED, 'logs', name), `I am ${name}\n`);
    }
    await remove('crowd');
    await target.pods.until('no delegate', (all) => inNamespace(all, ELECTED).length === 0, TIMEOUT_MS);
  });
});

/** The only node of a target. */
function nodeOf(target: WorldCluster): RealNode {
  return world.sandbox.nodes.get(target.cluster.name)?.[0] ?? assert.fail(target.cluster.name);
}

/** Starts kubelet again with another idea of how much of its disk must be free. */
async function demandFree(node: RealNode, share: string): Promise<void> {
  const path = join(node.plan.directory, 'kubelet.yaml');
  const before = await readFile(path, 'utf8');
  const after = before.replace(/(nodefs\.available"?: )"?\d+%"?/, `$1"${share}"`)
    .replace(/^evictionPressureTransitionPeriod: .*\n/m, '');
  assert.notEqual(after, before);
  await writeFile(path, `${after.trimEnd()}\nevictionPressureTransitionPeriod: 5s\n`);
  await node.killProgram('kubelet');
  await node.startProgram('kubelet');
}

async function untilPressure(target: WorldCluster, expected: 'True' | 'False'): Promise<void> {
  await eventually(`DiskPressure ${expected}`, async () => {
    const { status } = await target.client.get(NODES, { name: nodeOf(target).plan.name });
    return status?.conditions?.some((one) => one.type === 'DiskPressure' && one.status === expected) ?? false;
  }, TIMEOUT_MS);
}

const isOver = ({ status }: Pod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded';
/** A pod of the target's own on the same node: kubelet ends an evicted pod as its containers end. */
const isTwin = ({ metadata }: Pod): boolean => metadata.namespace === 'default' && metadata.name === 'twin';

describe('a node under disk pressure', () => {
  it('evicts as it does its own, replacements run in the other target, and the node is used again after', async () => {
    const [pressed, other] = world.targets;
    await typed('cordon', 'target-2');
    await deploy('tenant', 1);
    const [first] = labelled(await world.source.pods.until(
      'the first Ready', (all) => labelled(all, 'tenant').some(isReady), TIMEOUT_MS,
    ), 'tenant');
    await typed('uncordon', 'target-2');
    await pressed.client.create(PODS, {
      metadata: { name: 'twin', namespace: 'default' }, spec: { containers: [container(LASTING)] },
    } as unknown as Pod);
    await pressed.pods.until('the twin Ready', (all) => all.some((pod) => isTwin(pod) && isReady(pod)), TIMEOUT_MS);
    await demandFree(nodeOf(pressed), '99%');
    await untilPressure(pressed, 'True');
    const name = first?.metadata.name ?? '';
    const { status } = await untilPod(world, ELECTED, name, isOver);
    const twin = await pressed.pods.until('the twin over', (all) => all.some((pod) => isTwin(pod) && isOver(pod)));
    const native = twin.find(isTwin)?.status;
    assert.deepEqual([status?.phase, status?.reason], [native?.phase, native?.reason]);
    await world.source.pods.until(
      'the next Ready', (all) => labelled(all, 'tenant').some((pod) => isReady(pod) && pod.metadata.name !== name),
      TIMEOUT_MS,
    );
    assert.equal(nodesIn(other, 'tenant').length, 1, 'it runs in the other target');
    await demandFree(nodeOf(pressed), '1%');
    await untilPressure(pressed, 'False');
    await typed('cordon', 'target-2');
    await makePod(world, ELECTED, { name: 'after', spec: { containers: [container(LASTING)] } });
    await untilPod(world, ELECTED, 'after', isReady);
    await typed('uncordon', 'target-2');
    await remove('tenant');
  });
});

describe('kubectl top', () => {
  const folders: string[] = [];
  const servers: ComponentProcess[] = [];
  before(async () => {
    const program = await ensureMetricsServer(environment(), () => undefined, world.signal);
    for (const { cluster, client } of [world.source, ...world.targets]) {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-top-'));
      folders.push(folder);
      const { connection } =
        await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
      const certificateAuthority = connection.certificateAuthority ?? '';
      servers.push(await startMetricsServer({ program, cluster, client, certificateAuthority, folder }, world.signal));
    }
  });
  after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  });

  it('shows in the source what the kubelet of the target measures', async () => {
    const resources = { limits: { cpu: '200m', memory: '32Mi' } };
    await makePod(world, ELECTED, {
      name: 'busy',
      spec: { terminationGracePeriodSeconds: 1, containers: [container('while :; do :; done', { resources })] },
    });
    await untilPod(world, ELECTED, 'busy', isReady);
    const milliCores = await eventually('figures of the pod', async () => {
      const line = await kubectl('-n', ELECTED, 'top', 'pod', 'busy', '--no-headers').catch(() => '');
      const used = Number(/^busy\s+(\d+)m\s+\d+Mi\s*$/.exec(line)?.[1] ?? 0);
      return used > 100 && used;
    }, TIMEOUT_MS);
    assert.ok(milliCores <= 220, `${milliCores}m of the 200m that its limit allows`);
  });
});
