// `npm run soak -- kills`: kill -9 of a controller at every call with which a delegate is created and deleted, in both
// modes, on real control planes. A phase is run again and again; the n-th time the process ends at the
// n-th call, before it is sent or after it was answered, until a walk comes to its end alive. Prints its figures as
// JSON; fails when a pod was doubled, lost or stuck, or took too long after a restart.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Pod } from '../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, PARENT_UID_LABEL, PROXY_CONSTRAINTS_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { LAZY_STATUS_MS } from '../../../delegate-controller/chaperon/chaperon-plan.ts';
import { makeBare } from '../../support/worlds/bare-target.ts';
import { eventually } from '../../support/history/eventually.ts';
import { HookedProcess } from '../../support/faults/hooked-process.ts';
import {
  isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster,
} from '../../support/worlds/isthmus-world.ts';
import { killAt, type KillPoint } from '../../support/faults/kill-at-call.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const NAMESPACE = 'kills';
const GATE = 'example.com/not-yet';
/** From the restart until all is as it should be (faults 14 and 15). */
const MAX_RECOVERY_MS = 20_000;
/**
 * A walk that reached its end may have a call left: so long is waited for one. A chaperon's status may lag
 * (`LAZY_STATUS_MS`).
 */
const SETTLE_MS = 2_500;
const LAZY_SETTLE_MS = LAZY_STATUS_MS + 5_000;
const MAX_CALLS = 40;

type Phase = 'create' | 'delete';

/** A phase of a delegate, and whose process is killed in it. */
interface Series {
  readonly name: string;
  readonly phase: Phase;
  readonly home: WorldCluster;
  readonly killed: WorldCluster;
}

interface Kill {
  readonly call: string;
  readonly recoveryMs: number;
}

interface SeriesFigures {
  readonly series: string;
  readonly kills: number;
  /** The calls that a process ended at, in their order. */
  readonly calls: readonly string[];
  readonly recoveryMs: { readonly median: number; readonly most: number };
}

function aPod(name: string, home: WorldCluster): Pod {
  const constraints = JSON.stringify({ nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: home.cluster.name } });
  return {
    metadata: {
      namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: constraints },
    },
    spec: {
      schedulingGates: [{ name: GATE }], terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'example/main:1' }],
    },
  };
}

class Walker {
  readonly #world: IsthmusWorld;
  readonly #processes: ReadonlyMap<WorldCluster, HookedProcess>;

  constructor(world: IsthmusWorld, processes: ReadonlyMap<WorldCluster, HookedProcess>) {
    this.#world = world;
    this.#processes = processes;
  }

  async walkAll(series: Series): Promise<SeriesFigures> {
    const kills: Kill[] = [];
    for (let nth = 1; nth <= MAX_CALLS; nth += 1) {
      for (const when of ['before', 'after'] as const) {
        const kill = await this.#walk(series, { pod: `${series.name}-${nth}-${when}-x`, nth, when });
        if (kill === undefined) {
          await this.#processes.get(series.killed)!.restart(); // its point is still ahead of it
          return figuresOf(series, kills);
        }
        kills.push(kill);
      }
    }
    throw new Error(`${series.name} makes more than ${MAX_CALLS} calls`);
  }

  /** Gives nothing when the process was not killed in that phase. */
  async #walk(series: Series, point: KillPoint): Promise<Kill | undefined> {
    const { phase, home, killed } = series;
    const controller = this.#processes.get(killed)!;
    await eventually('the webhook', () => this.#world.source.client.create(PODS, aPod(point.pod, home)));
    if (phase === 'delete') await this.#ungated(point.pod);
    await controller.restart(killAt(point));
    if (phase === 'delete') await this.#world.source.client.delete(PODS, { namespace: NAMESPACE, name: point.pod });
    else await this.#ungate(point.pod);
    if (!(await this.#isKilled(controller, series, point.pod))) return undefined;
    const call = await lastCallOf(controller, point.pod);
    const since = performance.now();
    await controller.restart();
    await this.#reach(phase, point.pod, 60_000);
    return { call, recoveryMs: Math.round(performance.now() - since) };
  }

  async #isKilled({ current }: HookedProcess, { phase, home, killed }: Series, pod: string): Promise<boolean> {
    const settleMs = phase === 'create' && home === killed ? LAZY_SETTLE_MS : SETTLE_MS;
    const arrived = this.#reach(phase, pod, 60_000).then(
      () => new Promise((resolve) => setTimeout(resolve, settleMs)),
    ).then(() => false);
    arrived.catch(() => undefined); // a killed one does not arrive
    return Promise.race([current.exited.then(() => true), arrived]);
  }

