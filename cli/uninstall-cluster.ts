// Taking Isthmus out of a cluster. Nothing that somebody still uses goes unasked: what holds it up is named, with the command that ends it. It can be
// broken off and begun again at any point.
import type { KubernetesObject } from '../api/core.ts';
import { CHAPERON_FINALIZER, DELEGATE_FINALIZER, DRAIN_FINALIZER, HAS_FINALIZER_LABEL, PARENT_UID_LABEL, PROVIDER_KEY, PROVIDER_VALUE, RUN_ONCE_FINALIZER, TRUE } from '../api/keys.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, NODES, POD_CHAPERONS, PODS,
  MUTATING_WEBHOOK_CONFIGURATIONS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES, SOURCES, TARGETS, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_WEBHOOK_CONFIGURATIONS, type ResourceType,
} from '../api/resource-types.ts';
import { isNotFound, unless } from '../kubernetes/api-error.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { customResourceDefinitions } from '../manifests/crds.ts';
import { PART_OF } from '../model/rbac-objects.ts';
import { objectKey } from '../model/pod.ts';
import { AppError } from '../process/errors.ts';
import { objectName, type Progress } from './apply-objects.ts';
import { findUses, reasonsToStay } from './check-uninstall.ts';
import { untilGone } from './until-gone.ts';

/** What to take out, and how. */
export interface Uninstallation {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  /** Also the kinds with all their objects, and the install namespace. */
  readonly purges: boolean;
  /** Whatever still uses it: pods of ours are let go, and what is left in other clusters stays there. */
  readonly isForced: boolean;
}

/** Who is joined with this cluster, by name. */
export interface Joined {
  readonly targets: readonly string[];
  readonly sources: readonly string[];
}

/** The webhooks first, so that nobody waits for one that is away; what others depend on last. */
const ALWAYS: readonly ResourceType[] = [
  MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS, DEPLOYMENTS, SERVICES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS, ROLES, CLUSTER_ROLES,
];
const PURGED: readonly ResourceType[] = [VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_ADMISSION_POLICIES, SERVICE_ACCOUNTS, SECRETS, CONFIG_MAPS];
const LABEL_SELECTOR = Object.entries(PART_OF).map(([key, value]) => `${key}=${value}`).join(',');
const OUR_FINALIZERS: ReadonlySet<string> = new Set([DELEGATE_FINALIZER, CHAPERON_FINALIZER, DRAIN_FINALIZER, RUN_ONCE_FINALIZER]);
/** What may have finalizers of ours, and how it is found. */
const HELD: readonly (readonly [type: ResourceType, labelSelector?: string])[] = [
  [PODS, `${HAS_FINALIZER_LABEL}=${TRUE}`], [PODS, PARENT_UID_LABEL], [POD_CHAPERONS], [TARGETS], [CLUSTER_TARGETS],
];
/** What would be left in other clusters, each with what to do about it. */
export function leftBehind({ targets, sources }: Joined): readonly string[] {
  return [
    ...targets.map((target) => `Target ${target} is joined: run "isthmus unpeer ${target}".`),
    ...sources.map((source) => `${source} may send pods here: run "isthmus unpeer" in that source, or delete it here.`),
  ];
}

/**
 * Uninstalls.
 * @throws AppError `StillInUse` that names every obstacle, unless it is forced; `Timeout` for what does not go.
 */
export async function uninstallFrom(uninstallation: Uninstallation, progress: Progress): Promise<void> {
  const { client, purges, isForced, installNamespace } = uninstallation;
  const obstacles = [...reasonsToStay(await findUses(client, progress.signal)), ...leftBehind(await findJoined(client, progress.signal))];
  if (obstacles.length > 0 && !isForced) throw new AppError('StillInUse', ['Isthmus is still in use here:', ...obstacles.map((obstacle) => `  ${obstacle}`), 'Or give --force, which lets go of all of it.'].join('\n'));
  await removeLabelled(client, ALWAYS.slice(0, 2), progress);
  if (isForced) await letGo(client, progress);
  await removeLabelled(client, ALWAYS.slice(2), progress);
  for (const { metadata } of await client.list(NODES, { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` }, progress.signal)) await remove(client, NODES, { metadata }, progress);
  if (!purges) return removeLabelled(client, [SERVICE_ACCOUNTS], progress, installNamespace);
  for (const definition of customResourceDefinitions()) await remove(client, CUSTOM_RESOURCE_DEFINITIONS, definition, progress);
  await removeLabelled(client, PURGED, progress);
  await remove(client, NAMESPACES, { metadata: { name: installNamespace } }, progress);
  for (const { metadata } of customResourceDefinitions()) await untilGone(client, { type: CUSTOM_RESOURCE_DEFINITIONS, name: metadata.name }, progress.signal);
  await untilGone(client, { type: NAMESPACES, name: installNamespace }, progress.signal);
}

async function findJoined(client: ClusterClient, signal: AbortSignal): Promise<Joined> {
  const names = async (type: ResourceType) => (await listIfServed(client, type, undefined, signal)).map(({ metadata }) => objectKey(metadata));
  const [clusterTargets, targets, clusterSources, sources] = await Promise.all([CLUSTER_TARGETS, TARGETS, CLUSTER_SOURCES, SOURCES].map(names));
  const named = (kind: string, found: readonly string[] = []) => found.map((name) => `${kind} ${name}`);
  return { targets: [...(clusterTargets ?? []), ...(targets ?? [])], sources: [...named('ClusterSource', clusterSources), ...named('Source', sources)] };
}

/** A cluster that does not serve a kind has none of them. */
async function listIfServed(client: ClusterClient, type: ResourceType, labelSelector: string | undefined, signal: AbortSignal): Promise<readonly KubernetesObject[]> {
  return (await client.list(type, { labelSelector }, signal).catch(unless(isNotFound))) ?? [];
}

/** Takes our finalizers off: nobody will, once our controllers are gone. */
async function letGo(client: ClusterClient, { tell, signal }: Progress): Promise<void> {
  for (const [type, labelSelector] of HELD) {
    for (const { metadata } of await listIfServed(client, type, labelSelector, signal)) {
      const { namespace, name = '', uid, finalizers = [] } = metadata;
      const kept = finalizers.filter((finalizer) => !OUR_FINALIZERS.has(finalizer));
      if (kept.length === finalizers.length) continue;
      const patch = { metadata: { uid, finalizers: kept.length === 0 ? null : kept } };
      await client.patch(type, { namespace, name }, { patchType: 'merge', patch }, signal).catch(unless(isNotFound));
      tell(`let go of ${objectName({ kind: type.kind, metadata })}`);
    }
  }
}

async function removeLabelled(client: ClusterClient, types: readonly ResourceType[], progress: Progress, namespace?: string): Promise<void> {
  for (const type of types) {
    const labelled = await client.list(type, { labelSelector: LABEL_SELECTOR, namespace: type.namespaced ? namespace : undefined }, progress.signal).catch(unless(isNotFound));
    for (const object of labelled ?? []) await remove(client, type, object, progress);
  }
}

async function remove(client: ClusterClient, type: ResourceType, { metadata }: KubernetesObject, { tell, signal }: Progress): Promise<void> {
  const { namespace, name = '' } = metadata;
  const isGone = await client.delete(type, { namespace, name }, {}, signal).then(() => false, (error: unknown) => unless(isNotFound)(error) === undefined);
  if (!isGone) tell(`removed ${objectName({ kind: type.kind, metadata: { ...(namespace !== undefined && { namespace }), name } })}`);
}
