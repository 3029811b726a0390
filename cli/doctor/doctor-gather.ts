// Gathers the facts for `isthmus doctor` and `isthmus status` from one cluster and its targets' API servers. Read
// failures are recorded and block nothing.
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CLUSTERSET_MEMBERS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, NODES, POD_CHAPERONS, PODS, ROLE_BINDINGS, ROLES,
  SECRET_COPIES, SECRETS, SOURCES, TARGET_DISCOVERIES,
} from '../../api/resource-types.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/objects/keys.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { readAdmiraltyLeases, readWebhookConfigurations } from '../../targets/admiralty/admiralty-detection.ts';
import { isForbidden, isNotFound, isUnauthorized, UnreachableError, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import type { OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { WEBHOOK_CONFIGURATION_NAME } from '../../manifests/objects/webhook-configuration.ts';
import { ADMIRALTY_LEASES, evidenceOfAdmiralty, type AdmiraltyEvidence } from '../../model/naming/live-admiralty.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import { joiningSecretName } from '../../peering/access/target-access.ts';
import { version } from '../../process/version.ts';
import { gatherTargets } from './doctor-gather-targets.ts';
import {
  ADMIRALTY_WEBHOOKS, LEASES_OF_ADMIRALTY, storedKey, TRIAL_POD, type DoctorFacts,
} from '../checks/doctor-facts.ts';
import { tryElectedPod, type Trial } from '../clusters/trial-pod.ts';
import { FactReader, versionOf } from './fact-reader.ts';
import { interruptedMoves } from '../pods/move.ts';
import { probeServer } from './server-probe.ts';

const OURS = Object.entries(PART_OF).map(([key, value]) => `${key}=${value}`).join(',');
const LEFT_BEHIND = 'isthmus-left-behind-';
const JOINING = joiningSecretName({ name: '' });

/**
 * Gathers the facts. What single reads fail with is recorded.
 * @throws what the first calls fail with when nothing can be said about this cluster: no answer, credentials that are
 *   not accepted, or a user who may read nothing of Isthmus; the reason of the signal.
 */
export async function gatherFacts(
  { client, connection }: OpenCluster, installNamespace: string, signal: AbortSignal,
): Promise<DoctorFacts> {
  await requireSomePermissions(client, installNamespace, signal);
  const reader = new FactReader(client, signal);
  const inOwn = { namespace: installNamespace };
  const [server, kubernetes, stored, webhook, probe, leases, deployments, targets] = await Promise.all([
    probeServer(connection, signal), reader.try('version', versionOf(client, signal)), storedObjects(reader),
    reader.try(
      'mutatingwebhookconfigurations',
      client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal)
        .catch(unless(isNotFound)),
    ),
    probeWebhook(reader), reader.list(LEASES, inOwn), reader
      .list(DEPLOYMENTS, { ...inOwn, labelSelector: OURS }), gatherTargets(reader, installNamespace),
  ]);
  const [
    clusterSources, sources, virtualNodes, electedPods, chaperons, secretCopies, members, configMaps, secrets, moves,
    admiralty, discoveries,
  ] = await Promise.all([
    reader.list(CLUSTER_SOURCES), reader.list(SOURCES),
    reader.list(NODES, VIRTUAL_NODES), reader.list(PODS, PROXY_PODS),
    reader.list(POD_CHAPERONS), reader.list(SECRET_COPIES), reader.list(CLUSTERSET_MEMBERS, inOwn),
    reader.list(CONFIG_MAPS, { ...inOwn, labelSelector: OURS }),
    reader.list(SECRETS, { labelSelector: OURS }), reader.try('placementpolicies', interruptedMoves(client, signal)),
    gatherAdmiralty(reader), reader.list(TARGET_DISCOVERIES),
  ]);
  return {
    installNamespace, nowMs: Date.now(), version: version(), kubernetes, server,
    stored, webhook, probe, leases, deployments, targets, virtualNodes, electedPods, chaperons, secretCopies, members,
    unread: reader.unread, discoveries,
    sources: [...clusterSources, ...sources], moves: moves ?? [], admiralty,
    leftBehind: configMaps.filter(({ metadata }) => metadata.name?.startsWith(LEFT_BEHIND) === true),
    joining:
      secrets.flatMap(({ metadata: { name = '' } }) => (name.startsWith(JOINING) ? [name.slice(JOINING.length)] : [])),
  };
}

/** A user without any of these can learn nothing: one sentence then says more than one for each kind. */
async function requireSomePermissions(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<void> {
  const asked: readonly (readonly [ResourceType, Selection])[] = [
    [CLUSTER_TARGETS, {}], [CLUSTER_SOURCES, {}], [LEASES, { namespace }], [CUSTOM_RESOURCE_DEFINITIONS, {}],
  ];
  const answers =
    await Promise.allSettled(asked.map(([type, selection]) => client.listPage(type, selection, { limit: 1 }, signal)));
  const reasons: readonly unknown[] =
    answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
  const fatal = reasons.find((error) => error instanceof UnreachableError || isUnauthorized(error));
  if (fatal !== undefined) throw fatal;
  if (reasons.length === asked.length && reasons.every(isForbidden)) throw reasons[0];
}

/** Of all namespaces, unlike what is read of Isthmus: they have names of their own where they could not be read. */
async function gatherAdmiralty(reader: FactReader): Promise<AdmiraltyEvidence> {
  const { client, signal } = reader;
  const [configurations = [], leases = []] = await Promise.all([
    reader.try(ADMIRALTY_WEBHOOKS, readWebhookConfigurations(client, signal)),
    reader.try(LEASES_OF_ADMIRALTY, readAdmiraltyLeases(client, ADMIRALTY_LEASES, signal)),
  ]);
  return evidenceOfAdmiralty({ configurations, leases }, Date.now());
}

async function storedObjects(reader: FactReader): Promise<ReadonlyMap<string, KubernetesObject>> {
  const types: readonly (readonly [type: ResourceType, selection: Selection])[] = [
    [CUSTOM_RESOURCE_DEFINITIONS, {}], ...[CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS].map(
      (type) => [type, { labelSelector: OURS }] as const,
    ),
  ];
  const lists = await Promise.all(types.map(
    async ([type, selection]) => (await reader.list(type, selection)).map((object) => ({ ...object, kind: type.kind })),
  ));
  return new Map(lists.flat().map((object) => [storedKey(object), object]));
}

/** Whether the API server reaches the webhook. */
async function probeWebhook(reader: FactReader): Promise<Trial> {
  const { client, signal } = reader;
  const optedIn =
    await reader.list(NAMESPACES, { labelSelector: `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}` });
  const names = optedIn.map(({ metadata: { name = '' } }) => name);
  return (await reader.try(TRIAL_POD, tryElectedPod(client, names, signal))) ?? { kind: 'not-opted-in' };
}
