// The common form of all registries: a registered cluster, and how it is reached.
import type { StringMap } from '../../api/objects/core.ts';

/** A server that replaces the one in a kubeconfig. */
export interface ServerOverride {
  readonly server: string;
  /** Base64 of a PEM bundle. */
  readonly certificateAuthorityData?: string | undefined;
  /** Name expected in the server's certificate. */
  readonly serverName?: string | undefined;
}

/** How a registered cluster is reached. Untrusted: it is checked before it is used. */
export type RegisteredAccess =
  | {
    readonly kind: 'kubeconfig'; readonly text: string; readonly context?: string | undefined;
    readonly server?: ServerOverride
  }
  /** The registry has no access to it yet; `message` says what is missing. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** By a way that is not used; `message` says which, and what to use instead. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It is the cluster that the registry is in. */
  | { readonly kind: 'this-cluster' };

/** One entry of a registry. */
export interface RegisteredCluster {
  /** Kind, namespace and name of the registry's object: unique in it, and shown in messages. */
  readonly entry: string;
  /** Name that the registry knows the cluster by, as it is: any text. */
  readonly name: string;
  /** Set where the registry has no name for it: `name` is then its address. */
  readonly unnamed?: true;
  /**
   * Set for an entry that is not authenticated: what is known of it, for people. Nothing is sent to it before it is
   * approved, and a target stays when it is gone.
   */
  readonly hint?: string;
  /** Labels of the registry's object. */
  readonly labels: StringMap;
  readonly access: RegisteredAccess;
}

/** Not yet usable. */
export function waiting(message: string): RegisteredAccess {
  return { kind: 'waiting', message };
}

/** Not used. */
export function refused(message: string): RegisteredAccess {
  return { kind: 'refused', message };
}
