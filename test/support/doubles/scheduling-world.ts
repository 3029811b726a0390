// A source and its targets without any server, for the real scheduling loop: informers whose records a test sets,
// clients that do at once what a test lets them do, and virtual time. Nothing here decides anything.
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CONFIRM_BEFORE_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import type { Condition, Node, ObjectMeta, Pod, PodStatus, ResourceList } from '../../../api/objects/core.ts';
import type { ClusterSummary } from '../../../api/kinds/cluster-summary.ts';
import type { PodChaperon } from '../../../api/kinds/pod-chaperon.ts';
import type { SourceLease } from '../../../api/kinds/source-lease.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import {
  toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod,
} from '../../../model/delegate/cached-delegate.ts';
import { targetKey, type TargetRef } from '../../../model/naming/target-ref.ts';
import type { EventRecord } from '../../../model/proxy/event-record.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../model/proxy/proxy-pod.ts';
import { startScheduling, type SchedulingOptions } from '../../../scheduler/cycle/scheduling-controller.ts';
import type { ClusterCache } from '../../../scheduler/cycle/cluster-cache.ts';
import type { PlacementInputsListener } from '../../../scheduler/cache/placement-inputs.ts';
import type { PolicyIndex } from '../../../scheduler/snapshot/placement-rules.ts';
import { ReadyTargets } from '../../../targets/ready-targets.ts';
import { SILENT } from './scripted-api-server.ts';

type Listener<R> = (key: string, before: R | undefined, after: R | undefined) => void;

/** An informer whose records a test sets. */
export class FakeInformer<R> {
  readonly #records = new Map<string, R>();
  readonly #listeners: Listener<R>[] = [];

  onChange(listener: Listener<R>): void {
    this.#listeners.push(listener);
  }

  get(key: string): R | undefined {
    return this.#records.get(key);
  }

  records(): Iterable<R> {
    return this.#records.values();
  }

  /** The record is new or has changed; undefined: it is gone. */
  set(key: string, after: R | undefined): void {
    const before = this.#records.get(key);
    if (after === undefined) this.#records.delete(key);
    else this.#records.set(key, after);
    if (before !== undefined || after !== undefined) for (const tell of this.#listeners) tell(key, before, after);
  }
}

/** What a target's API server makes of a create. */
export type CreateAnswer = 'made' | 'made, not seen yet' | 'made, answer lost' | 'silence' | Error;

/** A target whose objects and health a test sets. */
export class FakeTarget {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly chaperons = new FakeInformer<Chaperon>();
  readonly delegates = new FakeInformer<DelegatePod>();
  /** What the API server has stored, which informers may not have seen. */
  readonly stored = new Map<string, PodChaperon>();
  /** UIDs of the pods whose creates arrived. */
  readonly creates: string[] = [];
  /** Keys of the chaperons whose deadline was removed. */
  readonly released: string[] = [];
  /** Deadlines before which all candidates are confirmed, as announced. */
  readonly announced: string[] = [];
  isReady = true;
  /** The object of the target is being deleted. */
  terminating = false;
  /** The spec of its virtual node. */
  node: NonNullable<Node['spec']> = {};
  answers = true;
  hasSynced = true;
  hasSession = true;
  mode: 'PodChaperon' | 'Pod' | undefined = 'PodChaperon';
  /** Since when nothing was heard of it, in ms; undefined where it is known to be down. */
  silentMs: number | undefined = 0;
  onCreate: CreateAnswer = 'made';
  onDelete: 'deleted' | Error = 'deleted';
  summary: ClusterSummary | undefined;
  #version = 100;
  /** Up to which its watches have delivered. */
  #seen = 100;
  readonly #onSummary: ((summary: ClusterSummary | undefined) => void)[] = [];

  constructor(ref: TargetRef) {
    this.ref = ref;
    this.key = targetKey(ref);
    this.nodeName = `admiralty-${ref.name}`;
  }

  get availability() {
    return this.isReady ? { kind: 'ready' } : { kind: 'unavailable', reason: 'Unreachable', message: 'it is away' };
  }
  get serverHealth() {
    return { silentMs: this.silentMs, isReady: this.isReady };
  }
  get isLikelyReachable(): boolean {
    return this.isReady;
  }
  get session() {
    if (!this.hasSession) return undefined;
    const { mode, hasSynced, summary, chaperons, delegates } = this;
    const isOf = (uid: string) => ({ parentUid }: { readonly parentUid: string }) => parentUid === uid;
    return {
      mode, hasSynced, summary, chaperons, delegates, client: this.#client, candidatesVersion: `${this.#seen}`,
      liveness: { probe: () => Promise.resolve(this.answers), silence: new AbortController().signal },
      onSummary: (listener: (summary: ClusterSummary | undefined) => void) => this.#onSummary.push(listener),
      find: ({ uid }: Pick<ProxyPod, 'uid'>) => (
        { chaperon: [...chaperons.records()].find(isOf(uid)), delegate: [...delegates.records()].find(isOf(uid)) }
      ),
    };
  }

