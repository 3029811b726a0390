// Targets that vanish in the middle of a stream of pods, bare ones and those of Deployments by turns: what became of
// each, by what the watches of all clusters saw. One target's API server is killed again and again, the way to another
// one swallows all bytes; the others are always there.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { DEPLOYMENTS, PODS } from '../../../api/resource-types.ts';
import { isAlreadyExists, isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { eventually } from '../history/eventually.ts';
import { faultyPathTo, type FaultyPath } from './faulty-network.ts';
import { isRunning, makeNamespace, type IsthmusWorld } from '../worlds/isthmus-world.ts';

/** How a target goes away: its API server is killed, or nothing comes through any more in either direction. */
export type Vanishing = 'killed' | 'black-holed';

/** A time without a target, in ms of a monotonic clock. */
export interface Absence {
  readonly target: string;
  readonly how: Vanishing;
  readonly from: number;
  readonly until: number;
}

/** One pod of the stream. Times are in ms. */
export interface PodRecord {
  readonly name: string;
  /** Of its objects: a ReplicaSet makes another one for each that goes. */
  readonly uids: readonly string[];
  readonly createdAt: number;
  /** From its creation; undefined when it never ran. */
  readonly runningAfter: number | undefined;
}

/**
 * A target that a pod was sent to and that was lost then; `sentAt` is known of those that were given up, on the clock
 * of {@link Absence}.
 */
export interface Asked {
  readonly target: string;
  readonly sentAt: number | undefined;
}

/** A pod has so long to run before it is deleted, in ms: there is room for those that come. */
const LIFE_MS = 8_000;
const NAMESPACE = 'vanishing';

const containers = [{ name: 'main', image: 'example/main:1' }];
const annotations = { [ELECT_ANNOTATION]: '' };

/** The stream and its faults. */
export class VanishingTargets {
  readonly absences: Absence[] = [];
  readonly #world: IsthmusWorld;
  readonly #path: FaultyPath;
  readonly #creations: Promise<unknown>[] = [];
  readonly #deletions: Promise<unknown>[] = [];
  #count = 0;

  private constructor(world: IsthmusWorld, path: FaultyPath) {
    this.#world = world;
    this.#path = path;
  }

  /** Makes the namespace, and puts a relay before the second target. */
  static async begin(world: IsthmusWorld): Promise<VanishingTargets> {
    await makeNamespace(world, NAMESPACE);
    const made = new VanishingTargets(world, await faultyPathTo(world, world.targets[1]));
    await made.#create(0);
    await made.#allRun();
    return made;
  }

  /** Creates `perSecond` pods until `ended`. */
  async stream(perSecond: number, ended: AbortSignal): Promise<void> {
    for (let at = performance.now(); !ended.aborted; at += 1_000 / perSecond) {
      await sleep(Math.max(0, at - performance.now()));
      this.#count += 1;
      this.#creations.push(awaitedLater(this.#create(this.#count)));
    }
  }

  /** Takes a target away for so long, in ms. */
  async vanish(how: Vanishing, ms: number): Promise<void> {
    const target = this.#world.targets[how === 'killed' ? 0 : 1];
    const from = performance.now();
    if (how === 'killed') await target.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    else this.#path.cut();
    await sleep(ms);
    const until = performance.now();
    if (how === 'killed') await target.cluster.startComponent('kube-apiserver');
    else this.#path.heal();
    this.absences.push({ target: target.cluster.name, how, from, until });
  }

  /** Resolves when every pod has run, or was waited for for long, and has been deleted. */
  async rest(): Promise<void> {
    await Promise.all(this.#creations);
    await Promise.all(this.#deletions);
  }

  /** Resolves when nothing of the pods is left anywhere. */
  async end(): Promise<void> {
    const isOurs = ({ metadata }: KubernetesObject) => metadata.namespace === NAMESPACE;
    const { source, targets } = this.#world;
    await Promise.all([source.pods, ...targets.flatMap(({ pods, chaperons }) => [pods, chaperons])].map(
      (all) => all.until('all of the stream is gone', (objects) => !objects.some(isOurs), 180_000),
    ));
  }

  /** Ends the relay. */
  stop(): Promise<void> {
    return this.#path.stop();
  }

  /** What became of each pod. One that its ReplicaSet has made anew goes on where the first one ended. */
  records(): PodRecord[] {
    const created = new Map<string, PodRecord>();
    for (const { at, key, after } of this.#world.source.pods.history) {
      if (!key.startsWith(`${NAMESPACE}/`) || after === undefined) continue;
      const name = /pod-\d+/.exec(key)?.[0] ?? key;
      const known = created.get(name) ?? { name, uids: [], createdAt: at, runningAfter: undefined };
      const { uid = '' } = after.metadata;
      const runningAfter = known.runningAfter ?? (isRunning(after) ? at - known.createdAt : undefined);
      created.set(name, { ...known, uids: known.uids.includes(uid) ? known.uids : [...known.uids, uid], runningAfter });
    }
    return [...created.values()];
  }

  /**
   * What targets were asked for in vain: given up by the log of the source, waited for by what it told the pod, or made
   * in a target that was away before the pod ran. By UID of the pod.
   */
  async askedInVain(): Promise<ReadonlyMap<string, Asked>> {
    const { cluster, pods } = this.#world.source;
    const log = await readFile(join(cluster.directory, 'isthmus.log'), 'utf8');
    const waited = pods.history.flatMap(({ after }) => (after === undefined ? [] : awaitedBy(after)));
    return new Map([
      ...this.#madeWhereLost(),
      ...waited,
      ...log.split('\n').filter((line) => line.includes('a lost target has stopped its candidate')).map(abandoned),
    ]);
  }

  /** By candidates that the targets have seen: a create may have reached one that could not say so any more. */
  #madeWhereLost(): (readonly [uid: string, asked: Asked])[] {
    const waits = new Map(this.records().flatMap(
      ({ uids, createdAt, runningAfter = Infinity }) => uids.map(
        (uid) => [uid, [createdAt, createdAt + runningAfter]] as const,
      ),
    ));
    return this.#world.targets.flatMap(({ cluster, chaperons }) => chaperons.history.flatMap(({ after }) => {
      const uid = after?.metadata.labels?.[PARENT_UID_LABEL] ?? '';
      const [begun = Infinity, ran = 0] = waits.get(uid) ?? [];
      const wasLost = this.absences.some(
        ({ target, from, until }) => target === cluster.name && from <= ran && begun <= until,
      );
      return wasLost ? [[uid, { target: cluster.name, sentAt: undefined }] as const] : [];
    }));
  }

  /** Pods that had delegates in more than one target, one after the other. */
  moved(): number {
    const places = new Map<string, Set<string>>();
    for (const { cluster, pods } of this.#world.targets) {
      for (const { after } of pods.history) {
        const uid = after?.metadata.labels?.[PARENT_UID_LABEL];
        if (uid !== undefined) places.set(uid, (places.get(uid) ?? new Set()).add(cluster.name));
      }
    }
    return [...places.values()].filter(({ size }) => size > 1).length;
  }

  async #create(number: number): Promise<void> {
    const { client } = this.#world.source;
    const name = `pod-${number}`;
    if (number % 2 === 0) {
      await this.#made(name, () => client.create(
        PODS,
        {
          metadata: { namespace: NAMESPACE, name, annotations }, spec: { terminationGracePeriodSeconds: 1, containers },
        } as Pod,
      ));
      this.#deletions.push(awaitedLater(this.#deleteLater(PODS, name)));
    } else {
      const labels = { app: name };
      const template = { metadata: { labels, annotations }, spec: { terminationGracePeriodSeconds: 1, containers } };
      await this.#made(name, () => client.create(
        DEPLOYMENTS,
        {
          metadata: { namespace: NAMESPACE, name }, spec: { replicas: 1, selector: { matchLabels: labels }, template },
        } as KubernetesObject,
      ));
      this.#deletions.push(awaitedLater(this.#deleteLater(DEPLOYMENTS, name)));
    }
  }

  /** A create whose answer was lost was done all the same. */
  #made(name: string, create: () => Promise<unknown>): Promise<unknown> {
    return eventually(
      name, () => create().then(() => true, (error: unknown) => isAlreadyExists(error) || Promise.reject(error)),
      150_000,
    );
  }

  /** Once it runs. */
  async #deleteLater(type: typeof PODS | typeof DEPLOYMENTS, name: string): Promise<void> {
    const isIt = ({ metadata }: Pod) =>
      metadata.namespace === NAMESPACE && (metadata.name === name || metadata.name?.startsWith(`${name}-`) === true);
    await this.#world.source.pods
      .until(`${name} runs`, (all) => all.some((pod) => isIt(pod) && isRunning(pod)), 150_000)
      .catch(() => undefined);
    await sleep(LIFE_MS);
    await eventually(
      `the end of ${name}`,
      () => this.#world.source.client.delete(
        type, { namespace: NAMESPACE, name }, { propagation: 'Background' },
      ).then(() => true, unless(isNotFound)).then(() => true),
    );
  }

  async #allRun(): Promise<void> {
    await this.#world.source.pods.until('the first pod runs', (all) => all.some(isRunning), 60_000);
  }
}

