// What the ResourceQuotas of a Target's namespace are. They change seldom and are only shown, so they are read now and then, not watched.
import { RESOURCE_QUOTAS } from '../api/resource-types.ts';
import type { TargetSession } from '../kubernetes/target-session.ts';
import { NO_AMOUNTS, type ResourceAmounts } from '../model/resources.ts';
import { quotaLimits } from './target-quota.ts';

/** Not more often than this is a target asked, in ms. */
const INTERVAL_MS = 30_000;

interface Known {
  /** Of a monotonic clock, in ms. */
  readonly askedAt: number;
  readonly limits: ResourceAmounts;
}

/** The quotas of targets. */
export class TargetQuotas {
  readonly #known = new WeakMap<TargetSession, Known>();

  /** The limits of one target; none while it has not said them, where it keeps them to itself, and for one that is a whole cluster. */
  of(session: TargetSession): ResourceAmounts {
    return this.#known.get(session)?.limits ?? NO_AMOUNTS;
  }

  /** Asks, unless it was just done; `found` is called when the answer is another than before. Never rejects. */
  async look(session: TargetSession, found: () => void): Promise<void> {
    const { namespace } = session.ours;
    const { askedAt = -Infinity, limits } = this.#known.get(session) ?? { limits: NO_AMOUNTS };
    if (namespace === undefined || performance.now() - askedAt < INTERVAL_MS) return;
    this.#known.set(session, { askedAt: performance.now(), limits });
    const quotas = await session.client.list(RESOURCE_QUOTAS, { namespace }, session.signal).catch(() => undefined);
    if (quotas === undefined) return;
    const now = quotaLimits(quotas);
    this.#known.set(session, { askedAt: performance.now(), limits: now });
    if (!isSame(limits, now)) found();
  }
}

function isSame(one: ResourceAmounts, other: ResourceAmounts): boolean {
  return one.size === other.size && [...one].every(([resource, amount]) => other.get(resource) === amount);
}
