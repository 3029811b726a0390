// Uninstalls Isthmus from a cluster. Everything still in use blocks it, with the command that ends the use. Objects of
// others stay: CRDs, and a namespace that still holds their objects. Can be interrupted and repeated at any point.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  CHAPERON_FINALIZER, DELEGATE_FINALIZER, DRAIN_FINALIZER, HAS_FINALIZER_LABEL, PARENT_UID_LABEL, RUN_ONCE_FINALIZER,
  TRUE,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, FLOW_SCHEMAS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, NODES,
  POD_CHAPERONS, PODS, PRIORITY_LEVEL_CONFIGURATIONS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES,
  SOURCES, TARGETS, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { customResourceDefinitions } from '../../manifests/objects/crds.ts';
import { COMPONENT_ACCOUNTS } from '../../manifests/objects/component-permissions.ts';
import { proxyPolicyManifests } from '../../manifests/policies/proxy-policy.ts';
import { discoveredNamespace, keyNamespace } from '../../model/access/key-namespace.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import { AppError } from '../../process/errors.ts';
import { objectName, typeOf, type Progress } from '../clusters/apply-objects.ts';
import { findUses, reasonsToStay } from './check-uninstall.ts';
import { contentOfOthers } from './namespace-content.ts';
import {
  isOfIsthmus, isVirtualNode, removeFinalizers, removeOwn, type OwnedBy, type Removal,
} from '../clusters/own-objects.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import { untilGone } from './until-gone.ts';

/** What to take out, and how. */
export interface Uninstallation {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  /** Also delete the CRDs with all their objects, and the install namespace. */
  readonly purges: boolean;
  /** Uninstall even while in use: our pods are released, and objects in other clusters stay there. */
  readonly isForced: boolean;
}

/** Names of joined clusters. */
export interface Joined {
  readonly targets: readonly string[];
  readonly sources: readonly string[];
}

/** The webhooks first, so that no request waits for them; dependencies last. */
const ALWAYS: readonly ResourceType[] = [
  MUTATING_WEBHOOK_CONFIGURATIONS,
  VALIDATING_WEBHOOK_CONFIGURATIONS, DEPLOYMENTS, SERVICES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS, ROLES, CLUSTER_ROLES,
  FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS,
];
const PURGED: readonly ResourceType[] =
  [VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_ADMISSION_POLICIES, SERVICE_ACCOUNTS, SECRETS, CONFIG_MAPS];
const LABEL_SELECTOR = Object.entries(PART_OF).map(([key, value]) => `${key}=${value}`).join(',');
const OUR_FINALIZERS: ReadonlySet<string> =
  new Set([DELEGATE_FINALIZER, CHAPERON_FINALIZER, DRAIN_FINALIZER, RUN_ONCE_FINALIZER]);
/** Objects that may have our finalizers, and how they are found. */
const HELD: readonly (readonly [type: ResourceType, selection?: Selection])[] = [
  [PODS, { labelSelector: `${HAS_FINALIZER_LABEL}=${TRUE}` }], [PODS, PROXY_PODS],
  [PODS, { labelSelector: PARENT_UID_LABEL }], [POD_CHAPERONS], [TARGETS], [CLUSTER_TARGETS],
];
const COMPONENT_NAMES: ReadonlySet<string | undefined> = new Set(COMPONENT_ACCOUNTS);

/** What would remain in other clusters, each with a remedy. */
export function leftBehind({ targets, sources }: Joined): readonly string[] {
  return [
    ...targets.map((target) => `Target ${target} is joined: run "isthmus unpeer ${target}".`),
    ...sources.map((source) => `${source} may send pods here: run "isthmus unpeer" in that source, or delete it here.`),
  ];
}

/**
 * Uninstalls.
 * @throws AppError `NotFound` for an install namespace that is not the right one, `StillInUse` that names every
 *   obstacle, unless it is forced;
 * `Timeout` for what does not go.
 */
export async function uninstallFrom(uninstallation: Uninstallation, progress: Progress): Promise<void> {
  const { client, purges, isForced, installNamespace } = uninstallation;
  await requireInstalledThere(client, installNamespace, progress.signal);
  const obstacles = [
    ...reasonsToStay(await findUses(client, progress.signal)), ...leftBehind(await findJoined(client, progress.signal)),
  ];
  if (obstacles.length > 0 && !isForced) throw new AppError(
    'StillInUse',
    [
      'Isthmus is still in use here:', ...obstacles.map((obstacle) => `  ${obstacle}`),
      'Or use --force, which releases all of it.',
    ].join('\n'),
  );
  await removeLabelled(client, ALWAYS.slice(0, 2), progress);
  for (const policy of proxyPolicyManifests(installNamespace).toReversed()) {
    await remove({ client, isOwn: isOfIsthmus }, typeOf(policy), policy, progress);
  }
  await removeLabelled(client, ALWAYS.slice(2), progress);
  if (isForced) await letGo(client, progress); // controllers with permissions would hold targets again
  for (const { metadata } of await client.list(NODES, VIRTUAL_NODES, progress.signal)) {
    await remove({ client, isOwn: isVirtualNode }, NODES, { metadata }, progress);
  }
  const keys = keyNamespace(installNamespace);
  await removeLabelled(client, [SECRETS], progress, keys);
  const hasGoneWithKeys = await removeNamespace(client, keys, progress);
  if (!purges) await removeLabelled(client, [SERVICE_ACCOUNTS], progress, installNamespace);
  else await purge(client, installNamespace, progress);
  if (hasGoneWithKeys) await untilGone(client, { type: NAMESPACES, name: keys }, progress.signal);
}

