// The two ways through the model: every interleaving, with states that were seen before left out; and random walks from
// a seed.
import { createHash } from 'node:crypto';
import { DELEGATE_FINALIZER, PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { actionsOf, copyOf, type Action } from './actions.ts';
import { isLivingDelegate, type Plans } from './processes.ts';
import { nodeNameOf, objectIn, parentOf, uidOf } from './servers.ts';
import { newWorld, nodeOf, type Scenario, type World } from './world.ts';
import { seededRandom } from '../support/objects/seeded-random.ts';

/** What was found: a breach with the way to it, or nothing in so many states. */
export interface Finding {
  readonly states: number;
  readonly breach?: string;
  /** Names of the actions that lead to the breach. */
  readonly trace: readonly string[];
}

/** A run of progress alone that is longer than this goes in circles. */
const MAX_PROGRESS = 2_000;

/** Writes to one collection; the small scenarios need fewer than ten. */
const MAX_WRITES = 60;

/** Looks at every state that can be reached, depth first; stops at the first breach or after `maxStates`. */
export function exploreAll(scenario: Scenario, plans: Plans, maxStates = Infinity): Finding {
  const first = newWorld(scenario);
  const seen = new Map<string, { readonly from: string; readonly name: string }>();
  const start = digest(JSON.stringify(first));
  seen.set(start, { from: '', name: '' });
  const stack = [{ world: first, id: start }];
  for (let node = stack.pop(); node !== undefined && seen.size < maxStates; node = stack.pop()) {
    const { world, id } = node;
    const actions = actionsOf(world, plans);
    const stuck = actions.some(({ kind }) => kind !== 'optional') ? undefined : unfinished(world);
    if (stuck !== undefined) return { states: seen.size, breach: stuck, trace: traceTo(seen, id) };
    for (const { name, act } of actions) {
      const next = copyOf(world);
      act(next);
      const nextId = digest(JSON.stringify(next));
      if (seen.has(nextId)) continue;
      seen.set(nextId, { from: id, name });
      const found = next.breach ?? breachIn(next) ?? endlessIn(next);
      if (found !== undefined) return { states: seen.size, breach: found, trace: traceTo(seen, nextId) };
      stack.push({ world: next, id: nextId });
    }
  }
  return { states: seen.size, trace: [] };
}

/** No order of what happens may let two controllers undo one another's writes for ever. */
function endlessIn({ proxies, targets }: World): string | undefined {
  const collections = [proxies, ...targets.flatMap(({ chaperons, pods }) => [chaperons, pods])];
  return collections.some(({ version }) => version > MAX_WRITES) ? 'an object is written for ever' : undefined;
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64').slice(0, 16);
}

function traceTo(seen: ReadonlyMap<string, { readonly from: string; readonly name: string }>, end: string): string[] {
  const names: string[] = [];
  for (let id = end; id !== ''; id = seen.get(id)!.from) names.unshift(seen.get(id)!.name);
  return names.filter((name) => name !== '');
}

/** A random walk, then progress alone until nothing is left to do. The same seed gives the same walk. */
export function walk(seed: number, scenario: Scenario, plans: Plans, steps = 120): Finding {
  const random = seededRandom(seed);
  const world = newWorld(scenario);
  const trace: string[] = [];
  const step = (actions: readonly Action[]): string | undefined => {
    const action = actions[Math.floor(random() * actions.length)]!;
    trace.push(action.name);
    action.act(world);
    return world.breach ?? breachIn(world);
  };
  for (let count = 0; count < steps; count += 1) {
    const actions = actionsOf(world, plans);
    if (actions.length === 0) break;
    const wanted = actions.filter(isOne(random() < 0.2 ? OTHERS : PROGRESS));
    const found = step(wanted.length > 0 ? wanted : actions);
    if (found !== undefined) return { states: trace.length, breach: found, trace };
  }
  for (let count = 0; count < MAX_PROGRESS; count += 1) {
    const actions = actionsOf(world, plans).filter(({ kind }) => kind !== 'optional');
    if (actions.length === 0) return result(trace, unfinished(world));
    const found = step(actions);
    if (found !== undefined) return { states: trace.length, breach: found, trace };
  }
  return { states: trace.length, breach: 'it never comes to rest', trace };
}

const PROGRESS: readonly Action['kind'][] = ['progress'];
const OTHERS: readonly Action['kind'][] = ['optional', 'slow'];
const isOne = (kinds: readonly Action['kind'][]) => ({ kind }: Action): boolean => kinds.includes(kind);

function result(trace: readonly string[], breach: string | undefined): Finding {
  return { states: trace.length, ...(breach !== undefined && { breach }), trace };
}


/** Invariants 1, 4, 5 and 13 of `docs/invariants.md`, which hold in every state. */
function breachIn(world: World): string | undefined {
  const delegates = world.targets.flatMap(({ pods }, target) => {
    const object = objectIn(pods);
    return object?.metadata.labels?.[PARENT_UID_LABEL] === undefined ? [] : [{ object, target }];
  });
  const chaperons = world.targets.flatMap(({ chaperons: held }, target) => {
    const object = objectIn(held);
    return object === null ? [] : [{ object, target }];
  });
  const proxy = objectIn(world.proxies);
  const held = proxy?.metadata.finalizers?.includes(DELEGATE_FINALIZER) === true ? proxy.metadata.uid : undefined;
  const living = delegates.filter(({ object }) => !isTerminal(object.status?.phase));
  for (const [index, { object }] of living.entries()) {
    const uid = object.metadata.labels?.[PARENT_UID_LABEL] ?? '';
    if (living.slice(index + 1).some((other) => other.object.metadata.labels?.[PARENT_UID_LABEL] === uid)) {
      return `two delegates of ${uid} at a time`;
    }
  }
  const orphan = orphanIn(world, held, [...chaperons, ...delegates]);
  if (orphan !== undefined) return `${parentOf(orphan)} was let go while ${orphan.metadata.uid} was there`;
  return strayIn(world, delegates);
}

interface Placed<T> {
  readonly object: T;
  readonly target: number;
}

function orphanIn(world: World, held: string | undefined, objects: readonly Placed<Pod | PodChaperon>[]): Pod
  | PodChaperon | undefined {
  const isKnown = (object: Pod | PodChaperon) => [...world.forced, ...world.departed].includes(parentOf(object) ?? '');
  return objects.find(
    ({ object, target }) => parentOf(object) !== held && !isKnown(object) && !wasAbandoned(world, object, target),
  )?.object;
}

/** A delegate that runs where it is not to be any more. */
function strayIn(world: World, delegates: readonly Placed<Pod>[]): string | undefined {
  const living = delegates.filter(({ object }) => !isTerminal(object.status?.phase));
  const again = delegates.find(({ object, target }) => isLivingDelegate(object) && wasAbandoned(world, object, target));
  if (again !== undefined) return `${parentOf(again.object)} runs in ${again.target}, where it was given up`;
  const left = delegates.find(
    ({ object }) => isLivingDelegate(object) && world.departed.includes(parentOf(object) ?? '') && !world.forced
      .includes(parentOf(object) ?? ''),
  );
  if (left !== undefined) return `${parentOf(left.object)} runs in ${left.target}, which it has left`;
  const stray = living.find(({ object, target }) => {
    const node = world.bound[object.metadata.labels?.[PARENT_UID_LABEL] ?? ''];
    return node !== undefined && node !== nodeOf(target);
  });
  return stray === undefined ? undefined : `a delegate in ${stray.target}, which its proxy is not bound to`;
}

function wasAbandoned({ abandoned }: World, object: Pod | PodChaperon, target: number): boolean {
  return abandoned.includes(`${parentOf(object)} ${target}`);
}

/** What is not as it should be where nothing more happens by itself: invariants 2, 3 and 11. */
function unfinished(world: World): string | undefined {
  const proxy = objectIn(world.proxies);
  const chaperons = world.targets.filter(({ chaperons: { held } }) => held !== 0).length;
  const delegates = world.targets.filter(({ pods }) => objectIn(pods)?.metadata.ownerReferences !== undefined).length;
  if (proxy === null) return chaperons + delegates === 0 ? undefined : 'the pod is gone, and something of it stays';
  if (proxy.metadata.deletionTimestamp !== undefined) return 'the deleted pod stays';
  return isTerminal(proxy.status?.phase) ? undefined : unplaced(world, proxy);
}

function unplaced(world: World, proxy: Pod): string | undefined {
  const target = world.targets.findIndex((_target, index) => nodeOf(index) === nodeNameOf(proxy));
  if (target !== -1) return runs(world, target, proxy.metadata.uid) ? undefined : 'the bound pod has no delegate';
  const rejected = world.source.memories[uidOf(proxy)]?.rejected.length;
  return rejected === world.targets.length || world.left.impatience === 0 ? undefined : 'the pod waits for nothing';
}

function runs(world: World, target: number, uid: string | undefined): boolean {
  const delegate = objectIn(world.targets[target]!.pods);
  return delegate?.metadata.labels?.[PARENT_UID_LABEL] === uid;
}

/** For people: how a world looks. */
export function describeWorld(world: World): string {
  return JSON.stringify(copyOf(world), undefined, 1);
}
