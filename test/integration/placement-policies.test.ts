// Placement on real control planes: policies by labels of targets, tiers, shares, patches, virtual nodes, spread.
// Each target has two nodes with 32 CPUs each.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { ClusterTarget } from '../../api/cluster-target.ts';
import type { KubernetesObject, Pod, PodSpec, StringMap } from '../../api/core.ts';
import { ELECT_ANNOTATION, PLACEMENT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, TARGET_ANNOTATION } from '../../api/keys.ts';
import type { PlacementPolicy, PlacementPolicySpec } from '../../api/placement-policy.ts';
import { CLUSTER_TARGETS, DEPLOYMENTS, NODES, PLACEMENT_POLICIES, PODS } from '../../api/resource-types.ts';
import { virtualNodeName } from '../../model/names.ts';
import { inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld } from '../support/isthmus-world.ts';

const NAMESPACE = 'placed';
let world: IsthmusWorld;

before(async () => {
  world = await startWorld();
  await makeNamespace(world, NAMESPACE);
  await label('target-1', { site: 'own', region: 'eu' });
  await label('target-2', { site: 'cloud', region: 'us' });
});
after(() => world?.stop());

/** Leaves no policy and no pod, so that each test begins alike. */
afterEach(async () => {
  const { client, pods } = world.source;
  const policies = await client.list(PLACEMENT_POLICIES, { namespace: NAMESPACE });
  for (const { metadata } of policies) await client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: metadata.name ?? '' });
  await Promise.all(inNamespace(pods.objects, NAMESPACE).map(({ metadata }) => client.delete(PODS, { namespace: NAMESPACE, name: metadata.name ?? '' }).catch(() => undefined)));
  const gone = (objects: readonly KubernetesObject[]) => inNamespace(objects, NAMESPACE).length === 0;
  await pods.until('no pods', gone, 60_000);
  await Promise.all(world.targets.map((target) => target.pods.until('no delegates', gone, 60_000)));
});

async function label(target: string, labels: StringMap): Promise<void> {
  await world.source.client.patch(CLUSTER_TARGETS, { name: target }, { patchType: 'merge', patch: { metadata: { labels } } satisfies Partial<ClusterTarget> });
}

async function applyPolicy(spec: PlacementPolicySpec, name = 'policy'): Promise<void> {
  await world.source.client.create(PLACEMENT_POLICIES, { metadata: { namespace: NAMESPACE, name }, spec } as PlacementPolicy);
}

interface PodWish {
  readonly cpu?: string;
  readonly labels?: StringMap;
  readonly constraints?: object;
}

function aPod(name: string, { cpu = '100m', labels = { app: 'web' }, constraints }: PodWish = {}): Pod {
  const annotations = { [ELECT_ANNOTATION]: '', ...(constraints && { [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify(constraints) }) };
  const spec: PodSpec = { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] };
  return { metadata: { namespace: NAMESPACE, name, labels, annotations }, spec };
}

const create = (...pods: readonly Pod[]) => Promise.all(pods.map((pod) => world.source.client.create(PODS, pod)));
const podNamed = (name: string, pods: readonly Pod[] = world.source.pods.objects) => inNamespace(pods, NAMESPACE).find(({ metadata }) => metadata.name === name);
const targetOf = (pod: Pod | undefined) => pod?.metadata.annotations?.[TARGET_ANNOTATION]?.replace('ClusterTarget/', '');
const whyNot = (pod: Pod | undefined) => pod?.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message ?? '';

async function runs(name: string, ms = 30_000): Promise<Pod> {
  const pods = await world.source.pods.until(`${name} runs`, (all) => isRunningPod(podNamed(name, all)), ms);
  return podNamed(name, pods)!;
}

function isRunningPod(pod: Pod | undefined): boolean {
  return pod !== undefined && isRunning(pod);
}

async function waits(name: string, why: RegExp): Promise<Pod> {
  const pods = await world.source.pods.until(`${name} waits: ${why.source}`, (all) => why.test(whyNot(podNamed(name, all))), 30_000);
  return podNamed(name, pods)!;
}

/** How many pods of the namespace run in each target. */
async function countAll(count: number): Promise<Record<string, number>> {
  const pods = await world.source.pods.until(`${count} run`, (all) => inNamespace(all, NAMESPACE).filter(isRunning).length === count, 60_000);
  const counts: Record<string, number> = {};
  for (const pod of inNamespace(pods, NAMESPACE)) counts[targetOf(pod) ?? ''] = (counts[targetOf(pod) ?? ''] ?? 0) + 1;
  return counts;
}

