// How watchers hear of a change, in the model: at once, in time, or by the next list.
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { goes, uidOf, valueOf, type Collection, type Watch } from './servers.ts';
import type { World } from './world.ts';

/** A chaperon controller forgets a chaperon that has gone. */
export function forgetChaperon(
  world: World, index: number, before: PodChaperon | null, after: PodChaperon | null,
): void {
  const { process } = world.targets[index]!;
  if (before === null || before.metadata.uid === after?.metadata.uid) return;
  delete process.unheard[uidOf(before)];
  [process.seen, process.gone] = [
    process.seen, process.gone,
  ].map((uids) => uids.filter((uid) => uid !== before.metadata.uid)) as [string[], string[]];
}

/** A chaperon controller notes that a chaperon had its delegate, and that a chaperon that goes has it no more. */
export function seePod(world: World, index: number, before: Pod | null, after: Pod | null): void {
  const { process } = world.targets[index]!;
  const owner = (after ?? before)?.metadata.ownerReferences?.[0]?.uid;
  if (owner === undefined) return;
  if (after !== null && process.unheard[owner] === uidOf(after)) delete process.unheard[owner];
  if (after === null) noteEnd(process, owner);
  if (!process.seen.includes(owner)) process.seen.push(owner);
}

function noteEnd({ chaperons, gone, unheard }: World['targets'][number]['process'], owner: string): void {
  const chaperon = valueOf(chaperons.cached);
  if (owner === uidOf(chaperon) && goes(chaperon) && !gone.includes(owner) && unheard[owner] === undefined) {
    gone.push(owner);
  }
}

/** Does something to a target's objects, and tells all who watch. */
export function tell(world: World, index: number, act: () => void): void {
  const { chaperons, pods, process } = world.targets[index]!;
  const link = world.source.links[index]!;
  const before = [chaperons.version, pods.version];
  act();
  if (world.prompt === 'targets') return tellPromptly(world, index);
  if (chaperons.version !== before[0]) {
    push(world, chaperons, [[process.isUp, process.chaperons], [world.source.isUp, link.chaperons]]);
  }
  if (pods.version !== before[1]) push(world, pods, [[process.isUp, process.pods], [world.source.isUp, link.pods]]);
}

/** The target's own process knows at once; the source hears of it in time. */
function tellPromptly(world: World, index: number): void {
  const { chaperons, pods, process } = world.targets[index]!;
  const link = world.source.links[index]!;
  push(world, chaperons, [[world.source.isUp && link.chaperons.version !== chaperons.version, link.chaperons]]);
  push(world, pods, [[world.source.isUp && link.pods.version !== pods.version, link.pods]]);
  if (!process.isUp) return;
  if (process.chaperons.synced) {
    catchUp(process.chaperons, chaperons, (before, after) => forgetChaperon(world, index, before, after));
  }
  if (process.pods.synced) catchUp(process.pods, pods, (before, after) => seePod(world, index, before, after));
}

function catchUp<T>(
  watch: Watch<T>, { version, held }: Collection<T>, heard: (before: T | null, after: T | null) => void,
): void {
  if (watch.version === version) return;
  const before = valueOf(watch.cached);
  Object.assign(watch, { version, cached: held });
  heard(before, valueOf(held));
}

/** Does something to the proxies, and tells all who watch. */
export function tellSource(world: World, act: () => void): void {
  const before = world.proxies.version;
  act();
  if (world.proxies.version !== before) push(world, world.proxies, [[world.source.isUp, world.source.proxies]]);
}

function push<T>(
  { watches: style }: World, { version, held }: Collection<T>,
  watches: readonly (readonly [isUp: boolean, watch: Watch<T>])[],
): void {
  for (const [isUp, watch] of watches) {
    if (!isUp || !watch.synced) continue;
    if (style === 'newest') watch.queue = [{ version, held }];
    else watch.queue.push({ version, held });
  }
}

