// Reads the ResourceQuotas of a Target's namespace. They rarely change and are informational, so they are polled, not
// watched.
import { RESOURCE_QUOTAS } from '../../api/resource-types.ts';
import { NO_AMOUNTS, type ResourceAmounts } from '../../model/resources/resources.ts';
import { TargetAnswers } from './target-answers.ts';
import { quotaLimits } from './target-quota.ts';

const INTERVAL_MS = 30_000;

/** Limits of targets by their quotas; none for a ClusterTarget, or when the target denies access. */
export function targetQuotas(): TargetAnswers<ResourceAmounts> {
  return new TargetAnswers<ResourceAmounts>({
    intervalMs: INTERVAL_MS,
    async ask({ client, ours: { namespace }, signal }, before = NO_AMOUNTS) {
      if (namespace === undefined) return NO_AMOUNTS;
      return client.list(RESOURCE_QUOTAS, { namespace }, signal).then(quotaLimits).catch(() => before);
    },
  });
}
