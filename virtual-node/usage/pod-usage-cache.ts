// Resource usage of delegates, queried from targets on demand and cached: all callers within the cache's lifetime share
// one call.
import type { Pod } from '../../api/objects/core.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import { within } from '../../kubernetes/flow/abort.ts';
import { isUnreadable } from '../../kubernetes/flow/api-error.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { nodeUsageAt, toPodUsage, type NodeUsage, type PodUsage } from './pod-usage.ts';

/** The usage in one target. */
export interface TargetUsage {
  readonly pods: readonly PodUsage[];
  /** Missing where the target has no metrics at all. */
  readonly node?: NodeUsage;
  /** The query failed. A target without a metrics server responds, and has no metrics. */
  readonly failed: boolean;
}

/** Lifetime of a cached response, in ms: metrics servers scrape every 15 s at most. */
const FRESH_MS = 10_000;
/** Timeout of a target, in ms; metrics-server waits 10 s for a kubelet. */
const TIMEOUT_MS = 8_000;
const NOTHING: TargetUsage = { pods: [], failed: false };

interface Remembered {
  /** On a monotonic clock, in ms. */
  readonly requestedAt: number;
  readonly answer: Promise<TargetUsage>;
}

/** Usage of elected pods, by target. */
export class PodUsages {
  readonly #proxies: Informer<Pod, ProxyPod>;
  /** A new session has an empty cache. */
  readonly #remembered = new WeakMap<TargetSession, Remembered>();

  constructor(proxies: Informer<Pod, ProxyPod>) {
    this.#proxies = proxies;
  }

  /** Usage of the elected pods of one target; never rejects. */
  async of(session: TargetSession): Promise<TargetUsage> {
    const before = this.#remembered.get(session);
    if (before !== undefined && performance.now() - before.requestedAt < FRESH_MS) return before.answer;
    const answer = this.#ask(session, before?.answer);
    this.#remembered.set(session, { requestedAt: performance.now(), answer });
    return answer;
  }

  async #ask(session: TargetSession, before: Promise<TargetUsage> | undefined): Promise<TargetUsage> {
    const known = await before;
    try {
      const all =
        await within(TIMEOUT_MS, session.signal, (signal) => session.client.list(POD_METRICS, session.ours, signal));
      const pods = all.flatMap((metrics) => {
        const { namespace = '', name = '' } = metrics.metadata;
        const proxy = this.#proxyOf(session, objectKey({ namespace, name }));
        return (proxy && toPodUsage(metrics, proxy)) ?? [];
      });
      return { pods, node: nodeUsageAt(pods, known?.node, Date.now()), failed: false };
    } catch (error) {
      const kept = known?.node === undefined ? NOTHING : { ...NOTHING, node: known.node };
      return { ...kept, failed: !isUnreadable(error) }; // nothing serves the API, or the source may not read it there
    }
  }

  /** By the target's record of the delegate, not by its metrics. */
  #proxyOf({ delegates }: TargetSession, key: string): ProxyPod | undefined {
    const delegate = delegates.get(key);
    const proxy = delegate && this.#proxies.get(delegate.parentKey);
    return proxy?.uid === delegate?.parentUid ? proxy : undefined;
  }
}
