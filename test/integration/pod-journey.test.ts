// The main job end to end: elected pods of the source run as delegates in the targets, and both sides clean up after
// one another.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { Condition, KubernetesObject, Pod } from '../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, DELEGATE_FINALIZER, ELECT_ANNOTATION, PARENT_UID_LABEL, POD_GROUP_LABEL,
  POD_GROUP_MIN_COUNT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_TARGETS, DEPLOYMENTS, NAMESPACES, POD_CHAPERONS, PODS, SECRETS, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { adoptPods } from '../../cli/takeover/adopt.ts';
import { applyObjects } from '../../cli/clusters/apply-objects.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PROXY_POLICY_NAMES, proxyPolicyManifests } from '../../manifests/policies/proxy-policy.ts';
import { ChartInstallation } from '../support/worlds/chart-world.ts';
import { startIsthmus } from '../../sandbox/isthmus-in-sandbox.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { admiraltyChaperon, admiraltyProxy } from '../support/objects/admiralty-pods.ts';
import { eventually } from '../support/history/eventually.ts';
import { SpanCollector } from '../support/doubles/span-collector.ts';
import { refusedCalls } from '../support/history/refused-calls.ts';
import { WatchedCollection } from '../support/history/watched-collection.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster,
} from '../support/worlds/isthmus-world.ts';
import { assertNoDoubles, endWorld } from '../support/history/world-invariants.ts';

const MANAGER = 'isthmus-test';
/**
 * With `--chart` the world is installed by Helm, each component runs apart under its shipped identity, and no call may
 * be refused (`npm run soak -- chart`).
 */
const fromChart = process.argv.includes('--chart');
let world: IsthmusWorld;
let targets: WatchedCollection<ClusterTarget>;
let collector: SpanCollector;
/** Pods that were not ours from their beginning, and so without our finalizer. */
const forced = new Set<string>();

before(async () => {
  collector = await SpanCollector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  world = await startWorld({ nodes: 2, gpus: 2, audit: true }, (sandbox, signal) => (
    fromChart ? ChartInstallation.start(sandbox, signal, { env }) : startIsthmus(sandbox, signal, [], env)
  ));
  targets = await new WatchedCollection(world.source.client, CLUSTER_TARGETS).start(world.signal);
});
after(async () => {
  const calls = fromChart && world !== undefined
    ? await Promise.all(world.sandbox.clusters.map(({ auditLog }) => readFile(auditLog!, 'utf8')))
    : [];
  try {
    await endWorld(
      world, { forced, endsDelegates: true, aliases: { 'cluster-eu-west': 'target-1', 'no-secret': 'target-2' } },
    );
  } finally {
    await collector.stop();
  }
  assert.deepEqual(calls.flatMap(refusedCalls), []);
});

function electedPod(namespace: string, name: string, requests: Readonly<Record<string, string>> = {}): Pod {
  const limits = Object.fromEntries(Object.entries(requests).filter(([resource]) => resource.includes('/')));
  return {
    metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests, limits } }] },
  };
}

function scheduled(pod: Pod | undefined): Condition | undefined {
  return pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
}

/**
 * The delegates in each target, read from it: what was seen in the source may not have been seen in a watch of the
 * target yet.
 */
const delegatesByTarget = (namespace: string): Promise<Pod[][]> =>
  Promise.all(world.targets.map(({ client }) => client.list(PODS, { namespace })));
const delegatesIn = async (namespace: string): Promise<Pod[]> => (await delegatesByTarget(namespace)).flat();

/** An object of a target, the last one that has any, and the client to it. */
async function oneOf<T extends KubernetesObject>(
  type: ResourceType<T>, namespace: string,
): Promise<{ readonly client: ClusterClient; readonly object: T }> {
  const lists = await Promise.all(
    world.targets.map(async ({ client }) => ({ client, objects: await client.list(type, { namespace }) })),
  );
  const found = lists.toReversed().find(({ objects }) => objects.length > 0);
  if (found?.objects[0] === undefined) throw new Error(`no ${type.kind} in ${namespace} of any target`);
  return { client: found.client, object: found.objects[0] };
}

async function allGone(namespace: string): Promise<void> {
  const none = (objects: readonly KubernetesObject[]) => inNamespace(objects, namespace).length === 0;
  await Promise.all([
    world.source.pods.until(`no pods in ${namespace}`, none, 60_000),
    ...world.targets.map(({ pods }) => pods.until(`no delegates in ${namespace}`, none, 60_000)),
    ...world.targets.map(({ chaperons }) => chaperons.until(`no chaperons in ${namespace}`, none, 60_000)),
  ]);
}

