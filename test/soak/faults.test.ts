// `npm run test:faults`: rows of the table of faults (docs/results/faults.md) on real control planes: API servers are killed, processes stopped, the
// network cut by a relay in front of each target. Each test is one row by its number, prints how long the recovery took, and is held to the
// row's limit; at the end the merged history of all clusters holds the invariants of design §10.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterTarget } from '../../api/cluster-target.ts';
import type { KubernetesObject, Pod } from '../../api/core.ts';
import { CLUSTER_TARGET_NAME_LABEL, DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PARENT_UID_LABEL, PROXY_CONSTRAINTS_ANNOTATION } from '../../api/keys.ts';
import { CLUSTER_TARGETS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, NODES, PODS, SECRETS, type ResourceType } from '../../api/resource-types.ts';
import { installInto } from '../../cli/install.ts';
import { findCondition } from '../../model/conditions.ts';
import { virtualNodeName } from '../../model/names.ts';
import { startComponent } from '../../sandbox/component-process.ts';
import { eventually } from '../support/eventually.ts';
import { faultyPathTo, secretOf, type FaultyPath } from '../support/faulty-network.ts';
import { HookedProcess } from '../support/hooked-process.ts';
import { isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster } from '../support/isthmus-world.ts';
import { WatchedCollection } from '../support/watched-collection.ts';
import { assertInvariants } from '../support/world-invariants.ts';

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false } as const;
const CLUSTER_ROLE_BINDINGS: ResourceType = { ...RBAC, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' };
const QUOTAS: ResourceType = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true };
const POLICY = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
const POLICIES: ResourceType = { ...POLICY, plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy' };
const POLICY_BINDINGS: ResourceType = { ...POLICY, plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' };

const NAMESPACE = 'faults';
const PATIENCE_MS = 120_000;
/** Longer than any watch needs to notice silence. */
const LONG_CUT_MS = 60_000;

let world: IsthmusWorld;
let paths: ReadonlyMap<WorldCluster, FaultyPath>;
let processes: ReadonlyMap<WorldCluster, HookedProcess>;
let clusterTargets: WatchedCollection<ClusterTarget>;
const outages: { from: number; until: number }[] = [];
const forced = new Set<string>();

before(async () => {
  world = await startWorld({ nodes: 1, audit: true });
  await makeNamespace(world, NAMESPACE);
  processes = new Map([world.source, ...world.targets].map((cluster) => [cluster, new HookedProcess(world, cluster)]));
  paths = new Map(await Promise.all(world.targets.map(async (target) => [target, await faultyPathTo(world, target)] as const)));
  clusterTargets = await new WatchedCollection<ClusterTarget>(world.source.client, CLUSTER_TARGETS).start(world.signal);
  for (const target of world.targets) await readyIs(target, 'True');
});
after(async () => {
  try {
    if (world !== undefined) assertInvariants(world, { outages, forced });
  } finally {
    for (const process of processes?.values() ?? []) await process.stop();
    for (const path of paths?.values() ?? []) await path.stop();
    await world?.stop();
  }
});

interface Pair {
  readonly proxy: Pod;
  readonly delegate: Pod;
}

const at = ({ metadata: { namespace, name = '' } }: Pod) => ({ namespace, name });
const first = (): WorldCluster => world.targets[0];
const second = (): WorldCluster => world.targets[1];

function aPod(name: string, home?: WorldCluster, change: Partial<Pod['spec']> = {}, namespace = NAMESPACE): Pod {
  const constraints = home && { [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: home.cluster.name } }) };
  return { metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '', ...constraints } }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'example/main:1' }], ...change } };
}

async function proxyIs(pod: Pod, what: string, holds: (pod: Pod | undefined) => boolean, ms = PATIENCE_MS): Promise<Pod | undefined> {
  const find = (all: readonly Pod[]) => all.find(({ metadata }) => metadata.namespace === pod.metadata.namespace && metadata.name === pod.metadata.name);
  return find(await world.source.pods.until(`${pod.metadata.name} is ${what}`, (all) => holds(find(all)), ms));
}

const delegatesOf = ({ metadata: { uid } }: Pod) => world.targets.flatMap(({ pods }) => pods.objects.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === uid));

