// What holds for delegates in both modes: ended is final, time to stop is honoured, nothing runs twice. Run once for
// each mode, on real control planes, with a target that is delegated to in it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { Condition, KubernetesObject, Pod, PodPhase, Secret, StringMap } from '../../api/objects/core.ts';
import {
  ADMIRALTY_PREFIX, SENT_CHANGES_ANNOTATION, CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, PARENT_NAME_ANNOTATION,
  PARENT_UID_LABEL,
  POD_MISSING_SINCE_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, RUN_ONCE_FINALIZER,
} from '../../api/objects/keys.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  EVENTS, NODES, PODS, SECRETS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { WatchedCollection } from '../support/history/watched-collection.ts';
import { JOBS, STATEFUL_SETS } from '../support/objects/resource-types.ts';
import { inNamespace, isRunning, type IsthmusWorld, type WorldCluster } from '../support/worlds/isthmus-world.ts';

/** A world with a target that is delegated to in the mode; all pods of the suite go there. */
export interface DelegationUnderTest {
  readonly mode: DelegationMode;
  readonly world: () => IsthmusWorld;
  readonly home: () => WorldCluster;
  /** Of the source and the target. */
  readonly namespace: string;
}

/** A running elected pod and its delegate. */
interface Pair {
  readonly proxy: Pod;
  readonly delegate: Pod;
}