async function applyExample(name: string): Promise<void> {
  const text = await readFile(new URL(`../../../docs/examples/${name}`, import.meta.url), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  await applyObjects(world.source.client, objects, MANAGER, { tell: () => undefined, signal: world.signal });
}

describe('the sample: a Namespace, a ClusterTarget and a Deployment, applied as they are', () => {
  before(async () => {
    const [first] = world.targets;
    await world.source.client.delete(CLUSTER_TARGETS, { name: 'target-1' });
    const data = { config: Buffer.from(first.cluster.kubeconfig).toString('base64') };
    await world.source.client.apply(
      SECRETS, { metadata: { namespace: 'isthmus-system', name: 'eu-west-kubeconfig' }, data } as KubernetesObject,
      MANAGER,
    );
    for (const { client } of world.targets) {
      await client.apply(NAMESPACES, { metadata: { name: 'production' } }, MANAGER);
    }
    await applyExample('target.yaml');
    // pods do not wait for a target that is still being connected to
    await targets.until('cluster-eu-west is Ready', (all) => all.some(
      ({ metadata, status }) => metadata.name === 'cluster-eu-west' && isReady(status),
    ));
    await applyExample('payment-api.yaml');
  });

  it('runs six pods, spread over both targets by free capacity, each with one real delegate', async () => {
    const pods = await world.source.pods.until(
      'six Running', (all) => inNamespace(all, 'production').filter(isRunning).length === 6,
    );
    const proxies = inNamespace(pods, 'production');
    assert.equal(proxies.length, 6);
    // With a process for each component the scheduler may know of the new target a moment later than who says that it
    // is Ready; pods do not wait for that.
    if (!fromChart) assert.deepEqual((await delegatesByTarget('production')).map(({ length }) => length), [3, 3]);
    const delegates = await delegatesIn('production');
    const parents = delegates.map(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL]);
    assert.deepEqual(new Set(parents), new Set(proxies.map(({ metadata }) => metadata.uid)));
    assert.ok(delegates.every(isRunning));
  });

  it('leaves a trace of each pod, from admission to Running, whose parts different components have told', async () => {
    for (const { metadata } of inNamespace(world.source.pods.objects, 'production').filter(isRunning)) {
      const rootIs = () => collector.spans.find(
        ({ name, attributes }) => name === 'elected pod' && attributes['k8s.pod.uid'] === metadata.uid,
      );
      const root = await pollUntil(() => Promise.resolve(rootIs()), { forMs: 60_000, everyMs: 100 }, world.signal);
      assert.equal(root?.attributes['isthmus.phase'], 'Running');
      const partsOf = () =>
        collector.spans.filter(({ traceId, name }) => traceId === root?.traceId && name !== 'elected pod');
      const kinds = () => new Set(partsOf().map(({ name }) => name));
      await pollUntil(
        () => Promise.resolve(kinds().size >= 3 ? true : undefined), { forMs: 60_000, everyMs: 100 }, world.signal,
      );
      const parts = partsOf();
      assert.deepEqual(new Set(parts.map(({ name }) => name)), new Set(['admit', 'schedule', 'candidate']));
      assert.ok(parts.every(
        ({ parentSpanId, startTimeUnixNano }) =>
          parentSpanId === root?.spanId && BigInt(startTimeUnixNano) >= BigInt(root.startTimeUnixNano),
      ));
    }
  });

  it('deletes the proxy when the chaperon is deleted in the target, and its ReplicaSet makes another', async () => {
    const { client, object: chaperon } = await oneOf(POD_CHAPERONS, 'production');
    const uid = chaperon?.metadata.labels?.[PARENT_UID_LABEL];
    await client.delete(POD_CHAPERONS, { namespace: 'production', name: chaperon?.metadata.name ?? '' });
    const replaced = (all: Pod[]) => {
      const proxies = inNamespace(all, 'production');
      return proxies.length === 6 && proxies.every((pod) => isRunning(pod) && pod.metadata.uid !== uid);
    };
    await world.source.pods.until('the proxy was replaced', replaced);
    assert.ok(!(await delegatesIn('production')).some(
      ({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === uid && metadata.deletionTimestamp === undefined,
    ));
  });

  it('deletes the proxy when the delegate is deleted in the target', async () => {
    const { client, object: delegate } = await oneOf(PODS, 'production');
    const uid = delegate?.metadata.labels?.[PARENT_UID_LABEL];
    await client.delete(PODS, { namespace: 'production', name: delegate?.metadata.name ?? '' });
    await world.source.pods.until('the proxy was replaced', (all) => {
      const proxies = inNamespace(all, 'production');
      return proxies.length === 6 && proxies.every((pod) => isRunning(pod) && pod.metadata.uid !== uid);
    });
  });

  it('leaves nothing behind after scaling to 0', async () => {
    await world.source.client.patch(DEPLOYMENTS, { namespace: 'production', name: 'payment-api' }, {
      patchType: 'merge', patch: { spec: { replicas: 0 } },
    });
    await allGone('production');
    assert.ok(!world.source.pods.objects.some(({ metadata }) => metadata.finalizers?.includes(DELEGATE_FINALIZER)));
  });
});

describe('pods that are none of our business', () => {
  const plain = (namespace: string, annotations?: Record<string, string>): Pod => ({
    ...electedPod(namespace, 'plain'),
    metadata: { namespace, name: 'plain', ...(annotations && { annotations }) },
  });
  /** What the API server makes of a pod apart from identity and times. */
  const asStored = ({ metadata, spec }: Pod) => ({
    annotations: metadata.annotations, labels: metadata.labels, finalizers: metadata.finalizers, spec: comparable(spec),
  });
  // The token volume has a random name; node and tolerations do not differ before scheduling.
  const comparable = (spec: Pod['spec']) =>
    JSON.parse(JSON.stringify(spec).replaceAll(/kube-api-access-\w+/g, 'kube-api-access')) as Pod['spec'];

  before(async () => {
    await makeNamespace(world, 'mixed');
    for (const { client } of [world.source, world.targets[0]]) {
      await client.apply(NAMESPACES, { metadata: { name: 'unlabelled' } }, MANAGER);
    }
  });

  for (const { name, pod } of [
    { name: 'a pod without the annotation in a labelled namespace', pod: plain('mixed') },
    { name: 'an annotated pod in a namespace without the label', pod: plain('unlabelled', { [ELECT_ANNOTATION]: '' }) },
  ]) {
    it(`stores ${name} exactly as a cluster without Isthmus does`, async () => {
      const withUs = await world.source.client.create<Pod>(PODS, pod);
      const without = await world.targets[0].client.create<Pod>(PODS, pod);
      assert.deepEqual(asStored(withUs), asStored(without));
      assert.equal(withUs.metadata.annotations?.[SOURCE_MANIFEST_ANNOTATION], undefined);
    });
  }
});

describe('GPU pods', () => {
  // Each target has two nodes with two GPUs each.
  const gpus = (count: number) => ({ 'nvidia.com/gpu': String(count), cpu: '1' });
  const running = (...names: string[]) => (all: Pod[]) =>
    names.every((name) => all.some(({ metadata, status }) => metadata.name === name && status?.phase === 'Running'));

  before(() => makeNamespace(world, 'gpu'));

  it('go where GPUs are free, and wait with a reason for each target where none are', async () => {
    for (const name of ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4']) {
      await world.source.client.create(PODS, electedPod('gpu', name, gpus(2)));
    }
    await world.source.pods.until('four GPU pods run', running('gpu-1', 'gpu-2', 'gpu-3', 'gpu-4'));
    assert.deepEqual((await delegatesByTarget('gpu')).map(({ length }) => length), [2, 2]);

    await world.source.client.create(PODS, electedPod('gpu', 'gpu-5', gpus(2)));
    const all = await world.source.pods.until('gpu-5 has a reason', (pods) => pods.some(
      (pod) => pod.metadata.name === 'gpu-5' && scheduled(pod)?.status === 'False',
    ));
    const pod = all.find(({ metadata }) => metadata.name === 'gpu-5');
    assert.equal(pod?.status?.phase, 'Pending');
    assert.equal(scheduled(pod)?.reason, 'Unschedulable');
    const message = scheduled(pod)?.message ?? '';
    for (const target of ['ClusterTarget/cluster-eu-west', 'ClusterTarget/target-2']) {
      assert.ok(message.includes(`${target}: InsufficientResources: no node has 2 nvidia.com/gpu free`), message);
    }
  });

  it('start by themselves when room appears', async () => {
    await world.source.client.delete(PODS, { namespace: 'gpu', name: 'gpu-2' });
    await world.source.pods.until('gpu-5 runs', running('gpu-5'));
  });

  it('of one group are placed all or none', async () => {
    const member = (name: string): Pod => {
      const { metadata, spec } = electedPod('gpu', name, gpus(2));
      const annotations = { ...metadata.annotations, [POD_GROUP_MIN_COUNT_ANNOTATION]: '2' };
      return { metadata: { ...metadata, labels: { [POD_GROUP_LABEL]: 'train' }, annotations }, spec };
    };
    const saysOf = (name: string, reason: string) => world.source.pods.until(`${name}: ${reason}`, (pods) => (
      pods.some((pod) => pod.metadata.name === name && (scheduled(pod)?.message?.includes(reason) ?? false))
    ));
    await world.source.client.create(PODS, member('train-1'));
    await saysOf('train-1', 'GroupIncomplete: fewer than 2 of its pods exist');
    await world.source.client.delete(PODS, { namespace: 'gpu', name: 'gpu-1' });
    await world.source.pods.until('gpu-1 is gone', (pods) => !pods.some(({ metadata }) => metadata.name === 'gpu-1'));
    await world.source.client.create(PODS, member('train-2'));
    await saysOf('train-2', 'GroupDoesNotFit: 2 of its pods');
    const uids = inNamespace(world.source.pods.objects, 'gpu').flatMap(
      ({ metadata }) => (metadata.name?.startsWith('train-') ? [metadata.uid] : []),
    );
    assert.ok(
      !(await delegatesIn('gpu')).some(({ metadata }) => uids.includes(metadata.labels?.[PARENT_UID_LABEL])),
      'though one of them would fit',
    );
    await world.source.client.delete(PODS, { namespace: 'gpu', name: 'gpu-3' });
    await world.source.pods.until('both run', running('train-1', 'train-2'));
  });

  it('do not fit where the sum is free but no single node has it', async () => {
    await world.source.client.create(PODS, electedPod('gpu', 'gpu-wide', gpus(3)));
    const all = await world.source.pods.until('gpu-wide has a reason', (pods) => pods.some(
      (pod) => pod.metadata.name === 'gpu-wide' && scheduled(pod)?.status === 'False',
    ));
    assert.equal(all.find(({ metadata }) => metadata.name === 'gpu-wide')?.spec.nodeName, undefined);
  });

  it('leave nothing behind', async () => {
    await Promise.all(inNamespace(world.source.pods.objects, 'gpu').map(
      ({ metadata }) => world.source.client.delete(PODS, { namespace: 'gpu', name: metadata.name ?? '' }),
    ));
    await allGone('gpu');
  });
});

describe('a target that cannot be used', () => {
  const unreachable =
    'apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]\nusers: [{name: ' +
      'u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n';
  const cases = [
    { name: 'no-secret', config: undefined, reason: 'SecretMissing' },
    { name: 'malformed', config: '{{{', reason: 'KubeconfigInvalid' },
    {
      name: 'with-exec',
      config:
        unreachable.replace(
          'token: t',
          'exec: {command: /bin/true, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}',
        ),
      reason: 'KubeconfigRefused',
    },
    { name: 'nowhere', config: unreachable, reason: 'Unreachable' },
  ];

  before(async () => {
    await makeNamespace(world, 'sturdy');
    for (const { name, config } of cases) {
      const data = { config: Buffer.from(config ?? '').toString('base64') };
      const metadata = { namespace: 'isthmus-system', name: `${name}-kubeconfig` };
      if (config !== undefined) {
        await world.source.client.apply(SECRETS, { metadata, data } as KubernetesObject, MANAGER);
      }
      await world.source.client.apply(
        CLUSTER_TARGETS, { metadata: { name }, spec: { kubeconfigSecret: { name: metadata.name } } } as ClusterTarget,
        MANAGER,
      );
    }
  });
  after(() => Promise.all(
    cases.map(({ name }) => world.source.client.delete(CLUSTER_TARGETS, { name }).catch(() => undefined)),
  ));

  for (const { name, reason } of cases) {
    it(`says ${reason} in the status of ${name}`, async () => {
      await targets.until(`${name}: ${reason}`, (all) => {
        const status = all.find(({ metadata }) => metadata.name === name)?.status;
        return status?.conditions?.some(
          (condition) => condition.type === 'Ready' && condition.status === 'False' && condition.reason === reason,
        ) ?? false;
      });
    });
  }

  it('does not disturb the others', async () => {
    await world.source.client.create(PODS, electedPod('sturdy', 'one'));
    await world.source.pods.until('the pod runs', (all) => inNamespace(all, 'sturdy').some(isRunning));
    await world.source.client.delete(PODS, { namespace: 'sturdy', name: 'one' });
    await allGone('sturdy');
  });

  it('says so when it is the source, or a second name for a cluster; works when it is neither', async () => {
    const saysOf = (name: string, reason: string) => targets.until(`${name}: ${reason}`, (all) => (
      all.find(({ metadata }) => metadata.name === name)?.status?.conditions
        ?.some((condition) => condition.type === 'Ready' && condition.reason === reason) ?? false
    ));
    await giveSecret('no-secret', world.source);
    await saysOf('no-secret', 'LoopToSource');
    await giveSecret('no-secret', world.targets[1]);
    await saysOf('no-secret', 'DuplicateCluster');
    const { spec } = await world.source.client.get<ClusterTarget>(CLUSTER_TARGETS, { name: 'target-2' });
    await world.source.client.delete(CLUSTER_TARGETS, { name: 'target-2' });
    await saysOf('no-secret', 'Ready');
    await world.source.client.apply(
      CLUSTER_TARGETS, { metadata: { name: 'target-2' }, spec } as ClusterTarget, MANAGER,
    );
    await saysOf('target-2', 'DuplicateCluster');
    await giveSecret('no-secret', world.source); // its cluster is free again
    await saysOf('target-2', 'Ready');
    await world.source.client.delete(CLUSTER_TARGETS, { name: 'no-secret' });
  });
});

async function giveSecret(name: string, { cluster }: WorldCluster): Promise<void> {
  const data = { config: Buffer.from(cluster.kubeconfig).toString('base64') };
  await world.source.client.apply(
    SECRETS, { metadata: { namespace: 'isthmus-system', name: `${name}-kubeconfig` }, data } as KubernetesObject,
    MANAGER,
  );
}

describe('a namespace that a target lacks', () => {
  it('is a reason of that target that names the remedy, and the pod starts once it exists', async () => {
    await world.source.client.apply(
      NAMESPACES, { metadata: { name: 'lonely', labels: { 'multicluster-scheduler': 'enabled' } } }, MANAGER,
    );
    await world.source.client.create(PODS, electedPod('lonely', 'one'));
    const hasReason = (pod: Pod) => scheduled(pod)?.message?.includes(
      'NamespaceMissing: namespace lonely does not exist there; create it in the target cluster',
    ) ?? false;
    await world.source.pods.until('the reason is told', (all) => inNamespace(all, 'lonely').some(hasReason));
    await world.targets[0].client.apply(NAMESPACES, { metadata: { name: 'lonely' } }, MANAGER);
    await world.source.pods.until('the pod runs', (all) => inNamespace(all, 'lonely').some(isRunning), 60_000);
    await world.source.client.delete(PODS, { namespace: 'lonely', name: 'one' });
    await allGone('lonely');
  });
});

describe('pods that Admiralty 0.17 left running', () => {
  const at = { namespace: 'legacy', name: 'web' };
  const CHAPERON = { namespace: 'legacy', name: 'web-x7k2p' };

  /** A pod as it was made before Isthmus was installed: the policies of proxy pods are away meanwhile. */
  async function createdBefore(pod: Pod): Promise<Pod> {
    const { client } = world.source;
    const binding = proxyPolicyManifests(DEFAULT_INSTALL_NAMESPACE).filter(
      ({ kind }) => kind === VALIDATING_ADMISSION_POLICY_BINDINGS.kind,
    );
    for (const name of PROXY_POLICY_NAMES) await client.delete(VALIDATING_ADMISSION_POLICY_BINDINGS, { name });
    const created =
      await eventually('the API server has seen that the policy is away', () => client.create<Pod>(PODS, pod));
    await applyObjects(client, binding, MANAGER, { tell: () => undefined, signal: world.signal });
    return created;
  }

  it('are left alone, and once they are adopted they show their status, run on, and go with their proxies',
    async () => {
    const [{ client: target, pods }] = world.targets;
    await Promise.all([world.source.client, target].map(
      (client) => client.apply(NAMESPACES, { metadata: { name: at.namespace } }, MANAGER),
    ));
    const nodeName = virtualNodeName({ kind: 'ClusterTarget', name: 'cluster-eu-west' });
    const proxy = await createdBefore(
      admiraltyProxy({ ...at, nodeName, finalizers: ['multicluster.admiralty.io/cluster-eu-west'] }),
    );
    forced.add(proxy.metadata.uid ?? '');
    await target.create(POD_CHAPERONS, admiraltyChaperon(proxy, 'hub'));
    await pods.until('its delegate is there', (all) => inNamespace(all, at.namespace).length === 1);
    const [delegate] = inNamespace(
      await pods.until('its delegate runs', (all) => inNamespace(all, at.namespace).some(isRunning)), at.namespace,
    );
    const before = await world.source.client.get<Pod>(PODS, at);
    assert.deepEqual([before.metadata.uid, before.metadata.finalizers, before.status?.phase], [
      proxy.metadata.uid, proxy.metadata.finalizers, 'Pending',
    ]);

    const lines: string[] = [];
    await adoptPods(
      { source: world.source.client, inTarget: target, target: { kind: 'ClusterTarget', name: 'cluster-eu-west' } },
      { tell: (line) => lines.push(line), signal: world.signal },
    );
    assert.deepEqual(lines, ['took over legacy/web']);
    await world.source.pods.until('the proxy shows Running', (all) => inNamespace(all, at.namespace).some(
      (pod) => pod.metadata.uid === proxy.metadata.uid && isRunning(pod),
    ));
    assert.equal((await target.get<Pod>(PODS, CHAPERON)).metadata.uid, delegate?.metadata.uid);
    await world.source.client.delete(PODS, at);
    await allGone(at.namespace);
  });
});

describe('a source process that is started again', () => {
  it('ends when it is asked to, and its successor places pods with what the targets said long before',
    { timeout: 90_000 }, async () => {
    const processes = [...world.isthmus.processes].filter(([name]) => name === 'source' || name.startsWith('source/'));
    assert.ok(processes.length > 0);
    await Promise.all(processes.map(([, process]) => process.stop()));
    for (const [name, process] of processes) {
      assert.deepEqual([name, await process.exited], [name, { code: 0, signal: null }]);
    }
    await world.isthmus.restart('source');
    await makeNamespace(world, 'successor');
    const create = () => world.source.client.create(PODS, electedPod('successor', 'pod')).catch(onlyUntilAdmitted);
    assert.ok(await pollUntil(create, { forMs: 60_000, everyMs: 100 }, world.signal), 'the webhook answers again');
    await world.source.pods.until('the pod runs', (all) => inNamespace(all, 'successor').some(isRunning), 60_000);
    await world.source.client.delete(PODS, { namespace: 'successor', name: 'pod' });
    await allGone('successor');
  });
});

/** Until the webhook serves, the API server refuses elected pods with an internal error. */
function onlyUntilAdmitted(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.status < 500) throw error;
}

describe('a burst of 200 elected pods', () => {
  before(() => makeNamespace(world, 'burst'));

  it('all run, with exactly 200 delegates at the end and never two for one pod', async (t) => {
    const names = Array.from({ length: 200 }, (_, index) => `pod-${index}`);
    await Promise.all(
      names.map((name) => world.source.client.create(PODS, electedPod('burst', name, { cpu: '100m' }))),
    );
    await world.source.pods.until(
      '200 Running', (all) => inNamespace(all, 'burst').filter(isRunning).length === 200, 90_000,
    );
    assert.equal((await delegatesIn('burst')).length, 200);
    const followed = await Promise.all(world.targets.map(({ pods }) => pods.caughtUp()));
    const created = followed.flatMap(
      (pods) => pods.history.flatMap(({ after: pod }) => (pod?.metadata.namespace === 'burst' ? [pod] : [])),
    );
    const everMade = new Set(created.map(({ metadata }) => `${metadata.labels?.[PARENT_UID_LABEL]} ${metadata.uid}`));
    // A candidate that its target has no room for any more is given up, and another target is asked: one at a time.
    t.diagnostic(`${everMade.size} delegates were made`);
    await assertNoDoubles(world);
  });

  it('leaves nothing behind', async () => {
    await Promise.all(inNamespace(world.source.pods.objects, 'burst').map(
      ({ metadata }) => world.source.client.delete(PODS, { namespace: 'burst', name: metadata.name ?? '' }),
    ));
    await allGone('burst');
  });
});

function isReady(status: ClusterTarget['status']): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
