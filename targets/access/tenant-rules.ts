// What a source's administrator allows to Targets of tenants; ClusterTargets are not restricted.
import { mayDial, type AddressChoices } from '../../model/network/dialled-addresses.ts';
import type { IpRange } from '../../model/network/ip-range.ts';
import { AppError } from '../../process/errors.ts';
import { DEFAULT_CACHE_MIB, tenantLimits } from '../../kubernetes/connect/connection-limits.ts';
import { refuseLiteral, type MayDial } from '../../kubernetes/connect/guarded-dial.ts';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';

/** Settings of the administrator. */
export interface TenantSettings extends AddressChoices {
  /** Number of Targets that a namespace may use, the oldest first. */
  readonly targetsPerNamespace: number;
  /** Memory limit for caches of one Target, in MiB. */
  readonly cacheMiB: number;
}

/** The defaults. */
export const DEFAULT_TENANT_SETTINGS: TenantSettings =
  { allowed: [], denied: [], targetsPerNamespace: 20, cacheMiB: DEFAULT_CACHE_MIB };

/** Ranges of the source itself, as far as they are known. */
export interface KnownRanges {
  readonly ranges: readonly IpRange[];
  /** Resolves after the first attempt to discover them. */
  readonly known: Promise<unknown>;
}

const NOTHING_KNOWN: KnownRanges = { ranges: [], known: Promise.resolve() };

/** The settings and the ranges that they apply to. */
export class TenantRules {
  readonly settings: TenantSettings;
  readonly #own: KnownRanges;

  constructor(settings: TenantSettings = DEFAULT_TENANT_SETTINGS, own: KnownRanges = NOTHING_KNOWN) {
    this.settings = settings;
    this.#own = own;
  }

  /**
   * The connection under the limits for tenants. One through a gateway is not dialled from here: the gateway only
   * reaches API servers of the clusterset.
   * @throws AppError `KubeconfigRefused` when its server is an address that must not be dialled.
   */
  async confine(connection: ClusterConnection): Promise<ClusterConnection> {
    const { mayDial: allows, ...confined } = await this.confineAddress(connection);
    return { ...confined, limits: tenantLimits(allows, this.settings.cacheMiB) };
  }

  /**
   * The connection under the rules for addresses alone: a registry named its server, and an administrator the registry.
   * @throws AppError `KubeconfigRefused` as {@link confine}.
   */
  async confineAddress(connection: ClusterConnection): Promise<ClusterConnection & { readonly mayDial: MayDial }> {
    await this.#own.known;
    const allows: MayDial = (address) => mayDial(address, { ...this.settings, own: this.#own.ranges });
    const { hostname } = connection.server;
    try {
      if (connection.gateway === undefined) refuseLiteral(hostname, allows);
    } catch (cause) {
      throw new AppError(
        'KubeconfigRefused',
        `the kubeconfig's server ${hostname} is an address that Targets may not use; name another one, or ask the ` +
          'administrator to allow it',
        { cause },
      );
    }
    return { ...connection, mayDial: allows };
  }
}
