// The part of a delegate's status that the source trusts, because somebody else runs the target: conditions that a
// target may report, and addresses outside the source's own ranges. Services of the source would send traffic to a
// forged address.
import type { Condition, PodStatus } from '../../api/objects/core.ts';
import { isSpecialAddress } from '../network/dialled-addresses.ts';
import type { RangeSet } from '../network/ip-range.ts';
import { TARGET_CONDITIONS } from '../pod/pod-status.ts';

/**
 * A pod is about to be evicted, preempted or the like; pod failure policies of Jobs read it (Kubernetes "Pod disruption
 * conditions").
 */
const DISRUPTION_TARGET = 'DisruptionTarget';
/** A pod, and a host, has one address of each family. */
const MOST_ADDRESSES = 2;

/** The status with the conditions of kubelets and schedulers, and those of readiness gates that the proxy declares. */
export function withTrustedConditions(status: PodStatus, gateTypes: readonly string[] = []): PodStatus {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const believed = conditions.filter(
    ({ type }: Condition) => TARGET_CONDITIONS.has(type) || type === DISRUPTION_TARGET || gateTypes.includes(type),
  );
  return believed.length === conditions.length ? status : { ...status, conditions: believed };
}

/** The status without invalid addresses and those in ranges of the source, of the pod and of its host. */
export function withTrustedAddresses(status: PodStatus, own: Pick<RangeSet, 'has'>): PodStatus {
  return withBelieved(withBelieved(status, ['podIP', 'podIPs'], own), ['hostIP', 'hostIPs'], own);
}

function withBelieved(
  status: PodStatus, [one, all]: readonly ['podIP', 'podIPs'] | readonly ['hostIP', 'hostIPs'],
  own: Pick<RangeSet, 'has'>,
): PodStatus {
  const { [one]: reportedFirst, [all]: list, ...rest } = status;
  if (reportedFirst === undefined && list === undefined) return status;
  const reported = list ?? [{ ip: reportedFirst ?? '' }];
  const believed = reported.filter(({ ip }) => !isSpecialAddress(ip) && !own.has(ip)).slice(0, MOST_ADDRESSES);
  const [first] = believed;
  if (first === undefined) return rest;
  if (believed.length === reported.length && first.ip === reportedFirst) return status;
  return { ...rest, [one]: first.ip, [all]: believed.map(({ ip }) => ({ ip })) };
}
