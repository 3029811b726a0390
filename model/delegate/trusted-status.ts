// The part of a delegate's status that the source trusts, because others run the target: conditions that a
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
export const DISRUPTION_TARGET_CONDITION = 'DisruptionTarget';
/** A pod, and a host, has one address of each family. */
const MOST_ADDRESSES = 2;

/** The status with the conditions of kubelets and schedulers, and those of readiness gates that the proxy declares. */
export function withTrustedConditions(status: PodStatus, gateTypes: readonly string[] = []): PodStatus {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const trusted = conditions.filter(
    ({ type }: Condition) =>
      TARGET_CONDITIONS.has(type) || type === DISRUPTION_TARGET_CONDITION || gateTypes.includes(type),
  );
  return trusted.length === conditions.length ? status : { ...status, conditions: trusted };
}

/** The status without invalid addresses and those in ranges of the source, of the pod and of its host. */
export function withTrustedAddresses(status: PodStatus, own: Pick<RangeSet, 'has'>): PodStatus {
  return withTrusted(withTrusted(status, ['podIP', 'podIPs'], own), ['hostIP', 'hostIPs'], own);
}

function withTrusted(
  status: PodStatus, [single, list]: readonly ['podIP', 'podIPs'] | readonly ['hostIP', 'hostIPs'],
  own: Pick<RangeSet, 'has'>,
): PodStatus {
  const { [single]: reportedFirst, [list]: reportedList, ...rest } = status;
  if (reportedFirst === undefined && reportedList === undefined) return status;
  const reported = reportedList ?? [{ ip: reportedFirst ?? '' }];
  const trusted = reported.filter(({ ip }) => !isSpecialAddress(ip) && !own.has(ip)).slice(0, MOST_ADDRESSES);
  const [first] = trusted;
  if (first === undefined) return rest;
  if (trusted.length === reported.length && first.ip === reportedFirst) return status;
  return { ...rest, [single]: first.ip, [list]: trusted.map(({ ip }) => ({ ip })) };
}
