// The state of the model test: servers, what each process has heard of them, what it remembers, and the requests it is
// about to send. The shells are modelled by what they do between two requests; what they decide comes from the real
// plans.
import type { Pod } from '../../api/objects/core.ts';
import {
  DELEGATE_FINALIZER, ELECT_ANNOTATION, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER, SOURCE_WATCHES_PODS_ANNOTATION, TRUE,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { PODS, POD_CHAPERONS } from '../../api/resource-types.ts';
import { withFailover } from '../../model/pod/source-lease.ts';
import type { Command } from '../../model/objects/plan.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import type { CandidateDeletion } from '../../scheduler/cycle/placement.ts';
import { intern, type Collection, type Ref, type Watch } from './servers.ts';

/** Where a request goes: the source, or a target by its number. */
export type Place = 'source' | number;

/**
 * A read, and what must be true of its answer for the rest to be sent; or a write, and the object that it was decided
 * for.
 */
export type Request =
  | { readonly kind: 'read'; readonly place: Place; readonly what: 'Pod' | 'PodChaperon'; readonly expect: Expectation }
  | {
    readonly kind: 'write'; readonly place: Place; readonly what: 'Pod' | 'PodChaperon'; readonly command: Command;
    readonly meant: string | null
  };

/** What a live read must confirm. */
export type Expectation =
  /** No object that the proxy of this UID is the parent of. */
  | { readonly kind: 'no-child'; readonly uid: string }
  /** No object of this UID. */
  | { readonly kind: 'gone'; readonly uid: string }
  /** No object that this one owns. */
  | { readonly kind: 'not-owned'; readonly uid: string }
  /** A chaperon that is gone, going, or has lost its delegate. */
  | { readonly kind: 'lost'; readonly uid: string }
  /** A proxy that is gone, another, or bound elsewhere. */
  | { readonly kind: 'unwanted'; readonly uid: string; readonly nodeName: string };

/** What a controller has in hand: requests that are sent one after the other. */
export interface Operation {
  readonly requests: readonly Request[];
  /** What the bound proxy had lost when the operation began; see `requests.ts`. */
  readonly wasLost?: boolean;
  /** What the scheduler notes of the answer, or the chaperon controller of the target. */
  readonly noted?: 'created' | 'bound' | 'withdrawn' | 'deadline-removed' | 'departed' | 'made';
  readonly target?: number;
  /** When the candidate that is sent must be confirmed. */
  readonly before?: number;
  /** The proxy whose candidate is withdrawn. */
  readonly of?: string;
}

/** What the scheduler remembers of a pod. */
export interface Memory {
  pending: { kind: 'unconfirmed' | 'created'; target: number; version: number } | null;
  bindSent: boolean;
  targets: number[];
  rejected: number[];
  /** By target, when its candidate must be confirmed. */
  before: Record<number, number>;
  /** Targets that were given up. */
  abandonedIn: number[];
  /** By target, the chaperon whose delete was sent, and whether it was done. */
  withdrawn: Record<number, { uid: string; deletion: CandidateDeletion }>;
}

/** What the source's process knows of a target. */
export interface Link {
  chaperons: Watch<PodChaperon>;
  pods: Watch<Pod>;
  /** It knows that the target cannot be reached. */
  seenCut: boolean;
  /** Its API server was seen to be gone, and has not been heard since. */
  refused: boolean;
  /** The target has acknowledged a renewal of this run's lease there. */
  acknowledged: boolean;
  /** What of which deleted proxy was seen to go: `UID kind`. */
  gone: string[];
}

/** A world. */
export interface World {
  proxies: Collection<Pod>;
  targets: {
    chaperons: Collection<PodChaperon>;
    pods: Collection<Pod>;
    /** The path between source and target is cut. */
    isCut: boolean;
    /** Its API server is down: nothing changes there, and containers run on. Whoever is connected is told at once. */
    isDown: boolean;
    /** The source's lease there: the target's process marks it as ended, the source renews it. */
    lease: 'held' | 'ended';
    /** Its API server's clock, in whole steps. */
    clock: number;
    /** Proxies whose candidates the source has confirmed there. */
    confirmed: string[];
    process: {
      isUp: boolean;
      /** What it has heard of the lease. */
      heardLease: 'held' | 'ended';
      chaperons: Watch<PodChaperon>;
      pods: Watch<Pod>;
      seen: string[];
      /** Chaperons whose delegate was seen to go after they were deleted. */
      gone: string[];
      /** Chaperons of which it made a delegate that it has not heard of, by its UID; empty when the answer is out. */
      unheard: Record<string, string>;
      operation: Ref<Operation>;
    };
  }[];
  source: {
    isUp: boolean;
    /** Proxies made before this were there when the process began. */
    began: number;
    proxies: Watch<Pod>;
    links: Link[];
    memories: Record<string, Memory>;
    scheduling: Ref<Operation>;
    feedback: Ref<Operation>;
    departing: Ref<Operation>;
  };
  left: Budget;
  /** Which virtual node each proxy was bound to; kept for the invariants. */
  bound: Record<string, string>;
  /** Proxies that their user took away by force: nobody can wait for their delegates. */
  forced: string[];
  /** Proxies that have left a lost target, which must have stopped them. */
  departed: string[];
  /** `proxy target`: it was given up there, which must have stopped it. */
  abandoned: string[];
  /** Proxies of which a delegate has run. */
  ran: string[];
  readonly restartPolicy: string;
  readonly watches: Scenario['watches'];
  readonly prompt?: 'targets';
  readonly fenced?: true;
  readonly bounded?: true;
  /** Writes of a process that has given them up, or has ended; each may still reach its server. */
  late: Extract<Request, { readonly kind: 'write' }>[];
  /**
   * What is lost on the way of the request that is being sent; a late one arrives when nobody waits for it any more.
   */
  lost?: 'request' | 'answer' | 'late';
  /** The first thing that must never be. */
  breach?: string;
}

/** How often each thing may still happen. */
export interface Budget {
  crash: number;
  cut: number;
  /**
   * A target's API server goes down while the source reaches it; one that goes down behind a cut way fails twice, and
   * nobody can see that.
   */
  down: number;
  /** A request or its answer is lost without anybody noticing a cut. */
  loss: number;
  /**
   * A write with preconditions arrives after its sender has given it up: a black hole that heals, or a leader that was
   * stopped and resumes.
   */
  late: number;
  userDelete: number;
  /** Another proxy of the same name is made once the first has gone. */
  successor: number;
  /** Somebody deletes the delegate in the target. */
  adminDelete: number;
  /** The target's scheduler says no. */
  rejection: number;
  /** Polling of the scheduler or of the chaperon controller ends. */
  impatience: number;
  /** Steps of the targets' clocks. */
  time: number;
  /** Somebody else's finalizer, or pod of the delegate's name, appears. */
  foreign: number;
  /** A controller of the source sets a condition on the bound proxy. */
  gate: number;
  /** Somebody in the source ends a pod that has no node yet. */
  ending: number;
  /** Its user takes the pod away by force, finalizers and all. */
  strip: number;
  /** Somebody in a target takes a chaperon away by force, finalizers and all, and leaves its delegate. */
  force: number;
  /** Steps of garbage collection: it does what our controllers do as well, at its own pace. */
  collection: number;
}

/** What a run is about. */
export interface Scenario {
  readonly targets: number;
  readonly restartPolicy: 'Always' | 'Never';
  /**
   * Whether a watcher hears of every version, one after the other, or a watcher that is behind hears of the newest
   * next. Both let a cache be behind by any number of versions for any time.
   */
  readonly watches: 'every' | 'newest';
  /** Chaperon controllers know at once what is in their own cluster; it is the source that is behind. */
  readonly prompt?: 'targets';
  /**
   * Pods may leave a lost target once it has stopped them (ADR 0020). Time is any time here, so what the lease's times
   * promise is taken for granted.
   */
  readonly fenced?: true;
  /** Candidates end unless they are confirmed (ADR 0048). What the times promise is taken for granted here, too. */
  readonly bounded?: true;
  readonly budget: Partial<Budget>;
}

const NOTHING_MORE: Budget = {
  crash: 0, cut: 0, down: 0, loss: 0, userDelete: 0, successor: 0, adminDelete: 0, rejection: 0, impatience: 0,
  foreign: 0, collection: 0, late: 0, gate: 0, ending: 0, force: 0, strip: 0, time: 0,
};

/** A new world: the user has just created the pod. */
export function newWorld({ targets, restartPolicy, watches, prompt, fenced, bounded, budget }: Scenario): World {
  const world: World = {
    proxies: { version: 0, made: 0, held: 0 },
    targets: Array.from({ length: targets }, () => ({
      chaperons: { version: 0, made: 0, held: 0 },
      pods: { version: 0, made: 0, held: 0 },
      isCut: false,
      isDown: false,
      lease: 'held',
      clock: 0,
      confirmed: [],
      process: {
        isUp: true, heardLease: 'held', chaperons: newWatch(true), pods: newWatch(true), seen: [], gone: [],
        unheard: {}, operation: 0,
      },
    })),
    source: {
      isUp: true, began: 0, proxies: newWatch(true), links: Array.from({ length: targets }, () => newLink(true)),
      memories: {}, scheduling: 0, feedback: 0, departing: 0,
    },
    left: { ...NOTHING_MORE, ...budget },
    bound: {},
    departed: [],
    abandoned: [],
    ran: [],
    late: [],
    forced: [],
    restartPolicy,
    watches,
    ...(prompt && { prompt }),
    ...(fenced && { fenced }),
    ...(bounded && { bounded }),
  };
  makeProxy(world, restartPolicy);
  return world;
}

/** The user creates the pod, and admission makes a proxy of it. */
export function makeProxy({ proxies, source }: World, restartPolicy: string): void {
  proxies.made += 1;
  proxies.version += 1;
  proxies.held = intern({
    kind: 'Pod',
    metadata: {
      namespace: 'ns', name: 'web', uid: `proxy${proxies.made}`, resourceVersion: String(proxies.version),
      annotations: { [ELECT_ANNOTATION]: '' }, finalizers: [DELEGATE_FINALIZER],
    },
    spec: { schedulerName: PROXY_SCHEDULER, restartPolicy, containers: [] },
  });
  if (source.isUp && source.proxies.synced) source.proxies.queue.push({ version: proxies.version, held: proxies.held });
}

/**
 * What the scheduler asks a target for; the name is the same for successors, as if their UIDs' hashes collided: the
 * hardest case.
 */
export function chaperonFor({ metadata, spec }: Pod, finalizers: readonly string[], isFenced = false): PodChaperon {
  const chaperon: PodChaperon = {
    kind: 'PodChaperon',
    metadata: {
      namespace: 'ns', name: 'delegate', labels: { [PARENT_UID_LABEL]: metadata.uid ?? '' },
      annotations: {
        [PARENT_NAME_ANNOTATION]: 'web', [PARENT_NAMESPACE_ANNOTATION]: 'ns', [SOURCE_WATCHES_PODS_ANNOTATION]: TRUE,
      },
      finalizers,
    },
    spec: { restartPolicy: spec.restartPolicy ?? 'Always', containers: [] },
  };
  return isFenced ? withFailover(chaperon) : chaperon;
}

/** A watch that has heard of nothing. */
export function newWatch<T>(synced: boolean): Watch<T> {
  return { synced, version: 0, cached: 0, queue: [] };
}

/** A connection to a target. */
export function newLink(synced: boolean): Link {
  return {
    chaperons: newWatch(synced), pods: newWatch(synced), seenCut: false, refused: false, acknowledged: synced,
    gone: [],
  };
}

/** The virtual node of a target. */
export function nodeOf(target: number): string {
  return virtualNodeName({ kind: 'ClusterTarget', name: `t${target}` });
}

/** The resource type of what a request is about, as a word. */
export function whatOf(command: Command): 'Pod' | 'PodChaperon' {
  if (command.kind === 'bind' || command.type.kind === PODS.kind) return 'Pod';
  if (command.type.kind === POD_CHAPERONS.kind) return 'PodChaperon';
  throw new Error(`no plan is about ${command.type.kind}`);
}
