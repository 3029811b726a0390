// Proxies of a source with what was made for them in its targets: taken over from Admiralty, or given back. Nothing
// that runs is made or deleted.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { DELEGATE_FINALIZER, PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { AppError } from '../../process/errors.ts';
import { planAdoption } from '../takeover/adoption-plan.ts';
import type { Migration, MigrationTarget } from './migration.ts';
import { planReturn } from '../takeover/pod-return.ts';
import { planStrays } from '../takeover/stray-chaperons.ts';
import {
  candidatesOf, planEnding, planWaiting, type MadeFor, type WaitingTakeover,
} from '../takeover/waiting-takeover.ts';

/**
 * How long nothing may change before the command fails, in ms: containers that stop get 30 s when their pod says
 * nothing else.
 */
const TIMEOUT_MS = 120_000;
/** Time between two looks while the end of pods is waited for, in ms. */
const POLL_INTERVAL_MS = 500;
/** Kubelets and users write to the same objects; what changed meanwhile is read again, at most this often. */
const ROUNDS = 1_000;

/** What a target has, of this source and of others. */
interface TargetObjects {
  readonly target: MigrationTarget;
  readonly chaperons: readonly PodChaperon[];
  readonly delegates: readonly Pod[];
}

/** State read in one round. */
interface Look {
  readonly proxies: readonly Pod[];
  readonly inTargets: readonly TargetObjects[];
}

/** What one round did. */
interface Round {
  readonly writes: number;
  /** Keys of proxies that wait until what was made for them is gone. */
  readonly waiting: readonly string[];
}

/** Gives us every proxy. Throws AppError `Timeout` where some change faster than they are taken over, or do not end. */
export async function takePods(migration: Migration): Promise<void> {
  const count = await inRounds(migration, takeOnce);
  migration.tell(`  ${count} writes to proxy pods and objects created for them`);
}

/** Returns every proxy pod to Admiralty. Throws as {@link takePods}. */
export async function returnPods(migration: Migration): Promise<void> {
  const count = await inRounds(migration, returnOnce);
  migration.tell(`  ${count} writes to proxy pods and objects created for them`);
}

async function inRounds(
  migration: Migration, once: (migration: Migration, look: Look) => Promise<Round>,
): Promise<number> {
  let all = 0;
  let changedAt = performance.now();
  let waiting: readonly string[] = [];
  let shown = '';
  for (let round = 0; round < ROUNDS && performance.now() - changedAt < TIMEOUT_MS; round += 1) {
    const done = await once(migration, await lookAt(migration));
    if (done.writes === 0 && done.waiting.length === 0) return all;
    all += done.writes;
    if (done.writes > 0 || done.waiting.length !== waiting.length) changedAt = performance.now();
    const names = done.waiting.join(', ');
    if (done.writes === 0 && names !== shown) migration.tell(`  waiting until nothing is left of ${shown = names}`);
    waiting = done.waiting;
    if (done.writes === 0) await delay(POLL_INTERVAL_MS, migration.signal);
  }
  const why = waiting.length > 0
    ? `Delegates of these pods do not end: ${waiting.join(', ')}.`
    : 'Proxy pods change faster than they are handed over.';
  throw new AppError('Timeout', `${why} Nothing is lost; run the same command again.`);
}

/** First what targets have, then the proxies: what has none among them then is gone. */
async function lookAt({ client, targets, signal }: Migration): Promise<Look> {
  const inTargets = await Promise.all(targets.map(async (target): Promise<TargetObjects> => {
    const namespace = target.ref.kind === 'Target' ? target.ref.namespace : undefined;
    const [chaperons, delegates] = await Promise.all([
      target.client.list(POD_CHAPERONS, { namespace }, signal),
      target.client.list(PODS, { namespace, labelSelector: PARENT_UID_LABEL }, signal),
    ]);
    return { target, chaperons, delegates };
  }));
  const proxies = await client.list(PODS, PROXY_PODS, signal);
  return { proxies, inTargets };
}