async function run(name: string, home?: WorldCluster, change: Partial<Pod['spec']> = {}): Promise<Pair> {
  const pod = aPod(name, home, change);
  await eventually('the webhook', () => world.source.client.create(PODS, pod));
  const proxy = (await proxyIs(pod, 'Running', (it) => it !== undefined && isRunning(it)))!;
  return { proxy, delegate: delegatesOf(proxy)[0]! };
}

/** How many pods there ever were for a proxy, over all targets. */
function everMade({ metadata: { uid } }: Pod): number {
  const versions = world.targets.flatMap(({ pods }) => pods.history.flatMap(({ after: pod }) => (pod?.metadata.labels?.[PARENT_UID_LABEL] === uid ? [pod?.metadata.uid] : [])));
  return new Set(versions).size;
}

async function readyIs({ cluster }: WorldCluster, status: 'True' | 'False', reason?: string): Promise<void> {
  const isSo = ({ metadata, status: has }: ClusterTarget) => {
    const ready = findCondition(has?.conditions, 'Ready');
    return metadata.name === cluster.name && ready?.status === status && (reason === undefined || ready.reason === reason);
  };
  await clusterTargets.until(`${cluster.name} is Ready=${status} ${reason ?? ''}`, (all) => all.some(isSo), PATIENCE_MS);
}

/** A change in the target reaches the proxy. */
async function mirrors(home: WorldCluster, { proxy, delegate }: Pair, restartCount: number): Promise<void> {
  const [main] = delegate.status?.containerStatuses ?? [];
  const patch = { status: { containerStatuses: [{ ...main, restartCount }] } };
  await eventually('the target', () => home.client.patch(PODS, { ...at(delegate), subresource: 'status' }, { patchType: 'strategic', patch }));
  await proxyIs(proxy, 'restarted', (it) => JSON.stringify(it?.status?.containerStatuses ?? []).includes(`"restartCount":${restartCount}`));
}

/** Tells how long something took, and fails when that is more than the row allows. */
async function within(row: string, seconds: number, act: () => Promise<unknown>): Promise<void> {
  const from = performance.now();
  await act();
  const took = Math.round((performance.now() - from) / 100) / 10;
  process.stdout.write(`${JSON.stringify({ row, seconds: took, limit: seconds })}\n`);
  assert.ok(took <= seconds, `${row}: took ${took} s`);
}

async function during(act: () => Promise<void>): Promise<void> {
  const outage = { from: performance.now(), until: Infinity };
  outages.push(outage);
  try {
    await act();
  } finally {
    outage.until = performance.now() + 60_000; // watches of the test itself come back later than the server
  }
}

async function assertSame({ proxy, delegate }: Pair): Promise<void> {
  const now = await proxyIs(proxy, 'there', (it) => it !== undefined);
  assert.equal(now?.metadata.uid, proxy.metadata.uid);
  assert.equal(now?.status?.phase, 'Running');
  assert.deepEqual(delegatesOf(proxy).map(({ metadata }) => metadata.uid), [delegate.metadata.uid]);
  assert.equal(everMade(proxy), 1);
}

async function goneEverywhere(pod: Pod): Promise<void> {
  await proxyIs(pod, 'gone', (it) => it === undefined);
  const isOf = ({ metadata }: KubernetesObject) => metadata.namespace === NAMESPACE && metadata.name?.startsWith(`${pod.metadata.name}-`) === true;
  await Promise.all(world.targets.flatMap(({ pods, chaperons }) => [pods.until('no delegate', (all) => !all.some(isOf), PATIENCE_MS), chaperons.until('no chaperon', (all) => !all.some(isOf), PATIENCE_MS)]));
}

