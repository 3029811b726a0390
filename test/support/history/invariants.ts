// The invariants of `docs/invariants.md` that can be read off a history: one checker, used by every test that injects
// faults. It is given what the watches of all clusters said, merged in the order of arrival, and answers in sentences.
// Watches of two clusters are not in step: what looks wrong for less than `toleranceMs` is not reported. The model test
// has one clock, and tolerates nothing.
import type { Pod, PodPhase } from '../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_FINALIZER, ELECT_ANNOTATION, ADMIRALTY_PREFIX, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, PLACEMENT_ANNOTATION, STREAMS_REQUESTED_ANNOTATION, TRACE_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { isBound, isProxyPod, isTerminal, isTerminating } from '../../../model/pod/pod.ts';

/** One version of a pod as a watch told it; `object` is undefined once it is gone. */
export interface HistoryEvent {
  /** When it arrived, in ms. */
  readonly at: number;
  readonly cluster: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly object: Pod | undefined;
}

/** What the checker cannot see in the history. */
export interface HistoryContext {
  /** Name of the source cluster; all others are targets. */
  readonly source: string;
  /** The target that a virtual node stands for. */
  readonly targetOfNode: (nodeName: string) => string | undefined;
  readonly toleranceMs: number;
  /** When the test ended, on the clock of the events. */
  readonly endedAt: number;
  /** When a target, or the path to it, or the process that acts on it, was away. */
  readonly outages?: readonly { readonly from: number; readonly until: number }[];
  /** UIDs of proxies whose finalizers the test took away by force. */
  readonly forced?: ReadonlySet<string>;
  /** When everything had come to rest: later versions are writes for nothing. */
  readonly quietSince?: number;
  /** The test itself deletes or evicts delegates, so that one that goes says nothing. */
  readonly endsDelegates?: boolean;
}

/** What an invariant says about a history; nothing when it holds. */
type Invariant = (lives: Lives, context: HistoryContext) => string[];

/** How long a delegate may outlive its proxy, and a pod may be without a word, in ms. */
const OUTLIVE_MS = 60_000;
const REASON_MS = 30_000;

/** Checks all invariants. Gives one sentence for each breach, with the number of the invariant. */
export function breachesOf(history: readonly HistoryEvent[], context: HistoryContext): string[] {
  const lives = toLives(history, context);
  return Object.entries(INVARIANTS)
    .flatMap(([number, invariant]) => invariant(lives, context).map((breach) => `invariant ${number}: ${breach}`));
}

const INVARIANTS: Readonly<Record<string, Invariant>> = {
  '1': oneDelegateAtATime,
  '2': noDelegateOutlivesItsProxy,
  '3': everyPodRunsOrSaysWhy,
  '4, 13': theFinalizerStaysAsLongAsTheDelegate,
  '5': noDelegateOutsideTheBoundTarget,
  '6': wantedDelegatesStay,
  '7': annotationsReachTheDelegate,
  '8': othersAreLeftAlone,
  '9': statusIsMonotonic,
  '11': quietMeansNoWrites,
  '12': delegatesKeepTheirNamespace,
};

/** One object from its first version to its last. */
interface Life {
  readonly cluster: string;
  readonly uid: string;
  readonly key: string;
  readonly versions: { readonly at: number; readonly object: Pod }[];
  /** When it was gone; undefined while it is there. */
  goneAt: number | undefined;
}

interface Lives {
  readonly proxies: readonly Life[];
  /** Pods of the source that are neither elected nor delegates. */
  readonly others: readonly Life[];
  /** By UID of the proxy. */
  readonly delegates: ReadonlyMap<string, readonly Life[]>;
}

function toLives(history: readonly HistoryEvent[], { source }: HistoryContext): Lives {
  const lives = livesOf(history);
  const delegates = new Map<string, Life[]>();
  const parentOf = ({ versions }: Life) => versions[0]?.object.metadata.labels?.[PARENT_UID_LABEL];
  for (const life of lives) {
    const parent = parentOf(life);
    if (life.cluster === source || parent === undefined) continue;
    delegates.set(parent, [...(delegates.get(parent) ?? []), life]);
  }
  const ofSource = lives.filter(({ cluster }) => cluster === source);
  const isProxy = ({ versions }: Life) => isProxyPod(versions[0]!.object);
  return {
    proxies: ofSource.filter(isProxy),
    others: ofSource.filter((life) => !isProxy(life) && parentOf(life) === undefined), delegates,
  };
}

