// The RBAC of sources in a target. A binding's role is immutable, so a temporary binding covers the time in which the
// binding is recreated: no source is ever without permissions.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_SOURCES, ROLE_BINDINGS, SERVICE_ACCOUNTS, SOURCES,
} from '../../api/resource-types.ts';
import { ignoreStale, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ROLE } from '../../model/access/component-accounts.ts';
import type { BindingObject } from '../../model/access/rbac-objects.ts';
import { DEPENDENT_TYPES } from '../../peering/identity/establish-identity.ts';
import { IDENTITY_LABELS, identityManifests, toSourceIdentity } from '../../peering/identity/source-identity.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import { MIGRATION_FIELD_MANAGER, untilSo, type Migration } from './migration.ts';

/** Name prefix of temporary bindings. */
const STAND_IN = 'isthmus-migration-';

/** Binds all sources to our roles, under the names of Admiralty's bindings. */
export async function takePermissions(migration: Migration): Promise<void> {
  for (const wanted of await wantedBindings(migration)) {
    const { client, signal, tell } = migration;
    const live = await liveOf(migration, wanted);
    if (live !== undefined && live.roleRef.name === wanted.roleRef.name) continue;
    await client.apply(typeOf(wanted), standIn(wanted, wanted.roleRef.name), MIGRATION_FIELD_MANAGER, signal);
    if (live !== undefined) await remove(migration, live);
    await client.apply(typeOf(wanted), wanted, 'isthmus-peering', signal);
    await remove(migration, standIn(wanted, wanted.roleRef.name));
    tell(`  ${wanted.metadata.name} gives ${wanted.roleRef.name}`);
  }
}

/** Binds all sources to Admiralty's roles as well. */
export async function grantAdmiraltyPermissions(migration: Migration): Promise<void> {
  const { client, installation, signal } = migration;
  for (const ours of await wantedBindings(migration)) {
    const role = ours.roleRef.name === SOURCE_ROLE ? installation.sourceRole : installation.summaryViewerRole;
    await client.apply(typeOf(ours), standIn(ours, role), MIGRATION_FIELD_MANAGER, signal);
  }
}

/** Removes our objects of sources except their accounts; Admiralty's controller creates its own. */
export async function removeOurPermissions(migration: Migration): Promise<void> {
  const labelSelector = Object.entries(IDENTITY_LABELS).map(([key, value]) => `${key}=${value}`).join(',');
  for (const type of DEPENDENT_TYPES.filter((one) => one !== SERVICE_ACCOUNTS)) {
    for (const object of await listIfServed(migration.client, type, migration.signal, { labelSelector })) {
      if (object.metadata.name?.startsWith(STAND_IN) !== true) await remove(migration, { ...object, kind: type.kind });
    }
  }
}

/** Waits until Admiralty's controller has created its bindings, then removes the temporary ones. */
export async function untilPermissionsReturned(migration: Migration): Promise<void> {
  for (const ours of await wantedBindings(migration)) {
    await untilSo(
      `Admiralty has made ${ours.metadata.name}`, async () => (await liveOf(migration, ours)) !== undefined, migration,
    );
    await remove(migration, standIn(ours, ''));
  }
}

/** The two bindings of each source that Admiralty creates, too. */
async function wantedBindings({ client, installNamespace, signal }: Migration): Promise<readonly BindingObject[]> {
  const sources =
    await Promise.all([listIfServed(client, CLUSTER_SOURCES, signal), listIfServed(client, SOURCES, signal)]);
  return sources.flat().flatMap((source) => {
    const identity = toSourceIdentity(source);
    if (identity.account === undefined && identity.userName === undefined) return [];
    const objects = identityManifests(identity, installNamespace);
    return objects.filter(
      (object): object is BindingObject => 'roleRef' in object && [SOURCE_ROLE, CLUSTER_SUMMARY_VIEWER_ROLE].includes(
        (object as BindingObject).roleRef.name,
      ),
    );
  });
}

function standIn(binding: BindingObject, role: string): BindingObject {
  return {
    ...binding, metadata: { ...binding.metadata, name: `${STAND_IN}${binding.metadata.name}` },
    roleRef: { ...binding.roleRef, name: role },
  };
}

function typeOf({ kind }: KubernetesObject) {
  return kind === 'RoleBinding' ? ROLE_BINDINGS : CLUSTER_ROLE_BINDINGS;
}

async function liveOf({ client, signal }: Migration, binding: BindingObject): Promise<BindingObject | undefined> {
  const { namespace, name = '' } = binding.metadata;
  return (await client.get(typeOf(binding), { namespace, name }, signal).catch(unless(isNotFound))) as BindingObject
    | undefined;
}

async function remove(
  { client, signal }: Migration, { kind, metadata: { namespace, name = '' } }: KubernetesObject,
): Promise<void> {
  const type = DEPENDENT_TYPES.find((known) => known.kind === kind) ?? CLUSTER_ROLE_BINDINGS;
  await client.delete(type, { namespace, name }, {}, signal).catch(ignoreStale);
}