describe('a cluster that is away', () => {
  it('1: an API server of a target that is killed for 10 s costs nothing', () => during(async () => {
    const pair = await run('row-1', first());
    await first().cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await sleep(10_000);
    await first().cluster.startComponent('kube-apiserver');
    await within('1', 15, () => mirrors(first(), pair, 1));
    await assertSame(pair);
  }));

  it('2, 3, 10: a target that swallows all is noticed; what runs there stays, new pods go elsewhere, nothing runs twice', () => during(async () => {
    const pair = await run('row-3', first());
    paths.get(first())!.cut();
    await within('3: noticed', 45, () => readyIs(first(), 'False', 'Unreachable'));
    await within('2: a new pod elsewhere', 30, () => run('row-3-new').then(({ delegate }) => assert.ok(second().pods.objects.some(({ metadata }) => metadata.uid === delegate.metadata.uid))));
    await sleep(LONG_CUT_MS);
    await assertSame(pair);
    paths.get(first())!.heal();
    await within('3: recovered', 60, () => mirrors(first(), pair, 1));
    await assertSame(pair);
  }));

  it('5: a source API server that is killed and starts again costs nothing', () => during(async () => {
    const pair = await run('row-5', first());
    await world.source.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await world.source.cluster.startComponent('kube-apiserver');
    await within('5', 20, () => mirrors(first(), pair, 1));
    await assertSame(pair);
  }));

  it('6: both that are down, the target first back', () => during(async () => {
    const pair = await run('row-6', first());
    await world.source.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await first().cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await first().cluster.startComponent('kube-apiserver');
    await sleep(5_000);
    await world.source.cluster.startComponent('kube-apiserver');
    await within('6', 60, async () => {
      await mirrors(first(), pair, 1);
      await run('row-6-new', first());
    });
    await assertSame(pair);
  }));
});

describe('a partition between source and target', () => {
  const cutFor = (act: () => Promise<void>) => during(async () => {
    paths.get(first())!.cut();
    try {
      await readyIs(first(), 'False', 'Unreachable');
      await act();
    } finally {
      paths.get(first())!.heal();
    }
  });

  it('7: an end in the meantime arrives after it, and the pod is not run again', async () => {
    const pair = await run('row-7', first(), { restartPolicy: 'Never' });
    await cutFor(async () => void (await first().client.patch(PODS, { ...at(pair.delegate), subresource: 'status' }, { patchType: 'merge', patch: { status: { phase: 'Succeeded' } } })));
    await within('7', 60, () => proxyIs(pair.proxy, 'Succeeded', (it) => it?.status?.phase === 'Succeeded'));
    assert.equal(everMade(pair.proxy), 1);
  });

  it('8: a proxy that is deleted in the meantime stays until its delegate has gone', async () => {
    const pair = await run('row-8', first());
    await cutFor(async () => {
      await world.source.client.delete(PODS, at(pair.proxy));
      await sleep(5_000);
      assert.ok(world.source.pods.get(`${NAMESPACE}/row-8`) !== undefined, 'the proxy stays');
    });
    await within('8', 30, () => goneEverywhere(pair.proxy));
  });

  it('9: the delegate of a proxy that is taken away by force is swept', async () => {
    const pair = await run('row-9', first());
    await cutFor(async () => {
      forced.add(pair.proxy.metadata.uid ?? '');
      await world.source.client.delete(PODS, at(pair.proxy), { gracePeriodSeconds: 0 });
      await world.source.client.patch(PODS, at(pair.proxy), { patchType: 'merge', patch: { metadata: { finalizers: null } } });
      await proxyIs(pair.proxy, 'gone', (it) => it === undefined);
    });
    await within('9', 60, () => goneEverywhere(pair.proxy));
  });
});