/** A finalizer of somebody who waits for the end of a pod, as the Job controller does. */
const AWAITED = 'example.com/awaits-the-end';
const STORAGE_CLASSES: ResourceType =
  { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses', kind: 'StorageClass', namespaced: false };
const PERSISTENT_VOLUMES: ResourceType =
  { group: '', version: 'v1', plural: 'persistentvolumes', kind: 'PersistentVolume', namespaced: false };

const at = ({ metadata: { namespace, name = '' } }: Pod) => ({ namespace, name });
const condition = (pod: Pod | undefined, wanted: string): Condition
  | undefined => pod?.status?.conditions?.find(({ type }) => type === wanted);

/** The suite. */
export function delegationContract(under: DelegationUnderTest): void {
  const actor = new Actor(under);
  describe(`delegation by ${under.mode}`, () => {
    describe('a pod that ran to its end', () => endsOf(under, actor));
    describe('a pod that is deleted', () => deletionsOf(under, actor));
    describe('the status of a proxy pod', () => statusOf(under, actor));
    describe('a running pod', () => changesOf(under, actor));
    describe('a StatefulSet', () => statefulSetsOf(under, actor));
    describe('a Secret that a pod names', () => secretsOf(under, actor));
    describe('a pod with a queue of the target', () => queuesOf(under, actor));
    describe('a container', () => seenPodsOf(under, actor));
    describe('replicas that are to be apart', () => replicasOf(under, actor));
    describe('an ephemeral volume', () => ephemeralVolumesOf(under, actor));
  });
}

class Actor {
  readonly #under: DelegationUnderTest;

  constructor(under: DelegationUnderTest) {
    this.#under = under;
  }

  /** Annotations that send a pod to the target of this suite. */
  annotations(): Record<string, string> {
    const constraints =
      JSON.stringify({ nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: this.#under.home().cluster.name } });
    return { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: constraints };
  }

  /** Read from the targets themselves: what was seen in the source may not have been seen in a watch of theirs yet. */
  async delegatesOf(proxy: Pod): Promise<Pod[]> {
    const all = await Promise.all(
      this.#under.world().targets.map(({ client }) => client.list(PODS, { namespace: this.#under.namespace })),
    );
    return all.flat().filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid);
  }

  async run(name: string, spec: Partial<Pod['spec']> = {}, labels: StringMap = {}): Promise<Pair> {
    const { namespace } = this.#under;
    const { source } = this.#under.world();
    const metadata = { namespace, name, labels, annotations: this.annotations() };
    await source.client.create(
      PODS, { metadata, spec: { containers: [{ name: 'main', image: 'example/main:1' }], ...spec } } as Pod,
    );
    const isIt = (pod: Pod) => pod.metadata.namespace === namespace && pod.metadata.name === name && isRunning(pod);
    const proxy = (await source.pods.until(`${name} runs`, (all) => all.some(isIt))).find(isIt)!;
    return { proxy, delegate: (await this.delegatesOf(proxy))[0]! };
  }

  /** The proxy as it is once `holds`; undefined when it has gone. */
  async proxyBecomes(
    { proxy }: Pair, what: string, holds: (pod: Pod | undefined) => boolean,
  ): Promise<Pod | undefined> {
    const find = (all: readonly Pod[]) => all.find(({ metadata }) => metadata.uid === proxy.metadata.uid);
    return find(await this.#under.world().source.pods.until(
      `${proxy.metadata.name} is ${what}`, (all) => holds(find(all)), 60_000,
    ));
  }

  /** How many pods there ever were for a proxy, over all targets. */
  async everMade({ proxy }: Pair): Promise<number> {
    const followed = await Promise.all(this.#under.world().targets.map(({ pods }) => pods.caughtUp()));
    const versions = followed
      .flatMap((pods) => pods.history.flatMap(({ after: pod }) => (pod === undefined ? [] : [pod])));
    return new Set(versions.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid).map(
      ({ metadata }) => metadata.uid,
    )).size;
  }

  /**
   * Deletes the proxy, or the delegate where `by` is its cluster; its containers stop as a kubelet tells it: the phase
   * first, then the delete.
   */
  async stopAs(phase: PodPhase, pair: Pair, by: WorldCluster = this.#under.world().source): Promise<void> {
    const { cluster, client, pods } = this.#under.home();
    await cluster.stopComponent('kwok', 'SIGSTOP');
    try {
      await by.client.delete(PODS, at(by.cluster === cluster ? pair.delegate : pair.proxy));
      await pods.until('the delegate is told to stop', (all) => all.some(
        ({ metadata }) => metadata.uid === pair.delegate.metadata.uid && metadata.deletionTimestamp !== undefined,
      ));
      await this.patchStatus(pair, { phase });
      // The API server removes a pod that has ended at any delete: one of ours may be first.
      await client.delete(PODS, at(pair.delegate), { gracePeriodSeconds: 0 }).catch(unless(isNotFound));
    } finally {
      await cluster.startComponent('kwok');
    }
  }

  patchStatus({ delegate }: Pair, status: object): Promise<unknown> {
    return this.#under.home().client
      .patch(PODS, { ...at(delegate), subresource: 'status' }, { patchType: 'strategic', patch: { status } });
  }
}

/** Where the target reports on copies, and where it has nothing of ours. */
function secretsOf({ world, home, namespace }: DelegationUnderTest, actor: Actor): void {
  it('follows it, is put right, and goes with it', async () => {
    const where = { namespace, name: 'password' };
    const type: ResourceType<Secret> = SECRETS;
    const data = (text: string) => ({ key: Buffer.from(text).toString('base64') });
    const copyBecomes = async (what: string, holds: (copy: Secret | undefined) => boolean) => {
      const look = async () => (holds(await home().client.get(type, where).catch(() => undefined)) ? true : undefined);
      assert.ok(await pollUntil(look, { forMs: 60_000, everyMs: 100 }, world().signal), what);
    };
    const says = (text: string) => (copy: Secret | undefined) => copy?.data?.['key'] === data(text)['key'];
    await world().source.client.create(SECRETS, { metadata: where, data: data('first') } as Secret);
    const pair = await actor.run(
      'reader', { volumes: [{ name: 'password', secret: { secretName: 'password' } } as { name: string }] },
    );
    await copyBecomes('it follows', says('first'));
    await home().client.patch(SECRETS, where, { patchType: 'merge', patch: { data: data('forged') } });
    await copyBecomes('it is put right', says('first'));
    await world().source.client.patch(SECRETS, where, { patchType: 'merge', patch: { data: data('second') } });
    await copyBecomes('a change follows', says('second'));
    await world().source.client.delete(PODS, at(pair.proxy));
    await copyBecomes('it goes', (copy) => copy === undefined);
    await world().source.client.delete(SECRETS, where);
  });
}

const MUTATING_POLICIES: ResourceType = {
  group: 'admissionregistration.k8s.io', version: 'v1', plural: 'mutatingadmissionpolicies',
  kind: 'MutatingAdmissionPolicy', namespaced: false,
};
const MUTATING_POLICY_BINDINGS: ResourceType =
  { ...MUTATING_POLICIES, plural: 'mutatingadmissionpolicybindings', kind: 'MutatingAdmissionPolicyBinding' };

/**
 * The target has what Kueue's webhook does of it: a pod with the label of a queue is held back by a gate until it is
 * its turn (ADR 0041).
 */
function queuesOf({ mode, world, home, namespace }: DelegationUnderTest, actor: Actor): void {
  it('is held back there, keeps its queue, and runs in its turn', async () => {
    const name = `queue-of-${mode.toLowerCase()}`;
    const gate = { name: 'kueue.x-k8s.io/admission' };
    const queue = { 'kueue.x-k8s.io/queue-name': 'gpus' };
    const policy = {
      matchConstraints:
        { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
      matchConditions:
        [{ name: 'queued', expression: `object.metadata.?labels['kueue.x-k8s.io/queue-name'].orValue('') == 'gpus'` }],
      mutations: [{
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "${gate.name}"}]}}`,
        },
      }],
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
    };
    await home().client.create(MUTATING_POLICIES, { metadata: { name }, spec: policy } as KubernetesObject);
    await home().client.create(
      MUTATING_POLICY_BINDINGS, { metadata: { name }, spec: { policyName: name } } as KubernetesObject,
    );
    const probe = {
      metadata: { namespace, generateName: 'probe-', labels: queue },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    } as Pod;
    const isHeld = async () =>
      ((await home().client.dryRunCreate(PODS, probe)).spec.schedulingGates === undefined ? undefined : true);
    assert.ok(
      await pollUntil(isHeld, { forMs: 60_000, everyMs: 100 }, world().signal), 'the target holds such pods back',
    );
    try {
      const { source } = world();
      await source.client.create(
        PODS,
        {
          metadata: { namespace, name: 'queued', labels: queue, annotations: actor.annotations() }, spec: probe.spec,
        } as Pod,
      );
      const find = (all: readonly Pod[]) => all.find(
        ({ metadata }) =>
          metadata.annotations?.[PARENT_NAME_ANNOTATION] === 'queued' && metadata.namespace === namespace,
      );
      const held = find(await home().pods.until(
        'the delegate is held back', (all) => condition(find(all), 'PodScheduled')?.reason === 'SchedulingGated',
      ))!;
      assert.deepEqual(
        [held.spec.schedulingGates, held.metadata.labels?.['kueue.x-k8s.io/queue-name']], [[gate], 'gpus'],
      );
      await home().client.patch(PODS, at(held), { patchType: 'merge', patch: { spec: { schedulingGates: [] } } });
      await source.pods.until('it runs', (all) => all.some(
        (pod) => pod.metadata.name === 'queued' && pod.metadata.namespace === namespace && isRunning(pod),
      ));
      assert.equal(
        home().pods.get(`${namespace}/${held.metadata.name}`)?.metadata.uid, held.metadata.uid, 'it was waited for',
      );
    } finally {
      await home().client.delete(MUTATING_POLICY_BINDINGS, { name });
      await home().client.delete(MUTATING_POLICIES, { name });
    }
  });
}

/** What a kubelet would make of a field of this pod (`pkg/fieldpath`). */
function fieldOf({ metadata }: Pod, path: string): string | undefined {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  return metadata[map as 'labels' | 'annotations']?.[key];
}

function seenPodsOf({ world, namespace }: DelegationUnderTest, actor: Actor): void {
  it('sees the labels, annotations, name and UID of its source pod, and the host name', async () => {
    const item = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });
    const { proxy, delegate } = await actor.run('seen', {
      containers: [{
        name: 'main', image: 'example/main:1',
        env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }],
      volumes: [{ name: 'pod', downwardAPI: { items: [
        item('uid', 'metadata.uid'), item('labels', 'metadata.labels'), item('annotations', 'metadata.annotations'),
      ] } }],
    });
    const paths = [
      ...(delegate.spec.containers[0]?.env ?? []).map(({ valueFrom }) => valueFrom?.fieldRef?.fieldPath ?? ''),
      ...(delegate.spec.volumes?.find(({ name }) => name === 'pod')?.downwardAPI?.items ?? [])
        .map(({ fieldRef }) => fieldRef?.fieldPath ?? ''),
    ];
    assert.deepEqual(paths.map((path) => fieldOf(delegate, path)), ['seen', proxy.metadata.uid, '', '']);
    assert.equal(delegate.spec.hostname, 'seen');
    await world().source.client.delete(PODS, at(proxy));
  });

  it('of an Indexed Job has its index', async () => {
    const { client, pods } = world().source;
    const where = { namespace, name: 'indexed' };
    const template = {
      metadata: { annotations: actor.annotations() },
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    await client.create(JOBS, {
      metadata: where, spec: { completionMode: 'Indexed', completions: 3, parallelism: 3, template },
    } as KubernetesObject);
    const own = (all: readonly Pod[]) => inNamespace([...all], namespace).filter(
      (pod) => pod.metadata.labels?.['batch.kubernetes.io/job-name'] === where.name && isRunning(pod),
    );
    const running = own(await pods.until('three pods run', (all) => own(all).length === 3));
    const indexes = await Promise.all(running.map(async (proxy) => {
      const [delegate] = await actor.delegatesOf(proxy);
      const index = delegate?.spec.containers[0]?.env?.find(({ name }) => name === 'JOB_COMPLETION_INDEX');
      return fieldOf(delegate!, index?.valueFrom?.fieldRef?.fieldPath ?? '');
    }));
    assert.deepEqual(new Set(indexes), new Set(['0', '1', '2']));
    await client.delete(JOBS, where, { propagation: 'Background' });
  });
}

function replicasOf({ world, namespace }: DelegationUnderTest, actor: Actor): void {
  it('are so on the nodes of a target', async () => {
    const { client, pods } = world().source;
    const labels = { app: 'apart' };
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } };
    const spec = {
      containers: [{ name: 'main', image: 'example/main:1' }],
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    const names = ['apart-0', 'apart-1'];
    const find = (all: readonly Pod[], name?: string) =>
      inNamespace([...all], namespace).find(({ metadata }) => metadata.name === name);
    for (const name of names) {
      const metadata = { namespace, name, labels, annotations: actor.annotations() };
      await client.create(PODS, { metadata, spec } as Pod);
      const isDecided = (pod: Pod | undefined) => (pod !== undefined && isRunning(pod))
        || condition(pod, 'PodScheduled')?.message?.includes('anti-affinity') === true;
      await pods.until(`${name} runs or not`, (all) => isDecided(find(all, name)), 60_000);
    }
    // the target has one node
    assert.deepEqual(names.map((name) => find(pods.objects, name)?.status?.phase), ['Running', 'Pending']);
    for (const name of names) await client.delete(PODS, { namespace, name });
  });
}

function ephemeralVolumesOf({ world, home }: DelegationUnderTest, actor: Actor): void {
  it('is made in the target, by a claim of the delegate', async () => {
    const [storageClassName, storage] = ['made-by-hand', '1Gi'];
    const make = (type: ResourceType, object: object) =>
      home().client.create(type, { metadata: { name: storageClassName }, ...object });
    await make(STORAGE_CLASSES, {
      provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer',
    });
    const accessModes = ['ReadWriteOnce'];
    await make(PERSISTENT_VOLUMES, {
      spec: { storageClassName, capacity: { storage }, accessModes, hostPath: { path: '/tmp' } },
    });
    const claim = { spec: { storageClassName, accessModes, resources: { requests: { storage } } } };
    const pair = await actor.run('with-claim', { volumes: [
      { name: 'scratch', ephemeral: { volumeClaimTemplate: claim } } as NonNullable<Pod['spec']['volumes']>[number],
    ] });
    await world().source.client.delete(PODS, at(pair.proxy));
  });
}

function endsOf({ mode, world, home, namespace }: DelegationUnderTest, actor: Actor): void {
  it('44, 45: is Failed with its reason when it was evicted there, and stays so when the delegate is cleaned up',
    async () => {
    const pair = await actor.run('evicted');
    await actor.patchStatus(
      pair, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    );
    const failed = await actor.proxyBecomes(pair, 'Failed', (pod) => pod?.status?.phase === 'Failed');
    assert.deepEqual(
      [failed?.status?.reason, failed?.status?.message], ['Evicted', 'The node was low on resource: memory.'],
    );
    await home().client.delete(PODS, at(pair.delegate));
    const name = pair.delegate.metadata.name;
    if (mode === 'Pod') await home().pods.until(
      'it is gone', (all) => !all.some(({ metadata }) => metadata.uid === pair.delegate.metadata.uid),
    );
    else await home().chaperons.until('it is known to be missing, or ended', (all) => all.some(
      ({ metadata, status }) => metadata.name === name && (
        status?.phase === 'Failed' || metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION] !== undefined
      ),
    ));
    assert.equal(world().source.pods.get(`${namespace}/evicted`)?.status?.phase, 'Failed');
    assert.equal(await actor.everMade(pair), 1);
  });

  it('44: is not run again when it must run once and was taken away while whoever keeps it was down', async () => {
    const pair = await actor.run('once', { restartPolicy: 'Never' });
    assert.ok(pair.delegate.metadata.finalizers?.includes(RUN_ONCE_FINALIZER));
    const keeper = mode === 'Pod' ? world().source.cluster.name : home().cluster.name;
    await world().isthmus.processes.get(keeper)!.kill();
    await home().client.delete(PODS, at(pair.delegate));
    await home().pods.until('its containers have stopped', (all) => all.some(
      ({ metadata }) => metadata.uid === pair.delegate.metadata.uid && metadata.deletionGracePeriodSeconds === 0,
    ));
    await world().isthmus.restart(keeper);
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    assert.equal(await actor.everMade(pair), 1);
    assert.deepEqual(await actor.delegatesOf(pair.proxy), []);
  });

  it('shows its end and goes when its delegate is drained', async () => {
    const pair = await actor.run('drained');
    await actor.stopAs('Failed', pair, home());
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    const shown = world().source.pods.history
      .filter(({ after: pod }) => pod?.metadata.uid === pair.proxy.metadata.uid && pod?.status?.phase === 'Failed');
    // In Pod mode nothing keeps a delegate that may run again: the source may see it gone before it reads how it ended.
    if (mode === 'PodChaperon') assert.ok(shown.length > 0, 'it was Failed before');
    assert.equal(await actor.everMade(pair), 1);
  });

  it('shows how it ended, and nothing keeps its delegate then', async () => {
    const pair = await actor.run('ends', { restartPolicy: 'Never' });
    await actor.patchStatus(pair, { phase: 'Succeeded' });
    await actor.proxyBecomes(pair, 'Succeeded', (pod) => pod?.status?.phase === 'Succeeded');
    await world().source.client.delete(PODS, at(pair.proxy));
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    assert.deepEqual(await actor.delegatesOf(pair.proxy), []);
  });
}

function deletionsOf({ world, home, namespace }: DelegationUnderTest, actor: Actor): void {
  it('stays until its containers have stopped there, within the time that was asked for', async () => {
    const pair = await actor.run('graceful');
    await home().cluster.stopComponent('kwok', 'SIGSTOP');
    try {
      await world().source.client.delete(PODS, at(pair.proxy), { gracePeriodSeconds: 17 });
      const stopping = (seconds: number) => (all: readonly Pod[]) => all.some(
        ({ metadata }) =>
          metadata.uid === pair.delegate.metadata.uid && metadata.deletionGracePeriodSeconds === seconds,
      );
      await home().pods.until('the delegate has 17 s', stopping(17));
      assert.ok(world().source.pods.get(`${namespace}/graceful`) !== undefined, 'the proxy waits');
      await world().source.client.delete(PODS, at(pair.proxy), { gracePeriodSeconds: 3 });
      await home().pods.until('the delegate has 3 s', stopping(3));
      assert.ok(world().source.pods.get(`${namespace}/graceful`) !== undefined, 'the proxy waits on');
    } finally {
      await home().cluster.startComponent('kwok');
    }
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    assert.deepEqual(await actor.delegatesOf(pair.proxy), []);
  });

  for (const [restartPolicy, phase] of [['Never', 'Succeeded'], ['Always', 'Failed']] as const) {
    it(`shows that its delegate, of policy ${restartPolicy}, ended as ${phase}, before it is let go`, async () => {
      const pair = await actor.run(`awaited-${restartPolicy.toLowerCase()}`, { restartPolicy });
      const keep = (finalizers: readonly string[]) =>
        world().source.client.patch(PODS, at(pair.proxy), { patchType: 'merge', patch: { metadata: { finalizers } } });
      await keep([...(pair.proxy.metadata.finalizers ?? []), AWAITED]);
      await actor.stopAs(phase, pair);
      const ended = await actor.proxyBecomes(
        pair, 'let go by us', (pod) => pod?.metadata.finalizers?.length === 1 && pod.metadata.finalizers[0] === AWAITED,
      );
      assert.deepEqual([ended?.status?.phase, ended?.status?.reason], [phase, undefined]);
      await keep([]);
      await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
      assert.deepEqual(await actor.delegatesOf(pair.proxy), []);
    });
  }

  it('is Failed for a controller that waits for its end when nobody has seen that', async () => {
    const pair = await actor.run('unseen');
    await world().source.client.patch(PODS, at(pair.proxy), {
      patchType: 'merge', patch: { metadata: { finalizers: [...(pair.proxy.metadata.finalizers ?? []), AWAITED] } },
    });
    await world().source.client.delete(PODS, at(pair.proxy)); // kwok tells no end
    const ended = await actor.proxyBecomes(pair, 'let go by us', (pod) => pod?.metadata.finalizers?.length === 1);
    assert.deepEqual([ended?.status?.phase, ended?.status?.reason], ['Failed', 'EndUnknown']);
    await world().source.client.patch(
      PODS, at(pair.proxy), { patchType: 'merge', patch: { metadata: { finalizers: null } } },
    );
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
  });

  it('lets its Job, which replaces failed pods only, complete', async () => {
    const { client, pods } = world().source;
    const where = { namespace, name: 'replaces-failed' };
    const template = {
      metadata: { annotations: actor.annotations() },
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    await client.create(JOBS, {
      metadata: where, spec: { backoffLimit: 0, podReplacementPolicy: 'Failed', template },
    } as KubernetesObject);
    const isIts = (pod: Pod) => pod.metadata.namespace === namespace && isRunning(pod)
      && pod.metadata.labels?.['batch.kubernetes.io/job-name'] === where.name;
    const proxy = (await pods.until('the pod of the Job runs', (all) => all.some(isIts))).find(isIts)!;
    const pair = { proxy, delegate: (await actor.delegatesOf(proxy))[0]! };
    await actor.stopAs('Succeeded', pair);
    const isComplete = async () => {
      const job: KubernetesObject & Pick<Pod, 'status'> = await client.get(JOBS, where);
      return job.status?.conditions?.some(({ type, status }) => type === 'Complete' && status === 'True') || undefined;
    };
    assert.ok(await pollUntil(isComplete, { forMs: 60_000, everyMs: 100 }, world().signal), 'the Job is complete');
    await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    await client.delete(JOBS, where);
  });

  const sleeping = { lifecycle: { preStop: { sleep: { seconds: 9 } } } };
  for (const [name, hook] of [['own-time', {}], ['sleeps-before-it-stops', sleeping]] as const) {
    it(`has its own time when none was asked for: ${name}`, async () => {
      const containers = [{ name: 'main', image: 'example/main:1', ...hook }];
      const pair = await actor.run(name, { containers, terminationGracePeriodSeconds: 23 });
      await world().source.client.delete(PODS, at(pair.proxy));
      await actor.proxyBecomes(pair, 'gone', (pod) => pod === undefined);
      const seconds = (await home().pods.caughtUp()).history.flatMap(({ after: pod }) => (
        pod !== undefined
          && pod.metadata.uid === pair.delegate.metadata.uid ? [pod.metadata.deletionGracePeriodSeconds] : []
      ));
      assert.ok(seconds.includes(23), String(seconds));
    });
  }
}

function statusOf({ world }: DelegationUnderTest, actor: Actor): void {
  it('shows no container that the target has put in, and keeps a condition that the source has set', async () => {
    const pair = await actor.run('mixed');
    const gate: Condition = { type: 'example.com/gate', status: 'True' };
    await world().source.client.patch(PODS, { ...at(pair.proxy), subresource: 'status' }, {
      patchType: 'strategic', patch: { status: { conditions: [gate] } },
    });
    const [main] = pair.delegate.status?.containerStatuses ?? [];
    await actor.patchStatus(
      pair, { containerStatuses: [{ ...main, restartCount: 3 }, { ...main, name: 'mesh-proxy' }] },
    );
    const shown = await actor.proxyBecomes(
      pair, 'restarted', (pod) => JSON.stringify(pod?.status?.containerStatuses ?? []).includes('"restartCount":3'),
    );
    assert.deepEqual(shown?.status?.containerStatuses?.map(({ name }) => name), ['main']);
    assert.equal(condition(shown, gate.type)?.status, 'True');
    assert.equal(condition(shown, 'Ready')?.status, 'True');
  });

  for (const [clock, ms] of [['ahead', 3_600_000], ['behind', -3_600_000]] as const) {
    it(`shows times of a node whose clock is an hour ${clock} as they are, and the pod's end`, async () => {
      const pair = await actor.run(`clock-${clock}`);
      const time = `${new Date(Date.now() + ms).toISOString().slice(0, 19)}Z`;
      const [main] = pair.delegate.status?.containerStatuses ?? [];
      const ready: Condition = { type: 'Ready', status: 'True', lastTransitionTime: time };
      const containerStatuses = [{ ...main, restartCount: 1, state: { running: { startedAt: time } } }];
      await actor.patchStatus(pair, { startTime: time, conditions: [ready], containerStatuses });
      const isRestarted = (pod: Pod | undefined): boolean =>
        JSON.stringify(pod?.status?.containerStatuses ?? []).includes('"restartCount":1');
      const shown = await actor.proxyBecomes(pair, 'restarted', isRestarted);
      assert.deepEqual([
        shown?.status?.startTime, condition(shown, 'Ready')?.lastTransitionTime,
        JSON.stringify(shown?.status?.containerStatuses).includes(time),
      ], [time, time, true]);
      await actor.patchStatus(pair, { phase: 'Succeeded' });
      await actor.proxyBecomes(pair, 'Succeeded', (pod) => pod?.status?.phase === 'Succeeded');
      assert.equal(await actor.everMade(pair), 1);
    });
  }
}

