// What the administrator of a source grants the Targets of its tenants; ClusterTargets are not held to it.
import { mayDial, type AddressChoices } from '../model/network/dialled-addresses.ts';
import type { IpRange } from '../model/network/ip-range.ts';
import { AppError } from '../process/errors.ts';
import { DEFAULT_CACHE_MIB, tenantLimits } from '../kubernetes/connect/connection-limits.ts';
import { refuseLiteral } from '../kubernetes/connect/guarded-dial.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';

/** What an administrator can set. */
export interface TenantSettings extends AddressChoices {
  /** So many Targets of a namespace are used, the oldest first. */
  readonly targetsPerNamespace: number;
  /** What is remembered of one Target at most, in MiB. */
  readonly cacheMiB: number;
}

/** What holds where nothing was set. */
export const DEFAULT_TENANT_SETTINGS: TenantSettings = { allowed: [], denied: [], targetsPerNamespace: 20, cacheMiB: DEFAULT_CACHE_MIB };

/** The ranges of the source itself, as far as they are known. */
export interface KnownRanges {
  readonly ranges: readonly IpRange[];
  /** Resolves once it was tried to find them out. */
  readonly known: Promise<unknown>;
}

const NOTHING_KNOWN: KnownRanges = { ranges: [], known: Promise.resolve() };

/** The settings with what they are applied to. */
export class TenantRules {
  readonly settings: TenantSettings;
  readonly #own: KnownRanges;

  constructor(settings: TenantSettings = DEFAULT_TENANT_SETTINGS, own: KnownRanges = NOTHING_KNOWN) {
    this.settings = settings;
    this.#own = own;
  }

  /**
   * The connection under the limits of tenants. One that goes through a gateway is not dialled from here: the gateway leads to API servers of the
   * clusterset only.
   * @throws AppError `KubeconfigRefused` when its server is given as an address that may not be dialled.
   */
  async confine(connection: ClusterConnection): Promise<ClusterConnection> {
    await this.#own.known;
    const limits = tenantLimits((address) => mayDial(address, { ...this.settings, own: this.#own.ranges }), this.settings.cacheMiB);
    const { hostname } = connection.server;
    try {
      if (connection.gateway === undefined) refuseLiteral(hostname, limits.mayDial);
    } catch (cause) {
      throw new AppError('KubeconfigRefused', `the kubeconfig's server ${hostname} is an address that Targets may not be at; name another one, or ask the administrator to allow it`, { cause });
    }
    return { ...connection, limits };
  }
}
