// What the ResourceQuotas of a namespace leave of a target: more than that no pod of a Target can get, however much the cluster has.
import type { ResourceQuota } from '../../api/objects/core.ts';
import { parseResourceList, PODS, type ResourceAmounts } from '../../model/resources/resources.ts';

/** Quotas limit requests under their own names, or with this prefix (Kubernetes "Resource Quotas"). */
const REQUESTS = 'requests.';
const POD_COUNTS: ReadonlySet<string> = new Set([PODS, 'count/pods']);

/** Of each resource the least that any quota of all pods sets. Those with scopes are for some pods only, and limits are not requests: neither counts. */
export function quotaLimits(quotas: readonly ResourceQuota[]): ResourceAmounts {
  const least = new Map<string, number>();
  for (const { spec: { hard = {}, scopes = [], scopeSelector } = {} } of quotas) {
    if (scopes.length > 0 || scopeSelector !== undefined) continue;
    const entries = Object.entries(hard).flatMap(([name, amount]) => {
      const resource = limitedResource(name);
      return resource === undefined ? [] : [parseResourceList({ [resource]: amount }).amounts];
    });
    for (const [resource, amount] of entries.flatMap((amounts) => [...amounts])) least.set(resource, Math.min(amount, least.get(resource) ?? amount));
  }
  return least;
}

function limitedResource(name: string): string | undefined {
  if (POD_COUNTS.has(name)) return PODS;
  if (name.startsWith(REQUESTS)) return name.slice(REQUESTS.length);
  return name.includes('.') || name.includes('/') ? undefined : name; // `limits.cpu`, `count/secrets`
}
