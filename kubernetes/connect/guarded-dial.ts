// Connects only to permitted addresses. The check runs on the resolved address, and that same address is dialled, so
// DNS rebinding gains nothing.
import { lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';

/** Whether an address may be dialled. */
export type MayDial = (address: string) => boolean;

/** Resolves a name to all of its addresses, as `node:dns` does. */
export type Resolve = (
  hostname: string, options: { readonly all: true }, callback: (
    error: NodeJS.ErrnoException | null, addresses?: readonly { readonly address: string; readonly family: number }[],
  ) => void,
) => void;

/** The address is not permitted. For logs: tenants do not see which address it was. */
class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';

  constructor(host: string, address: string) {
    super(
      host === address
        ? `${address} is an address that Targets may not use`
        : `${host} resolves to ${address}, an address that Targets may not use`,
    );
  }
}

/** A DNS lookup that fails when any resolved address is not permitted. */
export function guardedLookup(mayDial: MayDial, resolve: Resolve = lookUp): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses = []) => {
      const [first] = addresses;
      if (error !== null || first === undefined) return callback(error ?? new Error(`${hostname} has no address`), '');
      const refused = addresses.find(({ address }) => !mayDial(address));
      if (refused !== undefined) callback(new AddressRefusedError(hostname, refused.address), '');
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Throws {@link AddressRefusedError} when the host is a literal address that is not permitted; literals are never
 * looked up.
 */
export function refuseLiteral(host: string, mayDial: MayDial | undefined): void {
  const address = host.replace(/^\[|\]$/g, '');
  if (mayDial !== undefined && isIP(address) !== 0 && !mayDial(address)) {
    throw new AddressRefusedError(address, address);
  }
}

/** An undici connector that rejects such hosts. Names are checked by {@link guardedLookup} in its options. */
export function guardedConnector(connect: buildConnector.connector, mayDial: MayDial): buildConnector.connector {
  return (options, callback) => {
    try {
      refuseLiteral(options.hostname, mayDial);
    } catch (error) {
      return callback(error as Error, null);
    }
    connect(options, callback);
  };
}
