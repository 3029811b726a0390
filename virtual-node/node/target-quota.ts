// The limits that the ResourceQuotas of a namespace set: no pod of a Target gets more, however much the cluster has.
import type { ResourceQuota } from '../../api/objects/core.ts';
import { parseResourceList, PODS, type ResourceAmounts } from '../../model/resources/resources.ts';

/** Quotas limit requests under their own names, or with this prefix (Kubernetes "Resource Quotas"). */
const REQUESTS = 'requests.';
const POD_COUNTS: ReadonlySet<string> = new Set([PODS, 'count/pods']);

/**
 * For each resource the lowest value of any quota for all pods. Scoped quotas only apply to some pods, and limits are
 * not requests: neither counts.
 */
export function quotaLimits(quotas: readonly ResourceQuota[]): ResourceAmounts {
  const least = new Map<string, number>();
  for (const { spec: { hard = {}, scopes = [], scopeSelector } = {} } of quotas) {
    if (scopes.length > 0 || scopeSelector !== undefined) continue;
    const entries = Object.entries(hard).flatMap(([name, amount]) => {
      const resource = limitedResource(name);
      return resource === undefined ? [] : [parseResourceList({ [resource]: amount }).amounts];
    });
    for (const [resource, amount] of entries.flatMap((amounts) => [...amounts])) {
      least.set(resource, Math.min(amount, least.get(resource) ?? amount));
    }
  }
  return least;
}

function limitedResource(name: string): string | undefined {
  if (POD_COUNTS.has(name)) return PODS;
  if (name.startsWith(REQUESTS)) return name.slice(REQUESTS.length);
  return name.includes('.') || name.includes('/') ? undefined : name; // not `limits.cpu`, `count/secrets`
}