/** Cuts the history into objects: one that has another UID than the last of its name is another one. */
function livesOf(history: readonly HistoryEvent[]): Life[] {
  const lives: Life[] = [];
  const current = new Map<string, Life>();
  for (const { at, cluster, key, object } of history) {
    const place = `${cluster} ${key}`;
    const before = current.get(place);
    const isSame = before !== undefined && object?.metadata.uid === before.uid;
    if (before !== undefined && !isSame) before.goneAt = at;
    if (object === undefined) {
      current.delete(place);
    } else if (isSame) {
      before.versions.push({ at, object });
    } else {
      const life: Life =
        { cluster, uid: object.metadata.uid ?? '', key, versions: [{ at, object }], goneAt: undefined };
      lives.push(life);
      current.set(place, life);
    }
  }
  return lives;
}

/** From when until when a delegate could run: it has not ended, and is still there. */
function livingSpan({ versions, goneAt }: Life): { readonly from: number; readonly until: number } {
  const ended = versions.find(({ object }) => isTerminal(object.status?.phase));
  return { from: versions[0]!.at, until: Math.min(ended?.at ?? Infinity, goneAt ?? Infinity) };
}

function oneDelegateAtATime({ delegates }: Lives, { toleranceMs }: HistoryContext): string[] {
  return [...delegates].flatMap(([uid, lives]) => pairsOf(lives).flatMap(([one, other]) => {
    const [a, b] = [livingSpan(one), livingSpan(other)];
    const together = Math.min(a.until, b.until) - Math.max(a.from, b.from);
    return together > toleranceMs
      ? [`${uid} had two delegates for ${together} ms: ${one.cluster}/${one.key} and ${other.cluster}/${other.key}`]
      : [];
  }));
}

function pairsOf<T>(items: readonly T[]): [T, T][] {
  return items.flatMap((one, index) => items.slice(index + 1).map((other): [T, T] => [one, other]));
}

function noDelegateOutlivesItsProxy({ proxies, delegates }: Lives, context: HistoryContext): string[] {
  const goneAt = new Map(proxies.map((proxy) => [proxy.uid, proxy.goneAt]));
  return [...delegates].flatMap(([uid, lives]) => lives.flatMap((delegate) => {
    const from = goneAt.get(uid);
    if (from === undefined) return [];
    const left =
      (delegate.goneAt ?? context.endedAt) - from - outageWithin(context, from, delegate.goneAt ?? context.endedAt);
    return left > OUTLIVE_MS ? [`${delegate.cluster}/${delegate.key} outlived its proxy by ${left} ms`] : [];
  }));
}

function outageWithin({ outages = [] }: HistoryContext, from: number, until: number): number {
  return outages.reduce(
    (sum, outage) => sum + Math.max(0, Math.min(until, outage.until) - Math.max(from, outage.from)), 0,
  );
}

function everyPodRunsOrSaysWhy({ proxies }: Lives, context: HistoryContext): string[] {
  return proxies.flatMap(({ key, versions, goneAt }) => {
    const from = versions.find(({ object }) => (object.spec.schedulingGates ?? []).length === 0)?.at;
    const spoken = versions.find(({ object }) => hasWord(object))?.at ?? goneAt ?? context.endedAt;
    const silent = from === undefined ? 0 : spoken - from - outageWithin(context, from, spoken);
    return silent > REASON_MS ? [`${key} was silent for ${silent} ms`] : [];
  });
}

function hasWord({ metadata, spec, status }: Pod): boolean {
  const condition = findCondition(status?.conditions, 'PodScheduled');
  return metadata.deletionTimestamp !== undefined || (spec.nodeName ?? '') !== ''
    || (condition?.status === 'False' && condition.reason !== undefined);
}

function theFinalizerStaysAsLongAsTheDelegate(
  { proxies, delegates }: Lives, { toleranceMs, forced, endedAt }: HistoryContext,
): string[] {
  return proxies.flatMap((proxy) => {
    if (forced?.has(proxy.uid)) return [];
    const released = proxy.versions.find(({ object }) => !object.metadata.finalizers?.includes(DELEGATE_FINALIZER))?.at
      ?? proxy.goneAt ?? Infinity;
    return (delegates.get(proxy.uid) ?? []).flatMap((delegate) => {
      const late = (delegate.goneAt ?? endedAt) - released;
      return late > toleranceMs
        ? [`${proxy.key} was let go ${late} ms before its delegate ${delegate.cluster}/${delegate.key} had gone`]
        : [];
    });
  });
}

function noDelegateOutsideTheBoundTarget(
  { proxies, delegates }: Lives, { targetOfNode, toleranceMs, endedAt }: HistoryContext,
): string[] {
  return proxies.flatMap((proxy) => {
    const bound = proxy.versions.find(({ object }) => (object.spec.nodeName ?? '') !== '');
    if (bound === undefined) return [];
    const target = targetOfNode(bound.object.spec.nodeName ?? '');
    const strays = (delegates.get(proxy.uid) ?? []).filter(
      ({ cluster, goneAt }) => cluster !== target && (goneAt ?? endedAt) - bound.at > toleranceMs,
    );
    return strays.map(
      ({ cluster, key }) => `${cluster}/${key} is outside of ${target}, which ${proxy.key} is bound to`,
    );
  });
}