describe('controllers', () => {
  it('12: a leader that is stopped and goes on after another one took over writes nothing', () => during(async () => {
    const GATE = 'example.com/not-yet';
    const pods = Array.from({ length: 5 }, (_, index) => aPod(`row-12-${index}`, undefined, { schedulingGates: [{ name: GATE }] }));
    for (const pod of pods) await eventually('the webhook', () => world.source.client.create(PODS, pod));
    const old = processes.get(world.source)!;
    const [program, command] = old.current.spec.command;
    const standby = await startComponent({
      ...old.current.spec, name: 'standby', logPath: `${world.source.cluster.directory}/standby.log`,
      command: [program, command!, 'run', '--kubeconfig', world.source.cluster.kubeconfigPath, '--components', 'scheduler,delegate-controller,virtual-node', '--no-target'],
    });
    try {
      await sleep(25_000); // it follows by then; it says nothing until it leads
      old.current.pause();
      for (const pod of pods) await world.source.client.patch(PODS, at(pod), { patchType: 'merge', patch: { spec: { schedulingGates: null } } });
      await within('12: another one leads', 30, () => Promise.all(pods.map((pod) => proxyIs(pod, 'Running', (it) => it !== undefined && isRunning(it)))));
      old.current.resume();
      await within('12: the old one ends', 30, () => old.current.exited);
      for (const pod of pods) assert.equal(everMade(world.source.pods.get(`${NAMESPACE}/${pod.metadata.name}`)!), 1);
    } finally {
      old.current.resume();
      await standby.stop();
      await old.restart();
    }
  }));

  it('49: a proxy that is deleted before its delegate is made leaves nothing', () => during(async () => {
    const pod = aPod('row-49', first());
    await processes.get(first())!.stop();
    try {
      await eventually('the webhook', () => world.source.client.create(PODS, pod));
      await first().chaperons.until('its chaperon', (all) => all.some(({ metadata }) => metadata.name?.startsWith('row-49-')), 60_000);
      await world.source.client.delete(PODS, at(pod));
    } finally {
      await processes.get(first())!.restart();
    }
    await readyIs(first(), 'True');
    await within('49', 10, () => goneEverywhere(pod));
    assert.ok(!first().pods.history.some(({ key }) => key.startsWith(`${NAMESPACE}/row-49-`)), 'a delegate was made');
  }));
});

