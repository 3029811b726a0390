// What a registry is: the kinds and Secrets that it consists of, and a pure function that reads them.
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import type { DnsChoice, RegistryChoice } from '../../api/registry/registry-choice.ts';
import type { DnsService } from './dns-service.ts';
import type { RegisteredCluster } from './registered-cluster.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

/** A kind of objects in a registry. */
export interface RegistryKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Versions whose fields are known, the preferred one first. */
  readonly versions: readonly string[];
}

/** A Secret as far as it is known. One that cannot be read is not a missing one. */
export type SecretLookup =
  | { readonly kind: 'found'; readonly secret: Secret }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unread'; readonly message: string };

/** The objects of a registry, as last seen. */
export interface RegistryObjects {
  /** Objects of each kind, by its plural name. */
  readonly objects: ReadonlyMap<string, readonly KubernetesObject[]>;
  /** What DNS announces, for {@link Registry.domain}. */
  readonly services?: readonly DnsService[];
  /** The first namespace of the TargetDiscovery. */
  readonly namespace?: string | undefined;
  /** The Secrets that {@link Registry.secretSelector} selects. */
  readonly secrets: readonly Secret[];
  /** A Secret that an object names, or one of the selected ones. */
  readonly secret: (ref: NamespacedName) => SecretLookup;
}

/** A registry. */
export interface Registry {
  /** The kinds of its objects; none where Secrets are the entries. */
  readonly kinds: readonly RegistryKind[];
  /** Whether it is served when only one of its kinds is. */
  readonly needsAnyKind?: boolean;
  /** Label selector of its Secrets; missing where objects name them. */
  readonly secretSelector?: string;
  /** Which of the selected Secrets are kept in memory; all when missing. */
  readonly keepsSecret?: (secret: Secret) => boolean;
  /** Domain whose announced services are the entries, where these are no objects. */
  readonly domain?: (from: RegistryChoice) => DnsChoice | undefined;
  /** The Secret of a service in a namespace. */
  readonly namedService?: (service: DnsService, namespace: string) => NamespacedName;
  /** Secrets that an object names. */
  readonly namedSecrets?: (object: KubernetesObject, from: RegistryChoice) => readonly NamespacedName[];
  /** Reads the entries. An entry that is being removed from the registry is left out. */
  readonly read: (objects: RegistryObjects, from: RegistryChoice) => readonly RegisteredCluster[];
}
