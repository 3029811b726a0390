// The RBAC of sources in a target. A binding's role is immutable, so a temporary binding covers the time in which the
// binding is recreated: no source is ever without permissions.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_SOURCES, ROLE_BINDINGS, SERVICE_ACCOUNTS, SOURCES,
} from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ROLE } from '../../model/access/component-accounts.ts';
import type { BindingObject } from '../../model/access/rbac-objects.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { DEPENDENT_TYPES } from '../../peering/identity/establish-identity.ts';
import { IDENTITY_LABELS, identityManifests, toSourceIdentity } from '../../peering/identity/source-identity.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import { MIGRATION_FIELD_MANAGER, untilSo, type Migration } from './migration.ts';

/**
 * Name prefixes of temporary bindings: to our roles, and to Admiralty's. A role is immutable, and what an interrupted
 * command has left must not stand in the way of the other direction.
 */
const TO_OURS = 'isthmus-migration';
const TO_ADMIRALTYS = 'isthmus-rollback';

/** Binds all sources to our roles, under the names of Admiralty's bindings. */
export async function takePermissions(migration: Migration): Promise<void> {
  for (const wanted of await wantedBindings(migration)) {
    const live = await liveOf(migration, wanted);
    if (live?.roleRef.name !== wanted.roleRef.name) await replace(migration, live, wanted);
    await removeStandIns(migration, wanted);
  }
}

async function replace(migration: Migration, live: BindingObject | undefined, wanted: BindingObject): Promise<void> {
  const { client, signal, tell } = migration;
  const { name: role } = wanted.roleRef;
  await client.apply(typeOf(wanted), standIn(wanted, TO_OURS, role), MIGRATION_FIELD_MANAGER, signal);
  if (live !== undefined) await remove(migration, wanted);
  await client.apply(typeOf(wanted), wanted, 'isthmus-peering', signal);
  tell(`  ${wanted.metadata.name} gives ${role}`);
}

/** Binds all sources to Admiralty's roles as well. */
export async function grantAdmiraltyPermissions(migration: Migration): Promise<void> {
  const { client, installation, signal } = migration;
  for (const ours of await wantedBindings(migration)) {
    const role = ours.roleRef.name === SOURCE_ROLE ? installation.sourceRole : installation.summaryViewerRole;
    await client.apply(typeOf(ours), standIn(ours, TO_ADMIRALTYS, role), MIGRATION_FIELD_MANAGER, signal);
  }
}

/** Removes our objects of sources except their accounts; Admiralty's controller creates its own. */
export async function removeOurPermissions(migration: Migration): Promise<void> {
  const labelSelector = Object.entries(IDENTITY_LABELS).map(([key, value]) => `${key}=${value}`).join(',');
  for (const type of DEPENDENT_TYPES.filter((one) => one !== SERVICE_ACCOUNTS)) {
    for (const object of await listIfServed(migration.client, type, migration.signal, { labelSelector })) {
      if (object.metadata.name?.startsWith(`${TO_ADMIRALTYS}-`) === true) continue;
      await remove(migration, { ...object, kind: type.kind });
    }
  }
}

/** Waits until Admiralty's controller has created its bindings, then removes the temporary ones. */
export async function untilPermissionsReturned(migration: Migration): Promise<void> {
  for (const ours of await wantedBindings(migration)) {
    await untilSo(
      `Admiralty has made ${ours.metadata.name}`, async () => (await liveOf(migration, ours)) !== undefined, migration,
    );
    await removeStandIns(migration, ours);
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

function standIn(binding: BindingObject, prefix: string, role: string): BindingObject {
  const name = joinName([{ constant: prefix }, binding.metadata.name ?? ''], MAX_NAME_LENGTH);
  return { ...binding, metadata: { ...binding.metadata, name }, roleRef: { ...binding.roleRef, name: role } };
}

/** Also those of a command in the other direction that was interrupted. */
async function removeStandIns(migration: Migration, binding: BindingObject): Promise<void> {
  for (const prefix of [TO_OURS, TO_ADMIRALTYS]) await remove(migration, standIn(binding, prefix, ''));
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
  await client.delete(type, { namespace, name }, {}, signal).catch(unless(isNotFound));
}