describe('require and forbid', () => {
  it('keep pods to the targets that a policy allows, and say why not elsewhere', async () => {
    await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
    await create(...[1, 2, 3, 4].map((index) => aPod(`eu-${index}`)));
    assert.deepEqual(await countAll(4), { 'target-1': 4 });
    const record = JSON.parse(podNamed('eu-1')?.metadata.annotations?.[PLACEMENT_ANNOTATION] ?? '{}') as Record<string, unknown>;
    assert.equal(record['target'], 'ClusterTarget/target-1');
    assert.deepEqual(record['not'], { 'ClusterTarget/target-2': 'PolicyRequires' });
  });

  it('place nothing when no target is left, until the policy is changed', async () => {
    await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
    await applyPolicy({ forbid: { matchLabels: { site: 'own' } } }, 'not-own');
    await create(aPod('nowhere'));
    await waits('nowhere', /target-1: PolicyForbids: PlacementPolicy placed\/not-own.*target-2: PolicyRequires: PlacementPolicy placed\/policy requires targets with region=eu/);
    await world.source.client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: 'not-own' });
    assert.equal(targetOf(await runs('nowhere')), 'target-1');
  });

  it('place nothing while two policies contradict one another', async () => {
    await applyPolicy({ weights: { cost: 1 } }, 'one');
    await applyPolicy({ weights: { cost: 2 } }, 'other');
    await create(aPod('torn'));
    await waits('torn', /PolicyConflict: PlacementPolicy placed\/one and PlacementPolicy placed\/other both set weights/);
    await world.source.client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: 'other' });
    await runs('torn');
  });

  it('are refused by the API server where they make no sense, with a word that helps', async () => {
    await assert.rejects(applyPolicy({ forbid: {} }), /forbid with an empty selector forbids every target/);
    await assert.rejects(applyPolicy({ require: { matchExpressions: [{ key: 'a', operator: 'In' }] } }), /In and NotIn need values/);
    await assert.rejects(applyPolicy({ overrides: [{ targets: {}, patch: [{ op: 'add', path: '/metadata/name', value: 'x' }] }] }), /path must begin with \/spec\//);
    await assert.rejects(applyPolicy({ tiers: [{ targets: {} }], replicas: { shares: [{ targets: {}, weight: 1 }] } }), /two ways to divide pods/);
  });
});

describe('tiers', () => {
  const tiers = (waitSeconds: number) => ({ tiers: [{ targets: { matchLabels: { site: 'own' } }, waitSeconds }, { targets: { matchLabels: { site: 'cloud' } } }] });
  const large = (name: string) => aPod(name, { cpu: '20' }); // two to a target

  it('overflow in order at once', async () => {
    await applyPolicy(tiers(0));
    await create(large('one'), large('two'), large('three'));
    assert.deepEqual(await countAll(3), { 'target-1': 2, 'target-2': 1 });
  });

  it('give the first one its time before the next has its turn', async () => {
    await applyPolicy(tiers(4));
    await create(large('first'), large('second'));
    assert.deepEqual(await countAll(2), { 'target-1': 2 });
    await create(large('late'));
    const waiting = await waits('late', /target-2: TierWaits: it is in tier 2 of PlacementPolicy placed\/policy, which gets the pod 4 s after its creation/);
    const pod = await runs('late');
    assert.equal(targetOf(pod), 'target-2');
    const boundAt = Date.parse(pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.lastTransitionTime ?? '');
    assert.ok(boundAt - Date.parse(waiting.metadata.creationTimestamp ?? '') >= 3_000, 'not before its time; times are whole seconds');
  });
});

describe('all full, one frees', () => {
  it('runs the waiting pod within 5 s, by events', async () => {
    await create(...['a', 'b', 'c', 'd'].map((name) => aPod(name, { cpu: '20' })));
    assert.deepEqual(await countAll(4), { 'target-1': 2, 'target-2': 2 });
    await create(aPod('waiting', { cpu: '20' }));
    await waits('waiting', /0\/2 targets can run this pod.*InsufficientResources/);
    const freed = targetOf(podNamed('c'));
    await world.source.client.delete(PODS, { namespace: NAMESPACE, name: 'c' });
    assert.equal(targetOf(await runs('waiting', 5_000)), freed);
  });
});

