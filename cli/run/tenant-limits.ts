// Flags of `isthmus run` that limit Targets of tenants; docs/targets.md explains them.
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { OwnRanges } from '../../targets/own-ranges.ts';
import { DEFAULT_TENANT_SETTINGS, type TenantSettings } from '../../targets/access/tenant-rules.ts';
import { parseRange, type IpRange } from '../../model/network/ip-range.ts';
import { environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';
import { wholeNumber } from '../clusters/run-flags.ts';

/** The options, as they were given. */
export interface TenantFlags {
  readonly targetAllowRanges: readonly IpRange[];
  readonly targetDenyRanges: readonly IpRange[];
  readonly clusterRanges: readonly IpRange[];
  readonly targetsPerNamespace: number;
  readonly targetCacheMib: number;
}

/** Adds the options to a command. */
export function withTenantOptions(command: Command): Command {
  const { targetsPerNamespace, cacheMiB } = DEFAULT_TENANT_SETTINGS;
  return command
    .option(
      '--target-allow-ranges <list>',
      'CIDRs, comma separated, that Targets of tenants may use although they are denied by default; see ' +
        'docs/targets.md',
      parseRanges('--target-allow-ranges'), [],
    )
    .option(
      '--target-deny-ranges <list>',
      'additional CIDRs that Targets of tenants may not use; the longest matching prefix wins',
      parseRanges('--target-deny-ranges'), [],
    )
    .option(
      '--cluster-ranges <list>',
      'CIDRs of pods, Services and nodes of this cluster that are not in its Nodes and ServiceCIDRs',
      parseRanges('--cluster-ranges'), [],
    )
    .option(
      '--targets-per-namespace <number>', 'maximum number of Targets per namespace; the oldest are used',
      wholeNumber('--targets-per-namespace', 1, 10_000), targetsPerNamespace,
    )
    .option(
      '--target-cache-mib <number>', 'memory limit for the caches of each Target of a tenant, in MiB',
      wholeNumber('--target-cache-mib', 1, 1_024), cacheMiB,
    );
}

/** What was set. */
export function tenantSettings(
  { targetAllowRanges: allowed, targetDenyRanges: denied, targetsPerNamespace, targetCacheMib: cacheMiB }: TenantFlags,
): TenantSettings {
  return { allowed, denied, targetsPerNamespace, cacheMiB };
}

/** The cluster's own ranges; `mayRead` when a component runs that may read its nodes. Not started yet. */
export function ownRangesOf(
  { clusterRanges: configured }: TenantFlags, { client, connection }: OpenCluster, mayRead: boolean, logger: Logger,
): OwnRanges {
  return new OwnRanges({
    client, server: connection.server, serviceHost: environment().inherited['KUBERNETES_SERVICE_HOST'],
    configured, mayRead,
    logger,
  });
}

function parseRanges(option: string): (text: string) => readonly IpRange[] {
  return (text) => text.split(',').map((one) => one.trim()).filter((one) => one !== '').map((one) => {
    const range = parseRange(one);
    if (range === undefined) {
      throw new AppError('BadInput', `${option} takes ranges in CIDR form, 10.0.0.0/8 say, not "${one}".`);
    }
    return range;
  });
}
