// Placement on real control planes: policies by labels of targets, tiers, shares, patches, virtual nodes, spread, and
// what explains it all. Each target has two nodes with 32 CPUs each.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { after, afterEach, before, describe, it } from 'node:test';
import type { ClusterTarget, RemovalPolicy } from '../../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod, PodSpec, StringMap } from '../../../api/objects/core.ts';
import {
  DRAIN_FINALIZER, ELECT_ANNOTATION, EXPIRES_AFTER_ANNOTATION, PLACEMENT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION,
  TARGET_ANNOTATION,
} from '../../../api/objects/keys.ts';
import type {
  ClusterPlacementPolicy, PlacementPolicy, PlacementPolicySpec,
} from '../../../api/kinds/placement-policy.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_PLACEMENT_POLICIES, CLUSTER_ROLES, CLUSTER_TARGETS, CONFIG_MAPS, DEPLOYMENTS, EVENTS, NODES,
  PLACEMENT_POLICIES, PODS, SECRETS,
} from '../../../api/resource-types.ts';
import { isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { isthmus as typed, killedAtCall } from '../../support/processes/command-line.ts';
import { secretOf } from '../../support/faults/faulty-network.ts';
import { eventually } from '../../support/history/eventually.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const NAMESPACE = 'placed';
const shared = shareWorld({ nodes: 2, audit: true });
let world: IsthmusWorld;

describe('placement', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, NAMESPACE);
    await label('target-1', { site: 'own', region: 'eu' });
    await label('target-2', { site: 'cloud', region: 'us' });
  });
  after(() => leaveWorld(world));

  /** Leaves no policy and no pod, so that each test begins alike. */
  afterEach(async () => {
    const { client, pods } = world.source;
    const policies = await client.list(PLACEMENT_POLICIES, { namespace: NAMESPACE });
    for (const { metadata } of policies) {
      await client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: metadata.name ?? '' });
    }
    await Promise.all(inNamespace(pods.objects, NAMESPACE).map(
      ({ metadata }) => client.delete(PODS, { namespace: NAMESPACE, name: metadata.name ?? '' }).catch(() => undefined),
    ));
    await client.delete(CLUSTER_PLACEMENT_POLICIES, { name: 'policy' }).catch(unless(isNotFound));
    const gone = (objects: readonly KubernetesObject[]) => inNamespace(objects, NAMESPACE).length === 0;
    await pods.until('no pods', gone, 60_000);
    await Promise.all(world.targets.map((target) => target.pods.until('no delegates', gone, 60_000)));
  });

  async function label(target: string, labels: StringMap): Promise<void> {
    await world.source.client.patch(CLUSTER_TARGETS, { name: target }, {
      patchType: 'merge', patch: { metadata: { labels } } satisfies Partial<ClusterTarget>,
    });
  }

  async function applyPolicy(spec: PlacementPolicySpec, name = 'policy'): Promise<void> {
    await world.source.client.create(
      PLACEMENT_POLICIES, { metadata: { namespace: NAMESPACE, name }, spec } as PlacementPolicy,
    );
  }

  async function applyClusterPolicy(spec: PlacementPolicySpec): Promise<void> {
    await world.source.client.create(
      CLUSTER_PLACEMENT_POLICIES, { metadata: { name: 'policy' }, spec } as ClusterPlacementPolicy,
    );
  }

  interface PodWish {
    readonly cpu?: string;
    readonly labels?: StringMap;
    readonly constraints?: object;
  }

  function aPod(name: string, { cpu = '100m', labels = { app: 'web' }, constraints }: PodWish = {}): Pod {
    const annotations =
      { [ELECT_ANNOTATION]: '', ...(constraints && { [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify(constraints) }) };
    const spec: PodSpec = { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] };
    return { metadata: { namespace: NAMESPACE, name, labels, annotations }, spec };
  }

  const create = (...pods: readonly Pod[]) => Promise.all(pods.map((pod) => world.source.client.create(PODS, pod)));
  const podNamed = (name: string, pods: readonly Pod[] = world.source.pods.objects) =>
    inNamespace(pods, NAMESPACE).find(({ metadata }) => metadata.name === name);
  const targetOf = (pod: Pod | undefined) =>
    pod?.metadata.annotations?.[TARGET_ANNOTATION]?.replace('ClusterTarget/', '');
  const whyNot = (pod: Pod | undefined) =>
    pod?.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message ?? '';

  async function runs(name: string, ms = 60_000): Promise<Pod> {
    const pods = await world.source.pods.until(`${name} runs`, (all) => isRunningPod(podNamed(name, all)), ms);
    return podNamed(name, pods)!;
  }

  function isRunningPod(pod: Pod | undefined): boolean {
    return pod !== undefined && isRunning(pod);
  }

  async function waits(name: string, why: RegExp): Promise<Pod> {
    const pods = await world.source.pods.until(
      `${name} waits: ${why.source}`, (all) => why.test(whyNot(podNamed(name, all))), 60_000,
    );
    return podNamed(name, pods)!;
  }

  /** How many pods of the namespace run in each target. */
  async function countAll(count: number): Promise<Record<string, number>> {
    const pods = await world.source.pods.until(
      `${count} run`, (all) => inNamespace(all, NAMESPACE).filter(isRunning).length === count, 60_000,
    );
    const counts: Record<string, number> = {};
    for (const target of inNamespace(pods, NAMESPACE).map((pod) => targetOf(pod) ?? '')) {
      counts[target] = (counts[target] ?? 0) + 1;
    }
    return counts;
  }

  describe('require and forbid', () => {
    it('keep pods to the targets that a policy allows, and say why not elsewhere', async () => {
      await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
      await create(...[1, 2, 3, 4].map((index) => aPod(`eu-${index}`)));
      assert.deepEqual(await countAll(4), { 'target-1': 4 });
      const record =
        JSON.parse(podNamed('eu-1')?.metadata.annotations?.[PLACEMENT_ANNOTATION] ?? '{}') as Record<string, unknown>;
      assert.equal(record['target'], 'ClusterTarget/target-1');
      assert.deepEqual(record['not'], { 'ClusterTarget/target-2': 'PolicyRequires' });
      type Told = KubernetesObject & { readonly reason?: string; readonly note?: string };
      const events = await new WatchedCollection<Told>(
        world.source.client, EVENTS, { namespace: NAMESPACE },
      ).start(world.signal);
      const [told] =
        await events.until('an event tells of it', (all) => all.some(({ reason }) => reason === 'Scheduled'));
      assert.match(
        told?.note ?? '',
        /^Successfully assigned placed\/eu-\d to admiralty-target-1-?\w*: ClusterTarget\/target-1 is the best.*; not ClusterTarget\/target-2: PolicyRequires$/,
      );
    });

    it('place nothing when no target is left, until the policy is changed', async () => {
      await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
      await applyPolicy({ forbid: { matchLabels: { site: 'own' } } }, 'not-own');
      await create(aPod('nowhere'));
      await waits(
        'nowhere',
        /target-1: PolicyForbids: PlacementPolicy placed\/not-own.*target-2: PolicyRequires: PlacementPolicy placed\/policy requires targets with region=eu/,
      );
      await world.source.client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: 'not-own' });
      assert.equal(targetOf(await runs('nowhere')), 'target-1');
    });

    it('place nothing while two policies contradict one another', async () => {
      await applyPolicy({ weights: { cost: 1 } }, 'one');
      await applyPolicy({ weights: { cost: 2 } }, 'other');
      await create(aPod('torn'));
      await waits(
        'torn', /PolicyConflict: PlacementPolicy placed\/one and PlacementPolicy placed\/other both set weights/,
      );
      await world.source.client.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name: 'other' });
      await runs('torn');
    });

    it('are refused by the API server where they make no sense, with a word that helps', async () => {
      await assert.rejects(applyPolicy({ forbid: {} }), /forbid with an empty selector forbids every target/);
      await assert.rejects(
        applyPolicy({ require: { matchExpressions: [{ key: 'a', operator: 'In' }] } }), /In and NotIn need values/,
      );
      await assert.rejects(
        applyPolicy({ overrides: [{ targets: {}, patch: [{ op: 'add', path: '/metadata/name', value: 'x' }] }] }),
        /a PlacementPolicy may patch nodeSelector, tolerations/,
      );
      for (const path of [
        '/spec/hostPID', '/spec/containers/0/securityContext', '/spec/volumes/-', '/spec/serviceAccountName',
        '/metadata/annotations/a',
      ]) {
        await assert.rejects(
          applyPolicy({ overrides: [{ targets: {}, patch: [{ op: 'add', path, value: true }] }] }),
          /anything else takes a ClusterPlacementPolicy/, path,
        );
      }
      await assert.rejects(
        applyClusterPolicy(
          { overrides: [{ targets: {}, patch: [{ op: 'add', path: '/metadata/name', value: 'x' }] }] },
        ),
        /path must begin with \/spec\//,
      );
      await assert.rejects(
        applyPolicy({ tiers: [{ targets: {} }], replicas: { shares: [{ targets: {}, weight: 1 }] } }),
        /two ways to divide pods/,
      );
    });
  });

  describe('tiers', () => {
    const tiers = (waitSeconds: number) => ({
      tiers:
        [{ targets: { matchLabels: { site: 'own' } }, waitSeconds }, { targets: { matchLabels: { site: 'cloud' } } }],
    });
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
      const waiting = await waits(
        'late',
        /target-2: TierWaits: it is in tier 2 of PlacementPolicy placed\/policy, which gets the pod 4 s after its creation/,
      );
      const pod = await runs('late');
      assert.equal(targetOf(pod), 'target-2');
      const boundAt =
        Date.parse(pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.lastTransitionTime ?? '');
      assert.ok(
        boundAt - Date.parse(waiting.metadata.creationTimestamp ?? '') >= 3_000,
        'not before its time; times are whole seconds',
      );
    });
  });

  describe('all full, one frees', () => {
    it('runs the waiting pod by events, before what is published by the clock would tell of the room', async () => {
      await create(...['a', 'b', 'c', 'd'].map((name) => aPod(name, { cpu: '20' })));
      assert.deepEqual(await countAll(4), { 'target-1': 2, 'target-2': 2 });
      await create(aPod('waiting', { cpu: '20' }));
      await waits('waiting', /0\/2 targets are available.*InsufficientResources/);
      const freed = targetOf(podNamed('c'));
      await world.source.client.delete(PODS, { namespace: NAMESPACE, name: 'c' });
      assert.equal(targetOf(await runs('waiting', 20_000)), freed);
    });
  });

  describe('a target that gives no verdict in time', () => {
    it('loses its candidate, and the pod goes to the next target', async () => {
      const since = performance.now();
      const [own, cloud] = world.targets;
      await applyPolicy({ tiers: [{ targets: { matchLabels: { site: 'own' } } }, { targets: {} }] });
      await own.cluster.stopComponent('kube-scheduler', 'SIGSTOP');
      try {
        await create(aPod('undecided'));
        await own.pods.until('a candidate', (pods) => inNamespace(pods, NAMESPACE).length === 1);
        const pod = await runs('undecided', 60_000);
        assert.equal(targetOf(pod), 'target-2');
        assert.match(pod.metadata.annotations?.[PLACEMENT_ANNOTATION] ?? '', /"ClusterTarget\/target-1":"NoVerdict"/);
        const delegates =
          await Promise.all([own, cloud].map(({ client }) => client.list(PODS, { namespace: NAMESPACE })));
        assert.deepEqual(delegates.map(({ length }) => length), [0, 1]);
        assertInvariants(world, { since }); // never two delegates at once
      } finally {
        await own.cluster.startComponent('kube-scheduler');
      }
    });
  });

  describe('replicas in proportion', () => {
    const shared = { namespace: NAMESPACE, name: 'shared' };
    after(() => world.source.client.delete(DEPLOYMENTS, shared).catch(() => undefined));

    it('runs 3 here and 5 there', async () => {
      await applyPolicy({
        replicas: {
          shares: [{ targets: { matchLabels: { site: 'own' } }, weight: 3 }, {
            targets: { matchLabels: { site: 'cloud' } }, weight: 5,
          }],
        },
      });
      const { metadata, spec } = aPod('shared');
      const template = { metadata: { labels: metadata.labels, annotations: metadata.annotations }, spec };
      const deployment = {
        metadata: { namespace: NAMESPACE, name: 'shared' },
        spec: { replicas: 8, selector: { matchLabels: metadata.labels }, template },
      };
      await world.source.client.create(DEPLOYMENTS, deployment);
      assert.deepEqual(await countAll(8), { 'target-1': 3, 'target-2': 5 });
      await world.source.client.delete(DEPLOYMENTS, { namespace: NAMESPACE, name: 'shared' });
    });
  });

  describe('overrides', () => {
    it('change the delegate in the targets that they name, and only there', async () => {
      await applyPolicy({ spread: [{ topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' }] });
      await applyClusterPolicy({
        overrides: [{
          targets: { matchLabels: { site: 'cloud' } },
          patch: [{ op: 'replace', path: '/spec/containers/0/image', value: 'cloud.example/main:1' }, {
            op: 'add', path: '/metadata/labels/site', value: 'cloud',
          }],
        }],
      });
      await create(aPod('here'), aPod('there'));
      assert.deepEqual(await countAll(2), { 'target-1': 1, 'target-2': 1 });
      const delegates = await Promise.all(
        world.targets.map(async ({ client }) => (await client.list(PODS, { namespace: NAMESPACE }))[0]),
      );
      assert.deepEqual(
        delegates.map((pod) => pod?.spec.containers[0]?.image), ['example/main:1', 'cloud.example/main:1'],
      );
      assert.deepEqual(delegates.map((pod) => pod?.metadata.labels?.['site']), [undefined, 'cloud']);
    });

    it('do not keep the status away, where a kubelet reports on devices that only the delegate requests', async () => {
      await applyClusterPolicy({
        overrides: [{
          targets: {}, patch: [{ op: 'add', path: '/spec/containers/0/resources/requests/memory', value: '1Mi' }],
        }],
      });
      await create(aPod('devices'));
      const target = world.targets[Number(targetOf(await runs('devices'))?.slice('target-'.length)) - 1]!;
      const [delegate] = await target.client.list(PODS, { namespace: NAMESPACE });
      const [container] = delegate?.status?.containerStatuses ?? [];
      const devices = [{ name: 'memory', resources: [{ resourceID: 'bank-0', health: 'Unhealthy' }] }];
      const at = { namespace: NAMESPACE, name: delegate?.metadata.name ?? '', subresource: 'status' } as const;
      await target.client.patch(PODS, at, {
        patchType: 'merge', patch: {
          status: { containerStatuses: [{ ...container, restartCount: 7, allocatedResourcesStatus: devices }] },
        },
      });
      await world.source.pods.until('the restarts are shown', (all) => (
        podNamed('devices', all)?.status?.containerStatuses?.some((one) => Object.entries(one).some(
          ([field, value]) => field === 'restartCount' && value === 7,
        )) === true
      ), 60_000);
    });
  });

  describe('virtual nodes', () => {
    const cordon = (unschedulable: boolean) => world.source.client.patch(
      NODES, { name: virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' }) },
      { patchType: 'merge', patch: { spec: { unschedulable } } },
    );
    after(() => cordon(false));

    it('that are cordoned get nothing, and pods again when they are not', async () => {
      await cordon(true);
      await create(aPod('picky', { constraints: { nodeSelector: { site: 'own' } } }));
      await waits(
        'picky',
        /target-1: Cordoned: its virtual node is cordoned; "kubectl uncordon admiralty-target-1-.*target-2: NodeSelector: the pod selects site=own and it has site=cloud/,
      );
      await create(...[1, 2, 3].map((index) => aPod(`any-${index}`)));
      await world.source.pods.until(
        'three run', (all) => inNamespace(all, NAMESPACE).filter(isRunning).length === 3, 60_000,
      );
      assert.deepEqual(
        [1, 2, 3].map((index) => targetOf(podNamed(`any-${index}`))), ['target-2', 'target-2', 'target-2'],
      );
      await cordon(false);
      assert.equal(targetOf(await runs('picky')), 'target-1');
    });
  });

  describe('affinity and spread across clusters', () => {
    const labelSelector = { matchLabels: { app: 'web' } };
    const topologyKey = 'kubernetes.io/hostname';

    it('spreads a burst evenly', async () => {
      const constraints =
        { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }] };
      await create(...Array.from({ length: 10 }, (_, index) => aPod(`spread-${index}`, { constraints })));
      assert.deepEqual(await countAll(10), { 'target-1': 5, 'target-2': 5 });
    });

    it('keeps pods apart that want it, also those that come later', async () => {
      const constraints = {
        affinity: {
          podAntiAffinity:
            { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey: 'region' }] },
        },
      };
      await create(aPod('eu-or-us', { constraints }), aPod('the-other', { constraints }));
      assert.deepEqual(await countAll(2), { 'target-1': 1, 'target-2': 1 });
      await create(aPod('third', { constraints }), aPod('plain'));
      await waits('third', /target-1: PodAntiAffinity: 1 pod with app=web is in region=eu/);
      await waits(
        'plain', /target-2: ExistingPodAntiAffinity: a pod in region=us has a podAntiAffinity that matches this pod/,
      );
      const place = targetOf(podNamed('the-other'));
      await Promise.all(
        ['the-other', 'plain'].map((name) => world.source.client.delete(PODS, { namespace: NAMESPACE, name })),
      );
      assert.equal(targetOf(await runs('third')), place);
    });
  });

  describe('removal of a target', () => {
    const nodeName = virtualNodeName({ kind: 'ClusterTarget', name: 'target-2' });
    const untilGone = async (type: ResourceType, name: string) => {
      const left = await new WatchedCollection(
        world.source.client, type, { fieldSelector: `metadata.name=${name}` },
      ).start(world.signal);
      await left.until(`${name} is gone`, (objects) => objects.length === 0, 60_000);
    };

    /** Removes target-2 with a pod in it, and makes it anew after `check`. */
    async function whileRemoved(removalPolicy: RemovalPolicy, check: () => Promise<void>): Promise<void> {
      const { client } = world.source;
      const targets = await new WatchedCollection(client, CLUSTER_TARGETS).start(world.signal);
      const { spec } = await client.patch(
        CLUSTER_TARGETS, { name: 'target-2' }, { patchType: 'merge', patch: { spec: { removalPolicy } } },
      );
      const isHeld = (all: readonly ClusterTarget[]) =>
        all.some(({ metadata }) => metadata.finalizers?.includes(DRAIN_FINALIZER));
      await targets.until('it is held or not', (all) => isHeld(all) === (removalPolicy === 'Drain'), 60_000);
      await create(aPod('there', { constraints: { nodeSelector: { site: 'cloud' } } }));
      await runs('there');
      await client.delete(CLUSTER_TARGETS, { name: 'target-2' });
      try {
        await untilGone(CLUSTER_TARGETS, 'target-2');
        await untilGone(NODES, nodeName);
        await check();
      } finally {
        await client.create(
          CLUSTER_TARGETS,
          { metadata: { name: 'target-2', labels: { site: 'cloud', region: 'us' } }, spec } as ClusterTarget,
        );
        const isReady = ({ status }: ClusterTarget) =>
          status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
        await targets.until('both are ready again', (all) => all.filter(isReady).length === 2, 60_000);
      }
    }

    it('that drains evicts its pods, and leaves no delegate, no finalizer and no Node',
      () => whileRemoved('Drain', async () => {
      assert.equal(podNamed('there'), undefined);
      await world.targets[1].pods.until('no delegate', (pods) => inNamespace(pods, NAMESPACE).length === 0, 60_000);
    }));

    it('that orphans leaves its pods running there, and no Node', () => whileRemoved('Orphan', async () => {
      assert.equal((await world.targets[1].client.list(PODS, { namespace: NAMESPACE })).filter(isRunning).length, 1);
    }));

    it('leaves a cluster that is no target: one that is led there keeps its pods, as they run on', async () => {
      const { client } = world.source;
      const kubeconfigOf = async (target: string) => {
        const at = await secretOf(client, target);
        return { at, data: (await client.get(SECRETS, at)).data };
      };
      const [own, other] = [await kubeconfigOf('target-1'), await kubeconfigOf('target-2')];
      const lead = (data: typeof own.data) =>
        client.patch(SECRETS, own.at, { patchType: 'merge', patch: { data } });
      await whileRemoved('Drain', async () => {
        await create(aPod('here', { constraints: { nodeSelector: { site: 'own' } } }));
        await runs('here');
        try {
          await lead(other.data);
          await eventually('it is not Ready', async () => {
            const { status } = await client.get(CLUSTER_TARGETS, { name: 'target-1' });
            return status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'AnotherCluster');
          });
          const { metadata, status } = await client.get(PODS, { namespace: NAMESPACE, name: 'here' });
          assert.deepEqual([metadata.deletionTimestamp, status?.phase], [undefined, 'Running']);
        } finally {
          await lead(own.data);
        }
      });
    });
  });

  const COMMAND = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));

  /** Runs the command against the source; gives what it prints, rejects when its exit code is not 0. */
  async function isthmus(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(
      process.execPath, [COMMAND, command, '--kubeconfig', world.source.cluster.kubeconfigPath, ...args],
    );
    return stdout;
  }

  describe('isthmus explain', () => {
    const explain = (...args: string[]) => isthmus('explain', '-n', NAMESPACE, ...args);

    it('tells where a pod would go with the policy of a manifest, and creates nothing', async () => {
      await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
      await create(aPod('supposed'));
      await runs('supposed');
      const dir = await mkdtemp(join(tmpdir(), 'isthmus-explain-'));
      const file = join(dir, 'policy.yaml');
      const policy = { apiVersion: 'isthmus.dev/v1alpha1', kind: 'PlacementPolicy', metadata: { name: 'policy' } };
      await writeFile(file, JSON.stringify({ ...policy, spec: { require: { matchLabels: { region: 'us' } } } }));
      const text = await explain('pod/supposed', '--with-policy', file);
      assert.match(text, /^Evaluated as if PlacementPolicy placed\/policy applied\.$/m);
      assert.match(text, /^ClusterTarget\/target-2 is the only target that can take the pod\.$/m);
      const other = { ...policy, metadata: { name: 'other' }, spec: { forbid: { matchLabels: { region: 'eu' } } } };
      await writeFile(file, JSON.stringify(other));
      const told = JSON.parse(await explain('pod/supposed', '--with-policy', file, '-o', 'json')) as object;
      assert.deepEqual((told as { readonly supposed: unknown }).supposed, {
        policy: 'PlacementPolicy placed/other', replaces: ['PlacementPolicy placed/policy'], keeps: [],
      });
      await writeFile(file, JSON.stringify({ ...policy, spec: { requires: {} } }));
      const flags = ['--kubeconfig', world.source.cluster.kubeconfigPath, '-n', NAMESPACE, '--with-policy'];
      const refused = await typed('explain', 'pod/supposed', ...flags, file);
      assert.match(refused.stderr, /placed\/policy is not valid: spec\.requires is not a field; .*Correct the spec/);
      const missing = await typed('explain', 'pod/supposed', ...flags, join(dir, 'none.yaml'));
      assert.match(missing.stderr, /none\.yaml cannot be read/);
      assert.deepEqual([refused.code, missing.code], [1, 1]);
      const stored = await world.source.client.list<PlacementPolicy>(PLACEMENT_POLICIES, { namespace: NAMESPACE });
      assert.deepEqual(stored.map(({ spec }) => spec), [{ require: { matchLabels: { region: 'eu' } } }]);
      await rm(dir, { recursive: true, force: true });
    });

    it('tells of a pod that waits what the smallest change is, by target', async () => {
      await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
      await create(aPod('huge', { cpu: '40' }));
      await waits('huge', /target-1: InsufficientResources/);
      const text = await explain('pod/huge');
      assert.match(
        text,
        /None of 2 targets can take the pod\.\nSmallest change that would place it in ClusterTarget\/target-1:\n  - InsufficientResources: no node has 40 cpu free; or lower the request of the pod to 32 cpu instead of 40/,
      );
      assert.match(text, /ClusterTarget\/target-2\n  ✗ Policy: PolicyRequires: /);
      const cells = (await explain('pod/huge', '-o', 'matrix')).split('\n').map((line) => line.split(/ {3,}/));
      const column = cells.find(([first]) => first === 'TARGET')?.indexOf('Policy') ?? 0;
      const answerOf = (target: string) => cells.find(([first]) => first === `ClusterTarget/${target}`)?.[column];
      assert.deepEqual(['target-1', 'target-2'].map(answerOf), ['✓', '✗']);
    });

    it('tells of a pod that runs what decided, and what was recorded', async () => {
      await applyPolicy({ tiers: [{ targets: { matchLabels: { site: 'own' } } }, { targets: {} }] });
      await create(aPod('runs'));
      await runs('runs');
      const found = JSON.parse(await explain('pod/runs', '-o', 'json')) as {
        chosen: string; margin: { over: string; by: string }; recorded: { target: string }
      };
      assert.deepEqual([found.chosen, found.margin.over, found.margin.by, found.recorded.target], [
        'ClusterTarget/target-1', 'ClusterTarget/target-2', 'tier', 'ClusterTarget/target-1',
      ]);
      assert.match(
        await explain('runs', '-o', 'wide'),
        /→ ClusterTarget\/target-1 {2}score [\d.]+\n {2}✓ Policy|→ ClusterTarget\/target-1 {2}score [\d.]+\n {2}✓ Available/,
      );
    });

    it('knows the weights that the scheduler runs with', async () => {
      const at = { namespace: 'isthmus-system', name: 'isthmus-scheduler' };
      const setWeights = (scoreWeights: string) =>
        world.source.client.patch(CONFIG_MAPS, at, { patchType: 'merge', patch: { data: { scoreWeights } } });
      await create(aPod('weighed'));
      await runs('weighed');
      await setWeights('mostAllocated=7'); // as if it had been started so
      const { targets } = JSON.parse(await explain('pod/weighed', '-o', 'json')) as {
        targets: { scores?: { name: string; weight: number }[] }[]
      };
      await setWeights('');
      assert.equal(targets[0]?.scores?.find(({ name }) => name === 'mostAllocated')?.weight, 7);
    });

    it('says which pod there is not', async () => {
      await assert.rejects(explain('pod/none'), /There is no pod none in namespace placed/);
    });
  });

  describe('isthmus plan', () => {
    let dir: string;
    before(async () => {
      dir = await mkdtemp(join(tmpdir(), 'isthmus-plan-'));
    });
    after(() => rm(dir, { recursive: true, force: true }));

    async function manifest(replicas: number, cpu: string): Promise<string> {
      const { metadata, spec } = aPod('planned', { cpu });
      const template = { metadata: { labels: metadata.labels, annotations: metadata.annotations }, spec };
      const path = join(dir, 'app.yaml');
      await writeFile(path, JSON.stringify(
        {
          apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: NAMESPACE, name: 'planned' },
          spec: { replicas, template },
        },
      ));
      return path;
    }

    it('ends with 0 when all pods fit, and places none', async () => {
      const file = await manifest(4, '20');
      // what a target last said of its free capacity may still count the pods of the tests before
      await eventually('two pods to a target', async () => {
        assert.match(
          await isthmus('plan', '-f', file),
          /^4 of 4 pods would be placed\.\n2 pods \(placed\/planned-0, …\) → ClusterTarget\/target-([12])\n2 pods \(placed\/planned-1, …\) → ClusterTarget\/target-(?!\1)[12]\n$/,
        );
        return true;
      });
      assert.deepEqual(inNamespace(world.source.pods.objects, NAMESPACE), []);
    });

    it('ends with 1 and says why when one would wait, unless there were more nodes', async () => {
      const file = await manifest(4, '20');
      const failed = await isthmus('plan', '-f', file, '--without', 'target-2').then(
        () => undefined, (error: { code: number; stdout: string }) => error,
      );
      assert.equal(failed?.code, 1);
      assert.match(
        failed?.stdout ?? '',
        /2 of 4 pods would be placed\.[^]*2 pods \(placed\/planned-2, …\) would wait: None of 1 targets[^]*no node has 20 cpu free/,
      );
      assert.match(
        await isthmus('plan', '-f', file, '--without', 'target-2', '--add', '2xcpu=32,memory=64Gi'),
        /^4 of 4 pods would be placed/,
      );
    });

    it('plans on a recorded world as on the live one', async () => {
      await applyPolicy({ require: { matchLabels: { region: 'eu' } } });
      const record = join(dir, 'world.json');
      const file = await manifest(2, '1');
      const live = await isthmus('plan', '-f', file, '--record', record);
      assert.match(live, /2 pods \(placed\/planned-0, …\) → ClusterTarget\/target-1/);
      assert.equal(await isthmus('plan', '-f', file, '--snapshot', record), live);
    });
  });

  describe('the command line', () => {
    const kubeconfig = () => ['--kubeconfig', world.source.cluster.kubeconfigPath] as const;
    const inNames = ['--namespace', NAMESPACE] as const;
    const opposite = (target: string | undefined) => (target === 'target-1' ? 'target-2' : 'target-1');

    it('verifies each target with a pod that goes its whole way', async () => {
      const { code, stdout, stderr } = await typed('verify', ...inNames, ...kubeconfig(), '-o', 'json');
      assert.equal(code, 0, stderr);
      const results = JSON.parse(stdout) as { target: string; steps: Record<string, number>; problem?: string }[];
      assert.deepEqual(results.map(({ target }) => target).toSorted(), ['target-1', 'target-2']);
      for (const { steps: { admitted = NaN, placed = NaN, running = NaN, gone = NaN }, target } of results) {
        assert.ok(
          admitted <= placed && placed <= running && running <= gone,
          `${target}: ${admitted} ${placed} ${running} ${gone}`,
        );
      }
    });

    it('verifies no target that lets nothing in, and says why', async () => {
      assert.equal((await typed('cordon', 'target-2', ...kubeconfig())).code, 0);
      const { code, stdout, stderr } =
        await typed('verify', 'target-2', 'target-1', '--timeout-seconds', '8', ...inNames, ...kubeconfig());
      assert.equal((await typed('uncordon', 'target-2', ...kubeconfig())).code, 0);
      assert.equal(code, 1);
      assert.match(stdout, /target-1 .*ok$/m);
      assert.match(stdout, /target-2 .*target-2: Cordoned/);
      assert.match(stderr, /No pod ran its whole way in target-2\. "isthmus doctor"/);
    });

    it('moves a pod of a Deployment to another target, and leaves nothing behind', async () => {
      const template = {
        metadata: { labels: { app: 'moved' }, annotations: { [ELECT_ANNOTATION]: '' } },
        spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
      };
      const spec = { replicas: 1, selector: { matchLabels: { app: 'moved' } }, template };
      await world.source.client.create(
        DEPLOYMENTS, { metadata: { namespace: NAMESPACE, name: 'moved' }, spec } as KubernetesObject,
      );
      const isMoved = (pods: readonly Pod[]) =>
        inNamespace(pods, NAMESPACE).filter((pod) => isRunning(pod) && pod.metadata.labels?.['app'] === 'moved');
      const [before] = isMoved(await world.source.pods.until('it runs', (pods) => isMoved(pods).length === 1, 60_000));
      const to = opposite(targetOf(before));
      try {
        const { code, stdout, stderr } = await typed(
          'move', `pod/${before?.metadata.name}`, '--to', to, '--timeout-seconds', '60', ...inNames, ...kubeconfig(),
        );
        assert.equal(code, 0, stderr);
        assert.match(stdout, new RegExp(`^pod/moved-.* runs in ${to}$`, 'm'));
        const name = /^pod\/(\S+)/.exec(stdout)?.[1] ?? '';
        assert.notEqual(name, before?.metadata.name);
        assert.equal(targetOf(await world.source.client.get(PODS, { namespace: NAMESPACE, name })), to);
        assert.deepEqual(await world.source.client.list(PLACEMENT_POLICIES, { namespace: NAMESPACE }), []);
        assert.equal(
          (await typed('move', `pod/${name}`, '--to', to, '--timeout-seconds', '60', ...inNames, ...kubeconfig())).code,
          0, 'again it is there already',
        );
      } finally {
        await world.source.client.delete(
          DEPLOYMENTS, { namespace: NAMESPACE, name: 'moved' }, { propagation: 'Background' },
        );
      }
    });

    it('moves a pod that nobody would make again only when told to make it anew', async () => {
      await create(aPod('single'));
      const to = opposite(targetOf(await runs('single')));
      const move = (...more: readonly string[]) =>
        typed('move', 'pod/single', '--to', to, '--timeout-seconds', '60', ...more, ...inNames, ...kubeconfig());
      const refused = await move();
      assert.deepEqual(
        [refused.code, /No controller would make pod placed\/single again\. With --recreate/.test(refused.stderr)],
        [1, true],
      );
      const { code, stderr } = await move('--recreate');
      assert.equal(code, 0, stderr);
      assert.equal(targetOf(await world.source.client.get(PODS, { namespace: NAMESPACE, name: 'single' })), to);
      const nowhere = await typed('move', 'pod/single', '--to', 'target-9', ...inNames, ...kubeconfig());
      assert.match(nowhere.stderr, /Target target-9 has no virtual node.*isthmus get targets/);
    });

    it('moves nothing for long after kill -9: the scheduler deletes the policy that was left', async () => {
      await create(aPod('cut-off'));
      const to = opposite(targetOf(await runs('cut-off')));
      const flags = ['--recreate', '--timeout-seconds', '60', ...inNames, ...kubeconfig()];
      await killedAtCall(3, ['move', 'pod/cut-off', '--to', to, ...flags]);
      const policies = () => world.source.client.list(PLACEMENT_POLICIES, { namespace: NAMESPACE });
      const left = await policies();
      assert.deepEqual(left.map(({ metadata }) => metadata.annotations), [{ [EXPIRES_AFTER_ANNOTATION]: '195' }]);
      await applyPolicy({ podSelector: {} }, 'other');
      const soon = { metadata: { annotations: { [EXPIRES_AFTER_ANNOTATION]: '1' } } }; // instead of waiting
      for (const each of [left[0]?.metadata.name ?? '', 'other']) {
        await world.source.client.patch(
          PLACEMENT_POLICIES, { namespace: NAMESPACE, name: each }, { patchType: 'merge', patch: soon },
        );
      }
      await eventually('the policy is gone', async () => (await policies()).length === 1);
      assert.deepEqual((await policies()).map(({ metadata }) => metadata.name), ['other'], 'it is of no move');
    });

    it('finds nothing wrong in clusters that are well, and shows them at a glance', async () => {
      await create(aPod('counted'));
      await runs('counted');
      for (const { cluster } of [world.source, ...world.targets]) {
        const { code, stdout } = await typed('doctor', '--kubeconfig', cluster.kubeconfigPath);
        assert.doesNotMatch(stdout, /^[✗!]/m, cluster.name);
        assert.equal(code, 0, stdout);
      }
      const { code, stdout } = await typed('status', '-o', 'json', ...kubeconfig());
      assert.equal(code, 0);
      const status = JSON.parse(stdout) as {
        targets: { name: string; ready: boolean; pods: number }[]; electedPods: Record<string, number>;
        components: Record<string, string>
      };
      const states = status.targets.map(({ name, ready }) => [name, ready]);
      assert.deepEqual(states, [['target-1', true], ['target-2', true]]);
      assert.equal(status.targets.reduce((sum, { pods }) => sum + pods, 0), status.electedPods['Running']);
      assert.ok(Object.values(status.components).every((message) => message.endsWith(' is the leader')), stdout);
      const inTarget = JSON.parse(
        (await typed('status', '-o', 'json', '--kubeconfig', world.targets[0].cluster.kubeconfigPath)).stdout,
      ) as { sources: { ready: boolean }[] };
      assert.deepEqual(inTarget.sources.map(({ ready }) => ready), [true]);
    });

    it('finds permissions that were changed and a webhook that is away, each with what to do', async () => {
      const target = world.targets[0];
      const at = { name: 'isthmus-source' };
      const { rules } = (await target.client.get(CLUSTER_ROLES, at)) as KubernetesObject & { readonly rules?: unknown };
      await target.client.patch(CLUSTER_ROLES, at, { patchType: 'merge', patch: { rules: [] } });
      const changed = await typed('doctor', '--kubeconfig', target.cluster.kubeconfigPath);
      await target.client.patch(CLUSTER_ROLES, at, { patchType: 'merge', patch: { rules } });
      assert.match(
        changed.stdout,
        /! Permissions: ClusterRole isthmus-source: it is not what this version installs\n {4}Run "isthmus install" again/,
      );
      await world.isthmus.processes.get(world.source.cluster.name)?.stop();
      const away = await typed('doctor', '-o', 'json', ...kubeconfig());
      await world.isthmus.restart(world.source.cluster.name);
      const { findings } =
        JSON.parse(away.stdout) as { findings: { check: string; severity: string; remedy?: string }[] };
      const errors = findings.filter(({ severity }) => severity === 'error');
      assert.equal(away.code, 1);
      assert.ok(
        errors.some(({ check }) => check === 'Webhook') && errors.some(({ check }) => check === 'Components'),
        away.stdout,
      );
      assert.ok(errors.every(({ remedy }) => remedy !== undefined));
    });
  });
});