  async #ungated(pod: string): Promise<void> {
    await this.#ungate(pod);
    await this.#reach('create', pod, 60_000);
  }

  #ungate(name: string): Promise<unknown> {
    return this.#world.source.client.patch(
      PODS, { namespace: NAMESPACE, name }, { patchType: 'merge', patch: { spec: { schedulingGates: null } } },
    );
  }

  /** Resolves when the pod runs, with one delegate; or when it is gone, with all of it. */
  async #reach(phase: Phase, name: string, ms: number): Promise<void> {
    const { source, targets } = this.#world;
    const isIt = ({ metadata }: { readonly metadata: Pod['metadata'] }) =>
      metadata.namespace === NAMESPACE && metadata.name === name;
    if (phase === 'create') return void (
      await source.pods.until(`${name} runs`, (all) => all.some((pod) => isIt(pod) && isRunning(pod)), ms)
    );
    const isOf = ({ metadata }: { readonly metadata: Pod['metadata'] }) =>
      metadata.name?.startsWith(`${name}-`) === true;
    await source.pods.until(`${name} is gone`, (all) => !all.some(isIt), ms);
    await Promise.all(targets.flatMap(
      ({ pods, chaperons }) => [pods.until('its delegate is gone', (all) => !all.some(isOf), ms), chaperons.until(
        'its chaperon is gone', (all) => !all.some(isOf), ms,
      )],
    ));
  }
}

/** What a process that ended itself wrote last, without the name of the pod. */
async function lastCallOf({ current }: HookedProcess, pod: string): Promise<string> {
  const log = await readFile(current.spec.logPath, 'utf8');
  return (/^ends at (.*)$/m.exec(log.slice(log.lastIndexOf('ends at ')))?.[1] ?? 'unknown').replace(
    new RegExp(`${pod}(-[0-9a-f]+)?`), 'POD',
  );
}

function figuresOf({ name, phase, killed }: Series, kills: readonly Kill[]): SeriesFigures {
  const sorted = kills.map(({ recoveryMs }) => recoveryMs).toSorted((one, other) => one - other);
  assert.ok(sorted.length > 0, `${name}: no call was counted`);
  const recoveryMs = { median: sorted[sorted.length >> 1] ?? NaN, most: sorted.at(-1) ?? NaN };
  return {
    series: `${name}: ${phase}, process of ${killed.cluster.name}`, kills: kills.length,
    calls: [...new Set(kills.map(({ call }) => call))], recoveryMs,
  };
}

/** Delegates there ever were, by UID of their proxy. */
function delegatesEver({ targets }: IsthmusWorld): ReadonlyMap<string, ReadonlySet<string>> {
  const made = new Map<string, Set<string>>();
  for (const { after: pod } of targets.flatMap(({ pods }) => pods.history)) {
    const parent = pod?.metadata.labels?.[PARENT_UID_LABEL];
    if (parent !== undefined) made.set(parent, (made.get(parent) ?? new Set()).add(pod?.metadata.uid ?? ''));
  }
  return made;
}

async function cleanUp({ source, targets }: IsthmusWorld): Promise<void> {
  const left = source.pods.objects.filter(({ metadata }) => metadata.namespace === NAMESPACE);
  await Promise.all(
    left.map(({ metadata: { name = '' } }) => source.client.delete(PODS, { namespace: NAMESPACE, name })),
  );
  const none = (all: readonly { readonly metadata: Pod['metadata'] }[]) =>
    all.every(({ metadata }) => metadata.namespace !== NAMESPACE);
  await source.pods.until('no pods', none, 60_000);
  await Promise.all(targets.flatMap(
    ({ pods, chaperons }) => [pods.until('no delegates', none, 60_000), chaperons.until('no chaperons', none, 60_000)],
  ));
}

const world = await startWorld({ nodes: 1 });
const processes =
  new Map([world.source, world.targets[0]].map((cluster) => [cluster, new HookedProcess(world, cluster)]));
try {
  await makeNamespace(world, NAMESPACE);
  const { source, targets: [chaperons, bare] } = world;
  await makeBare(world, bare);
  const walker = new Walker(world, processes);
  const phases = ['create', 'delete'] as const;
  const all: Series[] = phases.flatMap((phase) => [
    { name: `chaperon-source-${phase}`, phase, home: chaperons, killed: source },
    { name: `chaperon-target-${phase}`, phase, home: chaperons, killed: chaperons },
    { name: `pod-source-${phase}`, phase, home: bare, killed: source },
  ]);
  const figures: SeriesFigures[] = [];
  for (const series of all) {
    figures.push(await walker.walkAll(series));
    process.stderr.write(`${JSON.stringify(figures.at(-1))}\n`);
  }
  await cleanUp(world);
  for (const [uid, delegates] of delegatesEver(world)) {
    assert.equal(delegates.size, 1, `the proxy ${uid} had ${delegates.size} delegates`);
  }
  assertInvariants(world);
  process.stdout.write(
    `${JSON.stringify({ kills: figures.reduce((sum, { kills }) => sum + kills, 0), proxies: delegatesEver(world).size, figures }, undefined, 2)}\n`,
  );
  assert.ok(
    figures.every(({ recoveryMs }) => recoveryMs.most <= MAX_RECOVERY_MS),
    `a recovery took more than ${MAX_RECOVERY_MS} ms`,
  );
} finally {
  for (const hooked of processes.values()) await hooked.stop();
  await world.stop();
}
