// Messages about a pod group that cannot be placed yet; see pod-groups.ts.
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { RejectedTarget } from '../decision/schedule-pod.ts';

/** The group has fewer pods than must be placed together. */
export function tooFewMembers(
  { group }: Pick<ProxyPod, 'group'>, { exist, minCount }: { readonly exist: number; readonly minCount: number },
): RejectedTarget {
  return {
    target: `group ${group?.name ?? ''}`, reason: 'GroupIncomplete',
    message:
      `${exist} of at least ${minCount} pods exist and have no scheduling gate; create the others, or open their gates`,
  };
}

/** Not all pods that must be placed together fit at once. */
export function groupDoesNotFit({ group }: Pick<ProxyPod, 'group'>, fit: number, needed: number): RejectedTarget {
  const message = `${fit} of ${needed} pods that must be placed together fit now; none is sent until all fit`;
  return { target: `group ${group?.name ?? ''}`, reason: 'GroupDoesNotFit', message };
}
