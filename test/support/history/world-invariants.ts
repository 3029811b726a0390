// The invariants over what a test's world has seen: every integration test ends with this check, whatever it was about.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { isTerminal } from '../../../model/pod/pod.ts';
import { auditedLives, doublesIn } from './audited-lives.ts';
import { breachesOf, type HistoryContext, type HistoryEvent } from './invariants.ts';
import type { IsthmusWorld, WorldCluster } from '../worlds/isthmus-world.ts';

/** Two watches of one loaded machine are this far out of step at most, in ms. */
const WATCH_LAG_MS = 2_000;

/** Clusters whose histories are looked at. */
interface Clusters {
  readonly source: WorldCluster;
  readonly targets: readonly WorldCluster[];
}

/** What a test knows beside the history. */
interface TestContext extends Partial<HistoryContext> {
  /** Names of targets that are not those of their clusters. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** What was before is not looked at; no pod may be left of it. */
  readonly since?: number;
}

/** Fails with a sentence for each breach. `context` says what the test did that the watches cannot tell. */
export function assertInvariants(world: Clusters, context: TestContext = {}): void {
  const { aliases = {}, since = 0, ...rest } = context;
  const clusterOf = new Map(
    [...world.targets.map(({ cluster }) => [cluster.name, cluster.name] as const), ...Object.entries(aliases)].map(([
      target, cluster,
    ]) => [
      virtualNodeName({ kind: 'ClusterTarget', name: target }), cluster,
    ]),
  );
  const breaches = breachesOf(historyOf(world).filter(({ at }) => at >= since), {
    source: world.source.cluster.name,
    targetOfNode: (node) => clusterOf.get(node), toleranceMs: WATCH_LAG_MS, endedAt: performance.now(), ...rest,
  });
  assert.deepEqual(breaches, []);
}

/**
 * The end of a test's world: the check, and then its end in any case, for processes that live on keep a failed test
 * from ending.
 */
export async function endWorld(world: IsthmusWorld | undefined, context: TestContext = {}): Promise<void> {
  try {
    if (world !== undefined) assertInvariants(world, context);
    if (world !== undefined) await assertNoDoubles(world);
  } finally {
    await world?.stop();
  }
}

/** Fails where two delegates of one proxy surely existed at once, for however short, by the targets' audit logs. */
export async function assertNoDoubles({ targets }: Clusters): Promise<void> {
  const audited = targets.flatMap(({ cluster, pods }) => {
    if (cluster.auditLog === undefined) return [];
    const delegates = new Set<string>();
    const ended = new Set<string>();
    for (const { key, after } of pods.history) {
      if (after?.metadata.labels?.[PARENT_UID_LABEL] !== undefined) delegates.add(key);
      if (isTerminal(after?.status?.phase)) ended.add(key);
    }
    const counts = (key: string): boolean => delegates.has(key) && !ended.has(key);
    return [{ cluster: cluster.name, path: cluster.auditLog, seen: delegates.size - ended.size, counts }];
  });
  const logs = await Promise.all(audited.map(async (one) => ({ ...one, log: await readFile(one.path, 'utf8') })));
  const lives = auditedLives(logs);
  assert.ok(lives.size > 0 || logs.every(({ seen }) => seen <= 0), 'the audit logs show none of the delegates');
  assert.deepEqual(doublesIn(lives), []);
}

function historyOf({ source, targets }: Clusters): HistoryEvent[] {
  const events = [source, ...targets].flatMap(({ cluster, pods }) => pods.history.map(
    ({ at, key, after }) => ({ at, cluster: cluster.name, key, object: after }),
  ));
  return events.toSorted((one, other) => one.at - other.at);
}
