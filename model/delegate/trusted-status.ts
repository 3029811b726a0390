// What of a delegate's status the source believes: a target is run by somebody else. Conditions that it is for a target to tell, and addresses
// that are not the source's own: to such a one Services of the source would send what is meant for somebody else.
import type { Condition, PodStatus } from '../../api/objects/core.ts';
import { isSpecialAddress } from '../network/dialled-addresses.ts';
import type { RangeSet } from '../network/ip-range.ts';
import { TARGET_CONDITIONS } from '../pod/pod-status.ts';

/** A pod is about to be evicted, preempted or the like; failure policies of Jobs read it (Kubernetes "Pod disruption conditions"). */
const DISRUPTION_TARGET = 'DisruptionTarget';
/** A pod has one address of each family. */
const MOST_ADDRESSES = 2;

/** The status with the conditions that kubelets and schedulers write, and those of the readiness gates that the proxy declares. */
export function withBelievedConditions(status: PodStatus, gateTypes: readonly string[] = []): PodStatus {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const believed = conditions.filter(({ type }: Condition) => TARGET_CONDITIONS.has(type) || type === DISRUPTION_TARGET || gateTypes.includes(type));
  return believed.length === conditions.length ? status : { ...status, conditions: believed };
}

/** The status without addresses that are no pod's, or lie in ranges of the source. */
export function withBelievedAddresses(status: PodStatus, own: Pick<RangeSet, 'has'>): PodStatus {
  const { podIP, podIPs, ...rest } = status;
  if (podIP === undefined && podIPs === undefined) return status;
  const told = podIPs ?? [{ ip: podIP ?? '' }];
  const believed = told.filter(({ ip }) => !isSpecialAddress(ip) && !own.has(ip)).slice(0, MOST_ADDRESSES);
  const [first] = believed;
  if (first === undefined) return rest;
  return believed.length === told.length && first.ip === podIP ? status : { ...rest, podIP: first.ip, podIPs: believed.map(({ ip }) => ({ ip })) };
}