function changesOf({ mode, world, home }: DelegationUnderTest, actor: Actor): void {
  const delegateBecomes = async ({ delegate }: Pair, what: string, holds: (pod: Pod) => boolean): Promise<Pod> => {
    const isIt = (pod: Pod) => pod.metadata.uid === delegate.metadata.uid && holds(pod);
    return (await home().pods.until(what, (all) => all.some(isIt), 60_000)).find(isIt)!;
  };
  const patch = ({ proxy }: Pair, change: object, subresource?: 'resize' | 'status') =>
    world().source.client.patch(
      PODS, { ...at(proxy), ...(subresource && { subresource }) }, { patchType: 'strategic', patch: change },
    );

  it('has what its user changes of it: image, deadline, tolerations, resources; and what is taken back', async () => {
    const requests = { cpu: '100m' };
    const pair =
      await actor.run('changed', { containers: [{ name: 'main', image: 'example/main:1', resources: { requests } }] });
    await patch(
      pair, { spec: { containers: [{ name: 'main', image: 'example/main:2' }], activeDeadlineSeconds: 3_000 } },
    );
    await delegateBecomes(
      pair, 'the image and the deadline',
      ({ spec }) => spec.containers[0]?.image === 'example/main:2' && spec.activeDeadlineSeconds === 3_000,
    );
    const proxy = world().source.pods.get(`${pair.proxy.metadata.namespace}/changed`)!;
    const added = { key: 'example.com/dedicated', operator: 'Exists' } as const;
    await patch(pair, { spec: { tolerations: [...(proxy.spec.tolerations ?? []), added] } });
    // A kubelet that can resize tells what containers have; API servers ask for that.
    const [main] = pair.delegate.status?.containerStatuses ?? [];
    await actor.patchStatus(pair, { containerStatuses: [{ ...main, resources: { requests } }] });
    await actor.proxyBecomes(
      pair, 'resizable', (pod) => JSON.stringify(pod?.status?.containerStatuses ?? []).includes('"resources"'),
    );
    await patch(pair, { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '200m' } } }] } }, 'resize');
    const changed = await delegateBecomes(
      pair, 'toleration and resources',
      ({ spec }) => spec.containers[0]?.resources?.requests?.['cpu'] === '200m' && JSON.stringify(spec.tolerations)
        .includes(added.key),
    );
    assert.ok(!JSON.stringify(changed.spec.tolerations).includes('virtual-kubelet'));
    await patch(pair, { spec: { containers: [{ name: 'main', image: 'example/main:1' }] } });
    await delegateBecomes(pair, 'the first image', ({ spec }) => spec.containers[0]?.image === 'example/main:1');
    assert.equal(await actor.everMade(pair), 1);
  });

  it('has the labels that its user changes, and what is taken back', async () => {
    const pair = await actor.run('labelled', {}, { app: 'web', role: 'replica' });
    const label = (labels: object) => patch(pair, { metadata: { labels } });
    const shows = (what: string, ...values: readonly (string | undefined)[]) =>
      delegateBecomes(pair, what, ({ metadata: { labels = {} } }) =>
        ['app', 'role', 'more'].every((key, index) => labels[ADMIRALTY_PREFIX + key] === values[index]));
    await label({ role: 'primary', app: null, more: 'x' });
    const changed = await shows('the labels of now', undefined, 'primary', 'x');
    assert.equal(changed.metadata.labels?.[PARENT_UID_LABEL], pair.proxy.metadata.uid);
    await label({ app: 'web', more: null });
    await shows('what is taken back', 'web', 'primary', undefined);
    assert.equal(await actor.everMade(pair), 1);
  });

  it('is resized as a whole when its user resizes the pod', async () => {
    const requests = (cpu: string) => ({ requests: { cpu } });
    const pair = await actor.run('resized-as-a-whole', { resources: requests('100m') });
    const [main] = pair.delegate.status?.containerStatuses ?? [];
    await actor.patchStatus(pair, { containerStatuses: [{ ...main, resources: {} }], resources: requests('100m') });
    await actor.proxyBecomes(pair, 'resizable', (pod) => pod?.status?.resources !== undefined);
    const declared = { status: { declaredFeatures: ['InPlacePodLevelResourcesVerticalScaling'] } };
    const node = { name: pair.delegate.spec.nodeName ?? '', subresource: 'status' } as const;
    await home().client.patch(NODES, node, { patchType: 'merge', patch: declared });
    await patch(pair, { spec: { resources: requests('200m') } }, 'resize');
    await delegateBecomes(pair, 'resources', ({ spec }) => spec.resources?.requests?.['cpu'] === '200m');
    await patch(pair, { spec: { resources: requests('100m') } }, 'resize');
    await delegateBecomes(pair, 'the first ones', ({ spec }) => spec.resources?.requests?.['cpu'] === '100m');
    assert.equal(await actor.everMade(pair), 1);
  });

  it('is told by an Event that the target refuses a change, and goes on as it was', async () => {
    const pair = await actor.run('refused');
    const events = await new WatchedCollection(
      world().source.client, EVENTS, { namespace: pair.proxy.metadata.namespace ?? '' },
    ).start(world().signal);
    // it may only become shorter
    await home().client.patch(
      PODS, at(pair.delegate), { patchType: 'merge', patch: { spec: { activeDeadlineSeconds: 100 } } },
    );
    await patch(pair, { spec: { activeDeadlineSeconds: 3_000 } });
    type Told = KubernetesObject
      & { readonly reason?: string; readonly note?: string; readonly regarding?: { readonly uid?: string } };
    const isTold = ({ regarding, reason, note }: Told) =>
      regarding?.uid === pair.proxy.metadata.uid && reason === 'ChangeRefused'
        && (note ?? '').includes('activeDeadlineSeconds');
    await events.until('it is told', (all: readonly Told[]) => all.some(isTold), 60_000);
    assert.equal((await home().client.get(PODS, at(pair.delegate))).spec.activeDeadlineSeconds, 100);
    assert.equal(await actor.everMade(pair), 1);
  });

  it('shows its status also where the target lets nobody change it', async () => {
    const pair = await actor.run('unchangeable');
    const { name } = at(pair.delegate);
    const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['UPDATE'] };
    const metadata = { name: `unchangeable-${mode.toLowerCase()}` };
    const policy = {
      metadata,
      spec: {
        matchConstraints: { resourceRules: [{ ...rule, resourceNames: [name] }] },
        validations: [{ expression: 'false', message: 'nobody changes it' }],
      },
    };
    await home().client.create(VALIDATING_ADMISSION_POLICIES, policy);
    const binding = { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } };
    await home().client.create(VALIDATING_ADMISSION_POLICY_BINDINGS, binding);
    const isDenied = () => home().client
      .patch(PODS, at(pair.delegate), { patchType: 'merge', patch: { metadata: { annotations: { try: 'it' } } } })
      .then(() => undefined, () => true as const);
    assert.ok(await pollUntil(isDenied, { forMs: 60_000, everyMs: 100 }, world().signal));
    await patch(pair, { spec: { containers: [{ name: 'main', image: 'example/main:2' }] } });
    const isReady = (pod: Pod | undefined) => condition(pod, 'Ready')?.status;
    await actor.patchStatus(pair, { conditions: [{ type: 'Ready', status: 'False' }] });
    await actor.proxyBecomes(pair, 'not ready', (pod) => isReady(pod) === 'False');
    await home().client.delete(VALIDATING_ADMISSION_POLICY_BINDINGS, metadata);
  });

  it("shows annotations that the target adds, and keeps its user's", async () => {
    const pair = await actor.run('annotated');
    await patch(pair, { metadata: { annotations: { mine: 'later' } } });
    await home().client.patch(PODS, at(pair.delegate), {
      patchType: 'merge', patch: { metadata: { annotations: { mine: 'theirs', 'cni.example.com/ips': '10.0.0.1' } } },
    });
    const shown = await actor.proxyBecomes(
      pair, 'annotated', (pod) => pod?.metadata.annotations?.['cni.example.com/ips'] === '10.0.0.1',
    );
    assert.equal(shown?.metadata.annotations?.['mine'], 'later');
    await home().client.patch(PODS, at(pair.delegate), {
      patchType: 'merge', patch: { metadata: { annotations: { 'cni.example.com/ips': null } } },
    });
    const after = await actor.proxyBecomes(
      pair, 'without it', (pod) => pod?.metadata.annotations?.['cni.example.com/ips'] === undefined,
    );
    assert.equal(after?.metadata.annotations?.['mine'], 'later');
  });

  it("shows warnings that the target's Events tell of it, each message once", async () => {
    const pair = await actor.run('warned');
    const { client, cluster } = home();
    const { namespace, name, uid } = pair.delegate.metadata;
    const events =
      await new WatchedCollection(world().source.client, EVENTS, { namespace: namespace ?? '' }).start(world().signal);
    const warn = (reason: string, note: string, type = 'Warning') => client.create(EVENTS, {
      metadata: { namespace, generateName: 'warned-' },
      eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'example.com/kubelet', reportingInstance: 'test',
      action: 'Test', reason, note, type, regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    } as KubernetesObject);
    await warn('Pulled', 'all is well', 'Normal');
    await warn('FailedMount', 'no such volume');
    await warn('FailedMount', 'no such volume');
    await warn('FailedMount', 'timed out');
    await warn('BackOff', 'restarting');
    type Shown = KubernetesObject
      & { readonly reason?: string; readonly note?: string; readonly regarding?: { readonly uid?: string } };
    // the scheduler's own
    const ofProxy = (all: readonly Shown[]) =>
      all.filter(({ regarding, reason }) => regarding?.uid === pair.proxy.metadata.uid && reason !== 'Scheduled');
    const shown = ofProxy(await events.until(
      'both are shown', (all: readonly Shown[]) => ofProxy(all).some(({ reason }) => reason === 'BackOff'),
    ));
    const prefix = `ClusterTarget/${cluster.name}: `;
    assert.deepEqual(shown.map(({ reason = '', note = '' }) => `${reason} ${note}`).toSorted(), [
      `BackOff ${prefix}restarting`, `FailedMount ${prefix}no such volume`, `FailedMount ${prefix}timed out`,
    ]);
  });

  it('is ready when the source says so for its readiness gate', async () => {
    const pair = await actor.run('gated', { readinessGates: [{ conditionType: 'example.com/lb' }] });
    const gate = (status: string) =>
      patch(pair, { status: { conditions: [{ type: 'example.com/lb', status }] } }, 'status');
    // kwok has opened it by itself; without that word, and without kwok, it is the source's.
    await home().cluster.stopComponent('kwok', 'SIGSTOP');
    try {
      await actor.patchStatus(pair, { conditions: [{ $patch: 'delete', type: 'example.com/lb' }] });
      await actor.proxyBecomes(pair, 'without it', (pod) => condition(pod, 'example.com/lb') === undefined);
      await gate('True');
      await delegateBecomes(
        pair, 'the gate is open', (pod) => condition(pod, 'example.com/lb')?.status === 'True' && carries(pod),
      );
      await gate('False');
      await delegateBecomes(pair, 'the gate is shut', (pod) => condition(pod, 'example.com/lb')?.status === 'False');
      await actor.proxyBecomes(pair, 'shut', (pod) => condition(pod, 'example.com/lb')?.status === 'False');
      await gate('True');
      await delegateBecomes(pair, 'the gate is open', (pod) => condition(pod, 'example.com/lb')?.status === 'True');
      await patch(pair, { status: { conditions: [{ $patch: 'delete', type: 'example.com/lb' }] } }, 'status');
      await delegateBecomes(pair, 'it has no gate', (pod) => condition(pod, 'example.com/lb')?.status === 'False');
      await actor.patchStatus(pair, { conditions: [{ type: 'Ready', status: 'False' }] });
      const shown = await actor.proxyBecomes(pair, 'unready', (pod) => condition(pod, 'Ready')?.status === 'False');
      assert.equal(condition(shown, 'example.com/lb'), undefined);
    } finally {
      await home().cluster.startComponent('kwok');
    }
  });
}