describe('what an administrator does', () => {
  it('30: rights that are revoked in the target', () => during(async () => {
    const pair = await run('row-30', first());
    await processes.get(first())!.stop(); // it would give them back at once
    const bindings = (await first().client.list(CLUSTER_ROLE_BINDINGS)) as (KubernetesObject & { readonly subjects?: readonly { readonly namespace?: string; readonly name: string }[] })[];
    const ours = bindings.filter(({ metadata, subjects = [] }) => !metadata.name?.startsWith('system:') && subjects.some(({ namespace, name }) => namespace === DEFAULT_INSTALL_NAMESPACE && !name.startsWith('isthmus')));
    for (const { metadata: { name = '' } } of ours) await first().client.delete(CLUSTER_ROLE_BINDINGS, { name });
    paths.get(first())!.heal(); // watches that are open go on without rights: they end here
    await readyIs(first(), 'False', 'Forbidden');
    await sleep(10_000);
    const before = await deniedRequests(first());
    await sleep(60_000);
    const tries = (await deniedRequests(first())) - before;
    process.stdout.write(`${JSON.stringify({ row: '30: denied requests in 60 s', tries })}\n`);
    await assertSame(pair);
    await processes.get(first())!.restart();
    await within('30', 30, () => readyIs(first(), 'True'));
    await assertSame(pair);
  }));

  it('41: a target whose kubeconfig leads to another cluster is refused, and nothing there is adopted', () => during(async () => {
    const pair = await run('row-41', first());
    const where = await secretOf(world.source.client, first().cluster.name);
    const [own, other] = await Promise.all([world.source.client.get(SECRETS, where), world.source.client.get(SECRETS, await secretOf(world.source.client, second().cluster.name))]);
    const use = (data: unknown) => world.source.client.patch(SECRETS, where, { patchType: 'merge', patch: { data } });
    try {
      await use(other.data);
      await within('41: refused', 45, () => readyIs(first(), 'False'));
      await assertSame(pair);
    } finally {
      await use(own.data);
    }
    await within('41: back', 60, () => readyIs(first(), 'True'));
    await assertSame(pair);
  }));

  it('42: a virtual node that is deleted is made again, and its proxies stay', async () => {
    const pair = await run('row-42', first());
    const name = virtualNodeName({ kind: 'ClusterTarget', name: first().cluster.name });
    const { metadata: { uid } } = await world.source.client.get(NODES, { name });
    await world.source.client.delete(NODES, { name });
    await within('42', 20, () => eventually('the node', async () => (await world.source.client.get(NODES, { name })).metadata.uid !== uid));
    await sleep(50_000); // pod garbage collection takes those of nodes that are missing for 40 s
    await assertSame(pair);
  });

  it('46: a namespace that is missing, and a quota that is used up: the reason is told, another target is tried', async () => {
    const namespace = 'faults-half';
    await world.source.client.apply(NAMESPACES, { metadata: { name: namespace, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } }, 'isthmus-test');
    await second().client.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
    const says = (text: string) => (it: Pod | undefined) => findCondition(it?.status?.conditions, 'PodScheduled')?.message?.includes(text) === true;
    const fixed = aPod('row-46', first(), {}, namespace);
    await world.source.client.create(PODS, fixed);
    await within('46: missing namespace', 10, () => proxyIs(fixed, 'told', says('NamespaceMissing')));
    const free = aPod('row-46-free', undefined, {}, namespace);
    await world.source.client.create(PODS, free);
    await within('46: another target', 10, () => proxyIs(free, 'Running', (it) => it !== undefined && isRunning(it)));
    await first().client.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
    await first().client.create(QUOTAS, { metadata: { namespace, name: 'none' }, spec: { hard: { pods: '0' } } } as KubernetesObject);
    const over = aPod('row-46-quota', first(), {}, namespace);
    await world.source.client.create(PODS, over);
    await within('46: quota', 10, () => proxyIs(over, 'told', says('exceeded quota')));
    for (const pod of [fixed, free, over]) await world.source.client.delete(PODS, at(pod));
    for (const pod of [fixed, free, over]) await proxyIs(pod, 'gone', (it) => it === undefined);
  });

  it('47: a target whose admission rejects the delegate: its words are on the proxy', async () => {
    const name = 'faults-row-47';
    const spec = {
      failurePolicy: 'Fail', matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
      validations: [{ expression: "!object.metadata.name.startsWith('row-47-')", message: 'not in this house' }],
    };
    await first().client.apply(POLICIES, { metadata: { name }, spec } as KubernetesObject, 'isthmus-test');
    await first().client.apply(POLICY_BINDINGS, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } } as KubernetesObject, 'isthmus-test');
    const probe = { metadata: { namespace: NAMESPACE, name: 'row-47-probe' }, spec: { containers: [{ name: 'main', image: 'x' }] } };
    await eventually('the policy', async () => {
      const isRefused = await first().client.create(PODS, probe).then(() => false, () => true);
      if (!isRefused) await first().client.delete(PODS, { namespace: NAMESPACE, name: 'row-47-probe' });
      return isRefused;
    });
    const pod = aPod('row-47', first());
    await world.source.client.create(PODS, pod);
    await within('47', 30, () => proxyIs(pod, 'told', (it) => findCondition(it?.status?.conditions, 'PodScheduled')?.message?.includes('not in this house') === true));
    await world.source.client.delete(PODS, at(pod));
    await goneEverywhere(pod);
  });

  it('53: Events that cannot be written hold nothing up', async () => {
    const hard = { 'count/events': '0', 'count/events.events.k8s.io': '0' };
    await world.source.client.create(QUOTAS, { metadata: { namespace: NAMESPACE, name: 'no-events' }, spec: { hard } } as KubernetesObject);
    await within('53', 20, () => run('row-53', first()));
    await world.source.client.delete(QUOTAS, { namespace: NAMESPACE, name: 'no-events' });
  });

  it('56: kinds of ours that are missing in a target: it says so, deletes nothing, and recovers when they are back', () => during(async () => {
    const pair = await run('row-56', second());
    await second().client.delete(CUSTOM_RESOURCE_DEFINITIONS, { name: 'clustersummaries.multicluster.admiralty.io' });
    await within('56: told', 90, () => readyIs(second(), 'False'));
    await assertSame(pair);
    await installInto(second().client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: undefined }, { tell: () => undefined, signal: world.signal });
    await within('56: recovered', 90, () => readyIs(second(), 'True'));
    await assertSame(pair);
  }));
});

/** Requests that the API server of a target has denied, by its audit log. */
async function deniedRequests({ cluster }: WorldCluster): Promise<number> {
  const lines = (await readFile(cluster.auditLog ?? '', 'utf8')).split('\n');
  return lines.filter((line) => line.includes('"stage":"ResponseComplete"') && line.includes('"code":403') && line.includes(DEFAULT_INSTALL_NAMESPACE)).length;
}
