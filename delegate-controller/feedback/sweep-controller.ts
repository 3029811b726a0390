// Takes back what is left in targets of pods that are gone, were replaced by another of their name, or are bound elsewhere. It goes by what was seen
// there, not by what was sent from here, so that nothing is forgotten with a process.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { ignoreStale, isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { Chaperon } from '../../model/delegate/remembered-delegate.ts';
import { planChaperonDeletion } from '../../model/delegate/delegation.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { planRunOnceRelease } from './feedback-plan.ts';

/** What a sweep works with. */
export interface SweepOptions {
  readonly source: ClusterClient;
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly logger: Logger;
}

/** Sweeps by the key of the proxy pod. */
export class Sweep {
  readonly #options: SweepOptions;
  /** Targets where a chaperon of the pod of this key has been seen. */
  readonly #seenIn = new Map<string, Set<string>>();

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /** Notes that a target, by its key, holds a chaperon of a pod of this key. */
  noteSeen(key: string, target: string): void {
    const targets = this.#seenIn.get(key);
    if (targets === undefined) this.#seenIn.set(key, new Set([target]));
    else targets.add(target);
  }

  /** Takes back all that is left of pods of this key. */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    await Promise.all([...(this.#seenIn.get(key) ?? [])].map((target) => this.#sweep(key, target, signal)));
    return DONE;
  }

  async #sweep(key: string, targetKey: string, signal: AbortSignal): Promise<void> {
    const target = this.#options.targets.get(targetKey);
    const chaperons = target?.session?.madeFor(key).filter((chaperon) => target.holds(chaperon)) ?? [];
    if (target === undefined || chaperons.length === 0) return this.#forget(key, targetKey);
    for (const chaperon of chaperons) {
      const proxy = this.#options.proxies.get(key);
      if (!chaperon.terminating && !belongs(chaperon, proxy, target)) await this.#takeBack(chaperon, target, signal);
      const client = target.session?.client; // without one the target is not connected now; its return brings the pod back here
      if (client !== undefined) await executePlan(client, planRunOnceRelease(chaperon, proxy), signal).catch(ignoreStale);
    }
  }

  async #takeBack(chaperon: Chaperon, target: TargetCluster, signal: AbortSignal): Promise<void> {
    const client = target.session?.client;
    if (client === undefined || (await this.#isStillWanted(chaperon, target, signal))) return;
    this.#options.logger.info({ target: target.key, chaperon: chaperon.key }, 'orphaned chaperon taken back');
    await executePlan(client, planChaperonDeletion(chaperon), signal).catch(ignoreStale);
  }

  #forget(key: string, target: string): void {
    const targets = this.#seenIn.get(key);
    targets?.delete(target);
    if (targets?.size === 0) this.#seenIn.delete(key);
  }

  /** The live word of the source on a chaperon that its cache knows no pod for. */
  async #isStillWanted(chaperon: Chaperon, target: TargetCluster, signal: AbortSignal): Promise<boolean> {
    const [namespace = '', name = ''] = chaperon.parentKey.split('/');
    try {
      const { metadata, spec } = await this.#options.source.get(PODS, { namespace, name }, signal);
      const nodeName = spec.nodeName ?? '';
      return metadata.uid === chaperon.parentUid && (nodeName === '' || nodeName === target.nodeName);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

function belongs(chaperon: Chaperon, proxy: ProxyPod | undefined, target: TargetCluster): boolean {
  if (proxy?.uid !== chaperon.parentUid) return false;
  return proxy.nodeName === undefined || proxy.nodeName === target.nodeName;
}