/** Whether changes have been brought into a delegate. */
function carries({ metadata: { annotations } }: Pod): boolean {
  return annotations?.[SENT_CHANGES_ANNOTATION] !== undefined;
}

function statefulSetsOf({ world, namespace }: DelegationUnderTest, actor: Actor): void {
  it('keeps names and host names over a replacement, and old and new never overlap', async () => {
    const { client, pods } = world().source;
    const labels = { app: 'db' };
    const template = {
      metadata: { labels, annotations: actor.annotations() },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    await client.create(
      STATEFUL_SETS,
      {
        metadata: { namespace, name: 'db' },
        spec: { replicas: 1, serviceName: 'db', selector: { matchLabels: labels }, template },
      } as KubernetesObject,
    );
    const isFirst = (pod: Pod) =>
      pod.metadata.namespace === namespace && pod.metadata.name === 'db-0' && isRunning(pod);
    const before = (await pods.until('db-0 runs', (all) => all.some(isFirst))).find(isFirst)!;
    await client.delete(PODS, at(before));
    const isSecond = (pod: Pod) => isFirst(pod) && pod.metadata.uid !== before.metadata.uid;
    const second = (await pods.until('the next db-0 runs', (all) => all.some(isSecond), 60_000)).find(isSecond)!;
    const delegate = (await actor.delegatesOf(second))[0] as Pod & { readonly spec: { readonly hostname?: string } };
    assert.equal(delegate.spec.hostname, 'db-0');
    await client.delete(STATEFUL_SETS, { namespace, name: 'db' });
    await pods.until(
      'db is gone', (all) => !inNamespace(all, namespace).some(({ metadata }) => metadata.name === 'db-0'), 60_000,
    );
  });
}