/** Whether a pod was created while some target had been away for more than `sinceMs`. */
export function wasMade({ createdAt }: PodRecord, absences: readonly Absence[], sinceMs: number): boolean {
  return absences.some(({ from, until }) => from + sinceMs <= createdAt && createdAt <= until);
}

/** Whether no target was away, or has just come back, when a pod was created. */
export function wasMadeInCalm({ createdAt }: PodRecord, absences: readonly Absence[]): boolean {
  return !absences.some(({ from, until }) => from - 2_000 <= createdAt && createdAt <= until + 10_000);
}

/** A rejection before {@link VanishingTargets.rest} must not end the process. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function awaitedBy({ metadata: { uid = '' }, status }: Pod): [uid: string, asked: Asked][] {
  const { reason, message = '' } = findCondition(status?.conditions, 'PodScheduled') ?? {};
  return reason === 'AwaitingTarget'
    ? [[uid, { target: /[^/ ]+(?= has the candidate)/.exec(message)?.[0] ?? '', sentAt: undefined }]]
    : [];
}

function abandoned(line: string): [uid: string, asked: Asked] {
  const { uid, target, sentAt } =
    JSON.parse(line) as { readonly uid: string; readonly target: string; readonly sentAt: string };
  return [uid, { target: target.replace(/.*\//, ''), sentAt: Date.parse(sentAt) - performance.timeOrigin }];
}