describe('replicas in proportion', () => {
  after(() => world.source.client.delete(DEPLOYMENTS, { namespace: NAMESPACE, name: 'shared' }).catch(() => undefined));

  it('runs 3 here and 5 there', async () => {
    await applyPolicy({ replicas: { shares: [{ targets: { matchLabels: { site: 'own' } }, weight: 3 }, { targets: { matchLabels: { site: 'cloud' } }, weight: 5 }] } });
    const { metadata, spec } = aPod('shared');
    const template = { metadata: { labels: metadata.labels, annotations: metadata.annotations }, spec };
    const deployment = { metadata: { namespace: NAMESPACE, name: 'shared' }, spec: { replicas: 8, selector: { matchLabels: metadata.labels }, template } };
    await world.source.client.create(DEPLOYMENTS, deployment);
    assert.deepEqual(await countAll(8), { 'target-1': 3, 'target-2': 5 });
    await world.source.client.delete(DEPLOYMENTS, { namespace: NAMESPACE, name: 'shared' });
  });
});

describe('overrides', () => {
  it('change the delegate in the targets that they name, and only there', async () => {
    await applyPolicy({
      spread: [{ topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' }],
      overrides: [{ targets: { matchLabels: { site: 'cloud' } }, patch: [{ op: 'replace', path: '/spec/containers/0/image', value: 'cloud.example/main:1' }, { op: 'add', path: '/metadata/labels/site', value: 'cloud' }] }],
    });
    await create(aPod('here'), aPod('there'));
    assert.deepEqual(await countAll(2), { 'target-1': 1, 'target-2': 1 });
    const delegates = world.targets.map(({ pods }) => inNamespace(pods.objects, NAMESPACE)[0]);
    assert.deepEqual(delegates.map((pod) => pod?.spec.containers[0]?.image), ['example/main:1', 'cloud.example/main:1']);
    assert.deepEqual(delegates.map((pod) => pod?.metadata.labels?.['site']), [undefined, 'cloud']);
  });
});

describe('virtual nodes', () => {
  const cordon = (unschedulable: boolean) => world.source.client.patch(NODES, { name: virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' }) }, { patchType: 'merge', patch: { spec: { unschedulable } } });
  after(() => cordon(false));

  it('that are cordoned get nothing, and pods again when they are not', async () => {
    await cordon(true);
    await create(aPod('picky', { constraints: { nodeSelector: { site: 'own' } } }));
    await waits('picky', /target-1: Cordoned: its virtual node is cordoned; "kubectl uncordon admiralty-target-1-.*target-2: NodeSelector: the pod selects site=own and it has site=cloud/);
    await create(...[1, 2, 3].map((index) => aPod(`any-${index}`)));
    await world.source.pods.until('three run', (all) => inNamespace(all, NAMESPACE).filter(isRunning).length === 3, 30_000);
    assert.deepEqual([1, 2, 3].map((index) => targetOf(podNamed(`any-${index}`))), ['target-2', 'target-2', 'target-2']);
    await cordon(false);
    assert.equal(targetOf(await runs('picky')), 'target-1');
  });
});

describe('affinity and spread across clusters', () => {
  const labelSelector = { matchLabels: { app: 'web' } };
  const topologyKey = 'kubernetes.io/hostname';

  it('spreads a burst evenly', async () => {
    const constraints = { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }] };
    await create(...Array.from({ length: 10 }, (_, index) => aPod(`spread-${index}`, { constraints })));
    assert.deepEqual(await countAll(10), { 'target-1': 5, 'target-2': 5 });
  });

  it('keeps pods apart that want it, also those that come later', async () => {
    const constraints = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey: 'region' }] } } };
    await create(aPod('eu-or-us', { constraints }), aPod('the-other', { constraints }));
    assert.deepEqual(await countAll(2), { 'target-1': 1, 'target-2': 1 });
    await create(aPod('third', { constraints }), aPod('plain'));
    await waits('third', /target-1: PodAntiAffinity: 1 pod with app=web is in region=eu/);
    await waits('plain', /target-2: ExistingPodAntiAffinity: a pod in region=us does not want pods with these labels near it/);
    const place = targetOf(podNamed('the-other'));
    await Promise.all(['the-other', 'plain'].map((name) => world.source.client.delete(PODS, { namespace: NAMESPACE, name })));
    assert.equal(targetOf(await runs('third')), place);
  });
});
