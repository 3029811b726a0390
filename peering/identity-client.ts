// Makes a source's identity in a target, from the (Cluster)Source down: for an administrator who peers, and for one who was invited.
import type { KubernetesObject } from '../api/core.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, SOURCES, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
  type ResourceType,
} from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { accountManifest, identityManifests, sourceObject, type SourceIdentity } from './source-identity.ts';

/** What belongs to identities; the policies first, for what they forbid must never have been allowed. */
export const DEPENDENT_TYPES: readonly ResourceType[] = [
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS,
];

/** Who makes the identity, and where. */
export interface IdentityMaker {
  readonly client: ClusterClient;
  /** Of the target. */
  readonly installNamespace: string;
  readonly fieldManager: string;
  /** Told of each object that was applied. */
  readonly applied?: (object: KubernetesObject) => void;
}

/** Applies the (Cluster)Source and all that follows from it; doing so again changes nothing. Throws what the first failing call throws. */
export async function establishIdentity({ client, installNamespace, fieldManager, applied }: IdentityMaker, identity: SourceIdentity, signal: AbortSignal): Promise<void> {
  const apply = async (object: KubernetesObject) => {
    const stored = await client.apply(identityTypeOf(object), object, fieldManager, signal);
    applied?.(object);
    return stored;
  };
  const { metadata } = await apply(sourceObject(identity)); // it owns the rest
  const owned = { ...identity, uid: metadata.uid };
  const account = accountManifest(owned);
  if (account !== undefined) await apply(account);
  for (const object of identityManifests(owned, installNamespace)) await apply(object);
}

/** The type of an object of an identity. Throws for any other: a fault in this program. */
export function identityTypeOf({ kind }: KubernetesObject): ResourceType {
  const type = [CLUSTER_SOURCES, SOURCES, ...DEPENDENT_TYPES].find((known) => known.kind === kind);
  if (type === undefined) throw new TypeError(`${kind} is no part of an identity`);
  return type;
}