  owns(): boolean {
    return true;
  }

  /** It publishes what it has; `allocatable` is all of it unless said otherwise. */
  publish(free: ResourceList, more: Partial<ClusterSummary> = {}): void {
    this.summary = { metadata: {}, allocatable: free, free, ...more };
    for (const listener of this.#onSummary) listener(this.summary);
  }

  /** The watch delivers what is stored, all of it: it keeps the order of what happened. */
  deliver(): void {
    this.#seen = this.#version;
    for (const [key, stored] of this.stored) {
      if (this.chaperons.get(key)?.uid !== stored.metadata.uid) this.chaperons.set(key, toChaperonRecord(stored));
    }
  }

  /** Its scheduler, or a kubelet, says something about the delegate of a pod. */
  setStatus(uid: string, status: PodStatus, deleted = false): void {
    const chaperon = this.#of(uid);
    if (chaperon === undefined) return;
    this.#version += 1;
    const owner = { apiVersion: 'v1', kind: 'PodChaperon', name: 'c', uid: 'c', controller: true };
    const pod: Pod = {
      metadata: {
        ...chaperon.metadata, uid: `d-${uid}`, resourceVersion: `${this.#version}`, ownerReferences: [owner],
        ...(deleted && { deletionTimestamp: '2026-01-01T01:00:00Z' }),
      },
      spec: chaperon.spec, status,
    };
    this.delegates.set(keyOf(chaperon), toDelegatePodRecord(pod));
  }

  /** When the candidate of a pod must be confirmed; undefined where it need not be. */
  deadlineOf(uid: string): string | undefined {
    return this.#of(uid)?.metadata.annotations?.[CONFIRM_BEFORE_ANNOTATION];
  }

  /** UIDs of the pods that it has anything of. */
  get holds(): readonly string[] {
    return [...this.stored.values()].map(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] ?? '');
  }

  #of(uid: string): PodChaperon | undefined {
    return [...this.stored.values()].find(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === uid);
  }

