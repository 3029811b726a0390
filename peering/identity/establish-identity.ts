// Creates a source's identity in a target, from the (Cluster)Source down: for an administrator who peers, and for a
// source that was invited.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { SOURCE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, NAMESPACES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, SOURCES,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { ApiError, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { SOURCE_OBJECT_POLICY, SOURCE_TOKEN_POLICY } from '../../model/access/component-accounts.ts';
import type { ServiceAccountName } from '../../model/access/rbac-objects.ts';
import { isAllowedIn, takesAllNamespaces } from '../../model/access/source-grants.ts';
import { accountManifest, identityManifests, sourceKey, sourceObject, type SourceIdentity } from './source-identity.ts';

/**
 * Kinds of an identity's objects. Admission policies belong to the installation: a component that manages identities
 * must not be able to remove what limits them.
 */
export const DEPENDENT_TYPES: readonly ResourceType[] =
  [SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS];

/** Who creates the identity, and where. */
export interface IdentityMaker {
  readonly client: ClusterClient;
  /** Install namespace of the target. */
  readonly installNamespace: string;
  readonly fieldManager: string;
  /** Called with each applied object. */
  readonly applied?: (object: KubernetesObject) => void;
}

/** A ServiceAccount with the source's name exists and is not ours, and neither are its permissions and tokens. */
export class AccountTakenError extends Error {
  override readonly name = 'AccountTakenError';

  constructor({ namespace, name }: ServiceAccountName) {
    super(
      `ServiceAccount ${namespace}/${name} is there already and is not of this source; choose another name for the ` +
        'target, or delete it',
    );
  }
}

/**
 * Fails unless the admission policies that limit sources exist.
 * @throws ApiError `PolicyMissing` when one is missing; what the calls throw.
 */
export async function requirePolicies(client: ClusterClient, signal: AbortSignal): Promise<void> {
  for (const type of [VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS]) {
    for (const name of [SOURCE_OBJECT_POLICY, SOURCE_TOKEN_POLICY]) {
      await client.get(type, { name }, signal).catch((error: unknown) => {
        throw isNotFound(error) ? new ApiError(
          412, 'PolicyMissing',
          `${type.kind} ${name} is missing, which limits sources: run "isthmus install" in the target again`,
        ) : error;
      });
    }
  }
}

/**
 * Applies the (Cluster)Source and its dependents; idempotent. Returns the namespaces that accept its pods, when not all
 * do.
 * @throws AccountTakenError before anything is written; what the first failing call throws.
 */
export async function establishIdentity(
  { client, installNamespace, fieldManager, applied }: IdentityMaker, identity: SourceIdentity, signal: AbortSignal,
): Promise<readonly string[]> {
  const apply = async (object: KubernetesObject) => {
    const stored = await client.apply(identityTypeOf(object), object, fieldManager, signal);
    applied?.(object);
    return stored;
  };
  await requireOwnAccount(client, identity, signal);
  await requirePolicies(client, signal);
  const { metadata } = await apply(sourceObject(identity)); // it owns the rest
  const owned = { ...identity, uid: metadata.uid };
  const account = accountManifest(owned);
  if (account !== undefined) await apply(account);
  const allowed = await allowedNamespaces(client, { identity, installNamespace }, signal);
  for (const object of identityManifests(owned, installNamespace, allowed)) await apply(object);
  return allowed;
}

/**
 * Cluster UID and target name are claims of the joining source: together they must not name an existing account that it
 * would then act as.
 */
async function requireOwnAccount(client: ClusterClient, identity: SourceIdentity, signal: AbortSignal): Promise<void> {
  const { account } = identity;
  const found = account && (await client.get(SERVICE_ACCOUNTS, account, signal).catch(unless(isNotFound)));
  if (account !== undefined && found !== undefined && found.metadata.annotations?.[SOURCE_ANNOTATION] !== sourceKey(
    identity,
  )) throw new AccountTakenError(account);
}

/** The type of an identity's object. Throws for any other: a bug. */
export function identityTypeOf({ kind }: KubernetesObject): ResourceType {
  const type = [CLUSTER_SOURCES, SOURCES, ...DEPENDENT_TYPES].find((known) => known.kind === kind);
  if (type === undefined) throw new TypeError(`${kind} is not part of an identity`);
  return type;
}

/** Names of the namespaces that accept pods of a ClusterSource; undefined when all do, and for a Source. */
async function allowedNamespaces(
  client: ClusterClient,
  { identity, installNamespace }: { readonly identity: SourceIdentity; readonly installNamespace: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { namespace, name, grants = {} } = identity;
  if (namespace !== undefined || takesAllNamespaces(grants)) return [];
  const all = (await client.list(NAMESPACES, {}, signal)).map(
    ({ metadata }) => ({ name: metadata.name ?? '', labels: metadata.labels ?? {} }),
  );
  return all.filter((one) => isAllowedIn(one, { name, grants, installNamespace })).map((one) => one.name);
}
