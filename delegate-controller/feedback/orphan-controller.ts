// Garbage-collects objects in targets of pods that are gone, were replaced by a pod of the same name, or are bound
// elsewhere. It relies on what it observed in targets, not on what this process sent, so that nothing is lost in a
// restart.
import { PODS } from '../../api/resource-types.ts';
import { ignoreStale, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { DONE, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { Chaperon } from '../../model/delegate/cached-delegate.ts';
import { SharedValues } from '../../model/objects/shared-values.ts';
import { planChaperonDeletion } from '../../model/delegate/delegation.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { splitKey } from '../../model/pod/pod.ts';
import { planStoppedDelegateRelease } from './feedback-plan.ts';
import type { SourceControllerOptions } from '../../targets/proxy-pods.ts';

/** Reconciles by the key of the proxy pod. */
export class OrphanCollector {
  readonly #options: SourceControllerOptions;
  /** Targets where a chaperon of the pod with this key was observed: mostly one, and then pods share the list. */
  readonly #seenIn = new Map<string, readonly string[]>();
  readonly #lists = new SharedValues();

  constructor(options: SourceControllerOptions) {
    this.#options = options;
  }

  /** Records that a target has a chaperon of a pod with this key. */
  noteSeen(key: string, target: string): void {
    const targets = this.#seenIn.get(key) ?? [];
    if (!targets.includes(target)) this.#seenIn.set(key, this.#lists.value([...targets, target]));
  }

  /** Whether a target has, or may have, chaperons of this key to delete, or delegates whose finalizer to remove. */
  concerns(key: string): boolean {
    const proxy = this.#options.proxies.get(key);
    for (const targetKey of this.#seenIn.get(key) ?? []) {
      const target = this.#options.targets.get(targetKey);
      const made = target?.session?.madeFor(key) ?? [];
      if (target === undefined || made.length === 0) return true;
      if (made.some((chaperon) => !target.owns(chaperon) || isLeft(chaperon, proxy, target))) return true;
    }
    return false;
  }

  /** Deletes the orphaned chaperons of pods with this key. */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    await Promise.all((this.#seenIn.get(key) ?? []).map((target) => this.#collect(key, target, signal)));
    return DONE;
  }

  async #collect(key: string, targetKey: string, signal: AbortSignal): Promise<void> {
    const target = this.#options.targets.get(targetKey);
    const chaperons = target?.session?.madeFor(key).filter((chaperon) => target.owns(chaperon)) ?? [];
    if (target === undefined || chaperons.length === 0) return this.#forget(key, targetKey);
    for (const chaperon of chaperons) {
      const proxy = this.#options.proxies.get(key);
      const isOrphan = !chaperon.terminating && !belongs(chaperon, proxy, target);
      if (isOrphan) await this.#deleteOrphan(chaperon, target, signal);
      // without a client the target is not connected; its return enqueues the pod again
      const client = target.session?.client;
      if (client !== undefined) {
        await executePlan(client, planStoppedDelegateRelease(chaperon, proxy), signal).catch(ignoreStale);
      }
    }
  }

  async #deleteOrphan(chaperon: Chaperon, target: TargetCluster, signal: AbortSignal): Promise<void> {
    const client = target.session?.client;
    if (client === undefined || (await this.#isStillWanted(chaperon, target, signal))) return;
    this.#options.logger.info({ target: target.key, chaperon: chaperon.key }, 'deleted an orphaned chaperon');
    await executePlan(client, planChaperonDeletion(chaperon), signal).catch(ignoreStale);
  }

  #forget(key: string, target: string): void {
    const others = (this.#seenIn.get(key) ?? []).filter((other) => other !== target);
    if (others.length === 0) this.#seenIn.delete(key);
    else this.#seenIn.set(key, others);
  }

  /** Uncached read in the source of the pod of a chaperon, when the cache has no such pod. */
  async #isStillWanted(chaperon: Chaperon, target: TargetCluster, signal: AbortSignal): Promise<boolean> {
    const pod = await this.#options.source.get(PODS, splitKey(chaperon.parentKey), signal).catch(unless(isNotFound));
    const nodeName = pod?.spec.nodeName ?? '';
    return pod?.metadata.uid === chaperon.parentUid && (nodeName === '' || nodeName === target.nodeName);
  }
}

/** Whether there is something to do about a chaperon. */
function isLeft(chaperon: Chaperon, proxy: ProxyPod | undefined, target: TargetCluster): boolean {
  return (!chaperon.terminating && !belongs(chaperon, proxy, target))
    || planStoppedDelegateRelease(chaperon, proxy).length > 0;
}

function belongs(chaperon: Chaperon, proxy: ProxyPod | undefined, target: TargetCluster): boolean {
  if (proxy?.uid !== chaperon.parentUid) return false;
  return proxy.nodeName === undefined || proxy.nodeName === target.nodeName;
}
