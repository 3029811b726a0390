// What the ResourceQuotas of a Target's namespace are. They change seldom and are only shown, so they are read now and then, not watched.
import { RESOURCE_QUOTAS } from '../../api/resource-types.ts';
import { NO_AMOUNTS, type ResourceAmounts } from '../../model/resources/resources.ts';
import { TargetAnswers } from './target-answers.ts';
import { quotaLimits } from './target-quota.ts';

const INTERVAL_MS = 30_000;

/** The limits of targets by their quotas; none of one that is a whole cluster, and of one that keeps them to itself. */
export function targetQuotas(): TargetAnswers<ResourceAmounts> {
  return new TargetAnswers<ResourceAmounts>({
    intervalMs: INTERVAL_MS,
    async ask({ client, ours: { namespace }, signal }, before = NO_AMOUNTS) {
      if (namespace === undefined) return NO_AMOUNTS;
      return client.list(RESOURCE_QUOTAS, { namespace }, signal).then(quotaLimits).catch(() => before);
    },
  });
}
