// Controller of failback: tracks since when targets are ready, and evicts the pods that should return to them.
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { evictPod, remotelyPlaced, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import { mayFailBack, PAUSE_MS, planFailback } from './failback.ts';
import { ruleAgainst, rulesFor, type PolicyIndex } from '../snapshot/placement-rules.ts';
import type { TargetSnapshot } from '../snapshot/snapshot.ts';

/** What the controller works with. */
export interface FailbackOptions extends SourceControllerOptions {
  /** The current policies. */
  readonly policies: () => PolicyIndex;
  /** The scheduler's view of a target, by its key. */
  readonly viewOf: (target: string) => TargetSnapshot | undefined;
  /** Reconciling starts when this resolves. */
  readonly ready: Promise<unknown>;
}

/** Reconcile interval while pods are away, in ms: policies may change meanwhile. */
const INTERVAL_MS = 60_000;

/** Starts the controller. Call before the informer of proxies runs. */
export function startFailback(options: FailbackOptions, signal: AbortSignal): void {
  const { proxies, targets, logger, ready } = options;
  const failback = new Failback(options);
  const controller = startController(
    { name: 'failback', reconcile: (key) => failback.reconcile(key, signal), concurrency: 4, logger, ready }, signal,
  );
  proxies.onChange((_key, before, after) => {
    if (before?.lostTargets !== undefined) return;
    for (const target of after?.lostTargets ?? []) {
      failback.noteLost(target);
      controller.enqueue(target);
    }
  });
  targets.listen({
    changed: (target) => {
      if (failback.note(target.key, target.availability.kind === 'ready')) controller.enqueue(target.key);
    },
    removed: ({ key }) => void failback.note(key, false),
  });
}

class Failback {
  readonly #options: FailbackOptions;
  /** By key of the target, in ms of a monotonic clock. */
  readonly #readySince = new Map<string, number>();
  readonly #evicted = new Map<string, { readonly at: number; readonly key: string }>();

  constructor(options: FailbackOptions) {
    this.#options = options;
  }

  /** Records whether a target is ready. Returns whether it has just become ready. */
  note(target: string, isReady: boolean): boolean {
    if (!isReady) this.#readySince.delete(target);
    if (!isReady || this.#readySince.has(target)) return false;
    this.#readySince.set(target, performance.now());
    return true;
  }

  /** A pod was placed elsewhere because this target could not be asked: it is not stable, though it may look ready. */
  noteLost(target: string): void {
    if (this.#readySince.has(target)) this.#readySince.set(target, performance.now());
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const target = this.#options.targets.get(key);
    if (target === undefined) return DONE;
    const movable = remotelyPlaced(this.#options.proxies).filter((proxy) => mayFailBack(proxy, target));
    const view = this.#options.viewOf(key);
    const away = isOpen(view) ? movable.filter((proxy) => this.#maySendBack(proxy, view)) : [];
    const last = this.#evicted.get(key);
    const step = planFailback(
      { readySince: this.#readySince.get(key), evictedAt: last?.at, evictedKey: last?.key, away }, performance.now(),
    );
    if (step.kind === 'wait') return { kind: 'requeue-after', ms: step.ms };
    if (step.kind === 'no-change') return movable.length === 0 ? DONE : { kind: 'requeue-after', ms: INTERVAL_MS };
    this.#evicted.set(key, { at: performance.now(), key: step.proxy.key });
    this.#options.logger.info(
      { target: key, pod: step.proxy.key }, 'a pod is evicted to go back to a target that is stable again',
    );
    // a PodDisruptionBudget may forbid it: it is retried after those of the other pods
    await evictPod(this.#options.source, step.proxy, signal).catch(ignoreStale);
    return { kind: 'requeue-after', ms: PAUSE_MS };
  }

  #maySendBack(proxy: ProxyPod, view: TargetSnapshot | undefined): boolean {
    const rules = rulesFor(proxy, this.#options.policies());
    return rules.failback?.value === 'WhenStable' && ruleAgainst(rules, view?.nodeInfo) === undefined;
  }
}

/** A pod that is evicted for a target that gets none, such as a cordoned one, would only go somewhere else. */
function isOpen(view: TargetSnapshot | undefined): boolean {
  return view?.unavailable === undefined && view?.nodeInfo?.hasNode === true && !view.nodeInfo.cordoned;
}