async function takeOnce(migration: Migration, look: Look): Promise<Round> {
  const { proxies, inTargets } = look;
  let writes = await writeStrays(migration, look);
  for (const { target, chaperons, delegates } of inTargets) {
    const bound = proxies.filter(
      ({ spec, metadata }) => spec.nodeName === target.nodeName && metadata.deletionTimestamp === undefined,
    );
    const plan = planAdoption({
      proxies: bound, chaperons, delegates, target, sourceId: migration.clusterId,
      isAdmiraltyThere: target.isAdmiraltyThere,
    });
    for (const { inTarget, inSource } of plan.adoptions) {
      writes += await write(migration, { inTargets: [{ target: target.key, plan: inTarget }], inSource });
    }
    for (const { pod, why } of plan.left) migration.tell(`  left ${pod}: ${why}`);
  }
  const rest = await eachProxy(migration, proxies.filter((proxy) => !isOurs(proxy)), (proxy) => {
    const made = madeFor(proxy, inTargets);
    if (proxy.metadata.deletionTimestamp !== undefined) return planEnding(proxy, made);
    return (proxy.spec.nodeName ?? '') === '' ? planWaiting(proxy, made) : { inTargets: [], inSource: [] };
  });
  return { writes: writes + rest.writes, waiting: rest.waiting };
}

/** Isthmus itself handles a proxy pod of its own that is being deleted. */
function isOurs({ metadata: { finalizers = [] } }: Pod): boolean {
  return finalizers.includes(DELEGATE_FINALIZER);
}

async function returnOnce(migration: Migration, look: Look): Promise<Round> {
  const strays = await writeStrays(migration, look);
  const targets = migration.targets.map(({ ref, key, isAdmiraltyThere }) => ({ ref, key, isAdmiraltyThere }));
  const { writes, waiting } = await eachProxy(migration, look.proxies, (proxy) => {
    const ofProxy = look.inTargets.flatMap(
      ({ target, delegates }) => delegates.filter((delegate) => isFor(proxy, delegate))
        .map((delegate) => ({ target: target.key, delegate })),
    );
    return planReturn({
      proxy, ...madeFor(proxy, look.inTargets), delegates: ofProxy, targets,
      clusterName: migration.installation.clusterName,
    });
  });
  return { writes: strays + writes, waiting };
}

async function eachProxy(
  migration: Migration, proxies: readonly Pod[], planFor: (proxy: Pod) => WaitingTakeover,
): Promise<Round> {
  let writes = 0;
  const waiting: string[] = [];
  for (const proxy of proxies) {
    const plan = planFor(proxy);
    writes += await write(migration, plan);
    if (plan.isWaiting === true) waiting.push(objectKey(proxy.metadata));
  }
  return { writes, waiting };
}

function writeStrays(migration: Migration, { proxies, inTargets }: Look): Promise<number> {
  const sourceNames = [migration.installation.clusterName, migration.clusterId];
  return write(migration, planStrays({ proxies, inTargets, sourceNames }));
}

function madeFor(proxy: Pod, inTargets: readonly TargetObjects[]): MadeFor {
  return {
    candidates:
      inTargets.flatMap(({ target, chaperons, delegates }) => candidatesOf(proxy, target, { chaperons, delegates })),
    remains: inTargets.some(
      ({ chaperons, delegates }) => [...chaperons, ...delegates].some((made) => isFor(proxy, made)),
    ),
  };
}

function isFor({ metadata: { uid } }: Pod, { metadata: { labels = {} } }: KubernetesObject): boolean {
  return labels[PARENT_UID_LABEL] === uid;
}

/**
 * Writes to targets first, so that nothing is assumed gone meanwhile. Returns the number of writes, including
 * conflicts.
 */
async function write(migration: Migration, { inTargets, inSource }: WaitingTakeover): Promise<number> {
  const all: readonly (readonly [client: Migration['client'], plan: Plan])[] = [
    ...inTargets.map(
      ({ target, plan }) =>
        [migration.targets.find(({ key }) => key === target)?.client ?? migration.client, plan] as const,
    ),
    [migration.client, inSource],
  ];
  for (const [client, plan] of all) {
    const isDone = await executePlan(client, plan, migration.signal).then(() => true, (error: unknown) => {
      ignoreStale(error);
      return false;
    });
    if (!isDone) break; // a proxy pod labelled before its objects would not be looked at again
  }
  return all.reduce((sum, [, plan]) => sum + plan.length, 0);
}

/** Keys of proxies that are not in the desired state, for the check at the end. */
export async function orphanedPods(migration: Migration): Promise<readonly string[]> {
  const { proxies } = await lookAt(migration);
  return proxies.filter((proxy) => !isOurs(proxy) && proxy.metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => objectKey(metadata));
}