/**
 * What a decision on a cache that is behind would show as: a delegate is deleted whose proxy is bound to its target,
 * runs, and is not deleted itself.
 */
function wantedDelegatesStay({ proxies, delegates }: Lives, context: HistoryContext): string[] {
  const { targetOfNode, toleranceMs, outages = [], endsDelegates = false } = context;
  if (endsDelegates) return [];
  const wasCalm = (at: number) => !outages.some(({ from, until }) => from <= at && at <= until);
  return proxies.flatMap((proxy) => {
    const bound = proxy.versions.find(({ object }) => isBound(object));
    if (bound === undefined) return [];
    const target = targetOfNode(bound.object.spec.nodeName ?? '');
    const unwantedAt = proxy.versions.find(
      ({ object }) => isTerminating(object) || isTerminal(object.status?.phase),
    )?.at ?? proxy.goneAt ?? Infinity;
    return (delegates.get(proxy.uid) ?? []).flatMap((delegate) => {
      const deleted = delegate.versions.find(({ object }) => isTerminating(object));
      if (deleted === undefined || isTerminal(deleted.object.status?.phase) || !wasCalm(deleted.at)) return [];
      const isWanted = delegate.cluster === target && deleted.at > bound.at + toleranceMs
        && deleted.at < unwantedAt - toleranceMs;
      return isWanted ? [`${delegate.cluster}/${delegate.key} was deleted while ${proxy.key} wanted it`] : [];
    });
  });
}

function annotationsReachTheDelegate({ proxies, delegates }: Lives): string[] {
  return proxies.flatMap(({ uid, key, versions }) => {
    const user = Object.entries(versions[0]!.object.metadata.annotations ?? {}).filter(
      ([name]) =>
        !name.startsWith(ADMIRALTY_PREFIX) && name !== ELECT_ANNOTATION && name !== ADMISSION_RECORD_ANNOTATION
          && name !== PLACEMENT_ANNOTATION && name !== TRACE_ANNOTATION && name !== STREAMS_REQUESTED_ANNOTATION,
    );
    return (delegates.get(uid) ?? []).flatMap((delegate) => {
      const carried = delegate.versions[0]!.object.metadata.annotations ?? {};
      // What opts proxies out of meshes is the webhook's, not the user's.
      return user.filter(([name]) => !/(istio|linkerd)/.test(name) && carried[name] === undefined)
        .map(([name]) => `annotation ${name} of ${key} did not reach its delegate`);
    });
  });
}

/** The webhook writes its own marks once, and into nobody else's pods. */
function othersAreLeftAlone({ proxies, others }: Lives): string[] {
  const marks = ({ metadata: { annotations = {}, finalizers = [] } }: Pod) => [
    ...finalizers.filter((one) => one === DELEGATE_FINALIZER),
    ...Object.keys(annotations).filter((key) => key === ADMISSION_RECORD_ANNOTATION),
  ];
  const touched = others.filter(({ versions }) => marks(versions[0]!.object).length > 0)
    .map(({ key }) => `${key} is nobody's to elect and has marks of ours`);
  const twice = proxies.filter(({ versions }) => versions.some(
    ({ object }) => object.metadata.finalizers?.filter((one) => one === DELEGATE_FINALIZER).length === 2,
  )).map(({ key }) => `${key} has its finalizer twice`);
  return [...touched, ...twice];
}

function statusIsMonotonic({ proxies }: Lives): string[] {
  return proxies.flatMap(({ key, versions }) => {
    let ended: PodPhase | undefined;
    return versions.flatMap(({ object: { status } }) => {
      const before = ended;
      if (isTerminal(status?.phase)) ended = status?.phase;
      return before !== undefined && status?.phase !== before ? [`${key} was ${before} and then ${status?.phase}`] : [];
    });
  });
}

function quietMeansNoWrites({ proxies, delegates }: Lives, { quietSince = Infinity }: HistoryContext): string[] {
  return [...proxies, ...[...delegates.values()].flat()].flatMap(({ cluster, key, versions }) => {
    const writes = versions.filter(({ at, object }) => at > quietSince && !isTerminating(object)).length;
    return writes > 0 ? [`${cluster}/${key} was written ${writes} times at rest`] : [];
  });
}

function delegatesKeepTheirNamespace({ delegates }: Lives): string[] {
  return [...delegates.values()].flat().flatMap(({ cluster, key, versions }) => {
    const { annotations = {}, namespace } = versions[0]!.object.metadata;
    const isHome = annotations[PARENT_NAMESPACE_ANNOTATION] === namespace
      && annotations[PARENT_NAME_ANNOTATION] !== undefined;
    return isHome ? [] : [`${cluster}/${key} is not in the namespace of its proxy`];
  });
}