  #create(chaperon: PodChaperon): Promise<unknown> {
    const { onCreate, stored } = this;
    const uid = chaperon.metadata.labels?.[PARENT_UID_LABEL] ?? '';
    this.creates.push(uid);
    if (onCreate instanceof Error) return Promise.reject(onCreate);
    if (onCreate === 'silence') return new Promise(() => undefined);
    if (stored.has(keyOf(chaperon))) return Promise.reject(new ApiError(409, 'AlreadyExists', 'it exists'));
    this.#version += 1;
    const made = { ...chaperon, metadata: {
      ...chaperon.metadata, uid: `c-${this.#version}`, resourceVersion: `${this.#version}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
    } };
    stored.set(keyOf(made), made);
    if (onCreate === 'made, answer lost') return Promise.reject(new ApiError(504, 'Timeout', 'a proxy gave up'));
    if (onCreate !== 'made, not seen yet') this.deliver();
    return Promise.resolve(made);
  }

  #delete(key: string, uid: string): Promise<unknown> {
    if (this.onDelete instanceof Error) return Promise.reject(this.onDelete);
    const stored = this.stored.get(key);
    if (stored === undefined) return Promise.reject(new ApiError(404, 'NotFound', 'it is gone'));
    if (stored.metadata.uid !== uid) return Promise.reject(new ApiError(409, 'Conflict', 'another one'));
    this.remove(key);
    return Promise.resolve({});
  }

  /** Chaperon and delegate of this key are gone. */
  remove(key: string): void {
    this.#version += 1;
    this.stored.delete(key);
    this.delegates.set(key, undefined);
    this.chaperons.set(key, undefined);
    this.deliver();
  }

  readonly #client = {
    metadataOnly: () => this.#client, withConnectTimeout: () => this.#client, withoutRateLimit: () => this.#client,
    transport: { rttMs: undefined, clock: { earliest: (now: number) => now, latest: (now: number) => now } },
    create: (_type: unknown, chaperon: PodChaperon) => this.#create(chaperon),
    get: (_type: unknown, at: { readonly namespace: string; readonly name: string }) => {
      const stored = this.stored.get(keyOf({ metadata: at }));
      return stored === undefined
        ? Promise.reject(new ApiError(404, 'NotFound', 'there is none'))
        : Promise.resolve(stored);
    },
    delete: (_type: unknown, at: NamedObject['metadata'], { preconditions }: WithPreconditions) =>
      this.#delete(keyOf({ metadata: at }), preconditions.uid),
    patch: (_type: unknown, at: NamedObject['metadata']) => {
      const key = keyOf({ metadata: at });
      this.released.push(key);
      const stored = this.stored.get(key);
      if (stored !== undefined) {
        const { [CONFIRM_BEFORE_ANNOTATION]: _gone, ...annotations } = stored.metadata.annotations ?? {};
        this.stored.set(key, { ...stored, metadata: { ...stored.metadata, annotations } });
        this.chaperons.set(key, toChaperonRecord(this.stored.get(key)!));
      }
      return Promise.resolve({});
    },
    apply: (_type: unknown, lease: SourceLease) => {
      this.announced.push(lease.spec.renewTime);
      return Promise.resolve(lease);
    },
  };
}

interface NamedObject {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
}

interface WithPreconditions {
  readonly preconditions: { readonly uid: string };
}

function keyOf({ metadata: { namespace = '', name = '' } }: NamedObject): string {
  return `${namespace}/${name}`;
}

/** A write of the scheduler in the source: `bind NODE`, `release`, `delete` or a condition's reason and message. */
export interface SourceWrite {
  readonly pod: string;
  readonly what: string;
}

function whatOf(condition: Condition | undefined): string {
  return condition === undefined ? 'remove-finalizer' : `${condition.reason}: ${condition.message}`;
}

/** The world of one test. */
export interface SchedulingWorld {
  readonly cache: ClusterCache;
  readonly writes: readonly SourceWrite[];
  readonly events: readonly EventRecord[];
  readonly pods: ReadonlyMap<string, Pod>;
  /** What the next binds come to. */
  onBind: Error | undefined;
  target(name: string): FakeTarget;
  /** A pod is new or has changed. */
  put(pod: Pod): Promise<void>;
  /** The API server has removed a pod. */
  forget(key: string): Promise<void>;
  /** A target has changed: tells the scheduler, and lets it work. */
  changed(
    name: string, change: Partial<Pick<FakeTarget, 'isReady' | 'silentMs' | 'hasSession' | 'terminating'>>,
  ): Promise<void>;
  /** The virtual node of a target has this spec from now on. */
  node(name: string, spec: FakeTarget['node']): Promise<void>;
  /** A target was removed from the source. */
  removed(name: string): Promise<void>;
  /** The placement policies are these from now on. */
  policies(policyIndex: PolicyIndex): Promise<void>;
  /** Lets everything happen that is not on a timer. */
  settled(): Promise<void>;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
}

/** Turns of the event loop in which everything that is not on a timer gets done. */
const TURNS = 25;
const NO_POLICIES: PolicyIndex = { isComplete: true, policies: [], namespaces: new Map() };

/** Starts the scheduling loop on ClusterTargets of these names, each with room for anything. */
export async function aSchedulingWorld(
  t: TestContext, names: readonly string[],
  { policyIndex = NO_POLICIES, waiting = [], serverTime = () => Date.now() }: {
    readonly policyIndex?: PolicyIndex;
    /** The clock of the source's API server, in ms since the epoch. */
    readonly serverTime?: () => number;
    /** Pods that wait when the scheduler starts. */
    readonly waiting?: readonly Pod[]
  } = {},
): Promise<SchedulingWorld> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const proxies = new FakeInformer<ProxyPod>();
  const pods = new Map<string, Pod>();
  const [writes, events]: [SourceWrite[], EventRecord[]] = [[], []];
  const targets = new Map(names.map((name) => [name, new FakeTarget({ kind: 'ClusterTarget', name })]));
  const all = () => [...targets.values()];
  const ofNode = (node: string) => all().find(({ nodeName }) => nodeName === node);
  type TargetEvent = 'sessionOpened' | 'changed' | 'becameReady' | 'removed';
  type TargetListener = Record<TargetEvent, undefined | ((...told: unknown[]) => void)>;
  const ready = new ReadyTargets();
  const listeners: TargetListener[] = [];
  const inputListeners: PlacementInputsListener[] = [];
  let currentIndex = policyIndex;
  const put = (pod: Pod): void => {
    pods.set(keyOf(pod), pod);
    proxies.set(keyOf(pod), toProxyPodRecord(pod));
  };
  const remove = (key: string): void => {
    pods.delete(key);
    proxies.set(key, undefined);
  };
  const bind = (key: string, { uid, annotations }: ObjectMeta, node: string): Promise<unknown> => {
    if (world.onBind !== undefined) return Promise.reject(world.onBind);
    const pod = pods.get(key);
    if (pod === undefined) return Promise.reject(new ApiError(404, 'NotFound', 'it is gone'));
    if (pod.metadata.uid !== uid) return Promise.reject(new ApiError(409, 'Conflict', 'another pod'));
    writes.push({ pod: uid ?? '', what: `bind ${node}` });
    const metadata = { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } };
    put({ ...pod, metadata, spec: { ...pod.spec, nodeName: node } });
    return Promise.resolve({});
  };
  const patch = (key: string, { metadata, status }: Partial<Pod>): Promise<unknown> => {
    const pod = pods.get(key);
    if (pod === undefined) return Promise.reject(new ApiError(404, 'NotFound', 'it is gone'));
    const [condition] = status?.conditions ?? [];
    writes.push({ pod: pod.metadata.uid ?? '', what: whatOf(condition) });
    const finalizers = metadata?.finalizers ?? [];
    if (condition !== undefined) put({ ...pod, status: { ...pod.status, conditions: [condition] } });
    else if (finalizers.length === 0 && pod.metadata.deletionTimestamp !== undefined) remove(key);
    else put({ ...pod, metadata: { ...pod.metadata, finalizers } });
    return Promise.resolve({});
  };
  const source = {
    metadataOnly: () => source,
    transport: { clock: { earliest: serverTime, latest: serverTime } },
    patch: (_type: unknown, at: NamedObject['metadata'], command: { readonly patch: Partial<Pod> }) =>
      patch(keyOf({ metadata: at }), command.patch),
    post: (_type: unknown, at: NamedObject['metadata'], { metadata, target }: {
      readonly metadata: ObjectMeta; readonly target: { readonly name: string }
    }) => bind(keyOf({ metadata: at }), metadata, target.name),
  };
  const options = {
    source, sourceId: 'source', proxies, logger: SILENT, ready: Promise.resolve(),
    events: { record: (event: EventRecord) => events.push(event) },
    inputs: {
      listen: (listener: PlacementInputsListener) => inputListeners.push(listener),
      get policyIndex() { return currentIndex; },
      nodes: { get: (node: string) => ({ metadata: { labels: {} }, spec: ofNode(node)?.node ?? {} }) },
    },
    targets: {
      listen: (listener: TargetListener) => listeners.push(listener), all,
      get: (key: string) => all().find((one) => one.key === key),
      byNode: ofNode,
      object: (ref: TargetRef) => {
        const terminating = targets.get(ref.name)?.terminating ?? false;
        return { ref, labels: {}, spec: {}, terminating, hasLeft: false, status: {} };
      },
    },
  };
  Object.assign(proxies, { by: () => [...proxies.records()].filter(({ nodeName }) => nodeName === undefined) });
  const cache = startScheduling(options as unknown as SchedulingOptions, stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      t.mock.timers.tick(0);
      await nextTurn();
    }
  };
  const tell = (kind: TargetEvent, ...told: unknown[]): void =>
    listeners.forEach((listener) => listener[kind]?.(...told));
  const tellChanged = (target: FakeTarget): void => {
    tell('changed', target);
    if (ready.note(target.key, target.isReady, { labels: {}, spec: {}, hasLeft: false })) tell('becameReady', target);
  };
  const world: SchedulingWorld = {
    cache, writes, events, pods, onBind: undefined, settled,
    target: (name) => targets.get(name)!,
    put: (pod) => (put(pod), settled()),
    forget: (key) => (remove(key), settled()),
    changed: (name, change) => {
      const target = Object.assign(targets.get(name)!, change);
      tellChanged(target);
      return settled();
    },
    node: (name, spec) => {
      const target = Object.assign(targets.get(name)!, { node: spec });
      for (const listener of inputListeners) listener.nodeChanged(target.nodeName);
      return settled();
    },
    removed: (name) => {
      const target = targets.get(name);
      targets.delete(name);
      tell('removed', target);
      return settled();
    },
    policies: (next) => {
      currentIndex = next;
      for (const listener of inputListeners) listener.rulesChanged();
      return settled();
    },
    pass: (ms) => {
      now += ms;
      t.mock.timers.tick(ms);
      return settled();
    },
  };
  for (const target of all()) {
    tell('sessionOpened', target, target.session);
    tellChanged(target);
    target.publish({ cpu: '64', memory: '256Gi', pods: '110' });
  }
  for (const pod of waiting) put(pod);
  await settled();
  return world;
}
