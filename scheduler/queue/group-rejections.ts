// Messages about a pod group that cannot be placed yet; see pod-groups.ts. They count nothing that changes with each
// pod or node: each change would be written to all pods of the group, a million times for a thousand.
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { RejectedTarget } from '../decision/schedule-pod.ts';

/** The group has fewer pods than must be placed together. */
export function tooFewMembers(
  { group }: Pick<ProxyPod, 'group'>, { minCount }: { readonly minCount: number },
): RejectedTarget {
  return {
    target: `group ${group?.name ?? ''}`, reason: 'GroupIncomplete',
    message:
      `fewer than ${minCount} of its pods exist without a scheduling gate; create the others, or open their gates`,
  };
}

/** Not all pods that must be placed together fit at once. */
export function groupDoesNotFit({ group }: Pick<ProxyPod, 'group'>, needed: number): RejectedTarget {
  const message = `${needed} of its pods must be placed together, and fewer fit now; none is sent until all fit`;
  return { target: `group ${group?.name ?? ''}`, reason: 'GroupDoesNotFit', message };
}