async function purge(client: ClusterClient, installNamespace: string, progress: Progress): Promise<void> {
  const definitions: string[] = [];
  for (const definition of customResourceDefinitions()) {
    if (
      (await remove({ client, isOwn: isOfIsthmus }, CUSTOM_RESOURCE_DEFINITIONS, definition, progress)) !== 'foreign'
    ) definitions.push(definition.metadata.name);
  }
  await removeLabelled(client, PURGED, progress);
  const going: string[] = [];
  for (const name of [discoveredNamespace(installNamespace), installNamespace]) {
    if (await removeNamespace(client, name, progress)) going.push(name);
  }
  for (const name of definitions) await untilGone(client, { type: CUSTOM_RESOURCE_DEFINITIONS, name }, progress.signal);
  for (const name of going) await untilGone(client, { type: NAMESPACES, name }, progress.signal);
}

/**
 * A mistyped namespace must not leave half of an installation behind. When nothing is installed any more, an earlier
 * uninstall may be finishing.
 */
async function requireInstalledThere(
  client: ClusterClient, installNamespace: string, signal: AbortSignal,
): Promise<void> {
  const accounts = await client.list(SERVICE_ACCOUNTS, { labelSelector: LABEL_SELECTOR }, signal);
  const places = [...new Set(
    accounts.filter(({ metadata: { name } }) => COMPONENT_NAMES.has(name)).map(({ metadata }) => metadata.namespace),
  )];
  if (places.length === 0 || places.includes(installNamespace)) return;
  throw new AppError(
    'NotFound',
    `Isthmus is not installed in namespace ${installNamespace}, but in ${places.join(', ')}: name that one with ` +
      '--install-namespace. Nothing was changed.',
  );
}

/**
 * Deletes the install namespace unless others created it or keep objects in it; returns whether it is deleted.
 */
async function removeNamespace(client: ClusterClient, name: string, progress: Progress): Promise<boolean> {
  const kept = await contentOfOthers(client, name, progress.signal);
  const [some, more] = [kept.slice(0, 5).join(', '), kept.length > 5 ? ' and more' : ''];
  if (some !== '') {
    progress.tell(`kept Namespace ${name}: Isthmus did not create ${some}${more} in it`);
    return false;
  }
  return (await remove({ client, isOwn: isOfIsthmus }, NAMESPACES, { metadata: { name } }, progress)) !== 'foreign';
}

async function findJoined(client: ClusterClient, signal: AbortSignal): Promise<Joined> {
  const names = async (type: ResourceType) =>
    (await listIfServed(client, type, signal)).map(({ metadata }) => objectKey(metadata));
  const [clusterTargets, targets, clusterSources, sources] =
    await Promise.all([CLUSTER_TARGETS, TARGETS, CLUSTER_SOURCES, SOURCES].map(names));
  const named = (kind: string, found: readonly string[] = []) => found.map((name) => `${kind} ${name}`);
  return {
    targets: [...(clusterTargets ?? []), ...(targets ?? [])],
    sources: [...named('ClusterSource', clusterSources), ...named('Source', sources)],
  };
}

/** Removes our finalizers: nothing else does once our controllers are gone. */
async function letGo(client: ClusterClient, { tell, signal }: Progress): Promise<void> {
  for (const [type, selection] of HELD) {
    for (const object of await listIfServed(client, type, signal, selection)) {
      const isReleased = await removeFinalizers(client, { type, object }, OUR_FINALIZERS, signal);
      if (isReleased) tell(`released ${objectName({ kind: type.kind, metadata: object.metadata })}`);
    }
  }
}

async function removeLabelled(
  client: ClusterClient, types: readonly ResourceType[], progress: Progress, namespace?: string,
): Promise<void> {
  for (const type of types) {
    const selection = { labelSelector: LABEL_SELECTOR, namespace: type.namespaced ? namespace : undefined };
    const labelled = await listIfServed(client, type, progress.signal, selection);
    for (const object of labelled) await remove({ client, isOwn: isOfIsthmus }, type, object, progress);
  }
}

interface Remover {
  readonly client: ClusterClient;
  readonly isOwn: OwnedBy;
}

async function remove(
  { client, isOwn }: Remover, type: ResourceType, { metadata: { namespace, name = '' } }: KubernetesObject,
  { tell, signal }: Progress,
): Promise<Removal> {
  const removal = await removeOwn(client, { type, at: { namespace, name } }, isOwn, signal);
  const what = objectName({ kind: type.kind, metadata: { ...(namespace !== undefined && { namespace }), name } });
  if (removal === 'removed') tell(`removed ${what}`);
  if (removal === 'foreign') tell(`kept ${what}: not created by Isthmus`);
  return removal;
}
