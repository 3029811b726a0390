// Connections that are made only to addresses that may be dialled. The address is looked at after its name was resolved, and is the one that is
// then connected to: a name that leads elsewhere the next moment gains nothing.
import { lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';

/** Whether an address may be dialled. */
export type MayDial = (address: string) => boolean;

/** Resolves a name to all of its addresses, as `node:dns` does. */
export type Resolve = (
  hostname: string, options: { readonly all: true }, callback: (error: NodeJS.ErrnoException | null, addresses?: readonly { readonly address: string; readonly family: number }[]) => void,
) => void;

/** The address may not be dialled. For logs: tenants are not told which address it was. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';

  constructor(host: string, address: string) {
    super(host === address ? `${address} is an address that Targets may not be at` : `${host} leads to ${address}, an address that Targets may not be at`);
  }
}

/** Looks up names for connections; one that leads to any address that may not be dialled has none. */
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

/** Throws {@link AddressRefusedError} for a host that is an address which may not be dialled: of such nothing is looked up. */
export function refuseLiteral(host: string, mayDial: MayDial | undefined): void {
  const address = host.replace(/^\[|\]$/g, '');
  if (mayDial !== undefined && isIP(address) !== 0 && !mayDial(address)) throw new AddressRefusedError(address, address);
}

/** A connector of undici that refuses such hosts. Names are guarded by {@link guardedLookup} among its options. */
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
