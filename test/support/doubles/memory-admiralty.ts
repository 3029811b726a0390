// A source of Admiralty's with a target, in memory, and the processes that act on them: each does at once what it would
// do, so that a migration and its rollback go on by themselves.
import type { KubernetesObject, Lease, Pod } from '../../../api/objects/core.ts';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import {
  MIGRATION_CONFIG_MAP, MIGRATION_STANDBY_KEY, MIGRATION_WEBHOOK_KEY,
} from '../../../api/objects/own-names.ts';
import {
  COPY_VERSION_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER,
} from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, POD_CHAPERONS, PODS, SECRETS,
  type MutatingWebhookConfiguration,
} from '../../../api/resource-types.ts';
import { ADMIRALTY_COMPONENTS, type Deployment } from '../../../cli/migrate/admiralty-installation.ts';
import type { Migration } from '../../../cli/migrate/migration.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import type { Call } from '../../../kubernetes/http/transport.ts';
import {
  packagedWebhookConfiguration, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_SERVICE,
} from '../../../manifests/objects/webhook-configuration.ts';
import {
  admiraltyWebhookOf, isHeld, receivesPods, type AdmiraltyWebhook,
} from '../../../model/naming/live-admiralty.ts';
import { admiraltyChaperon, admiraltyProxy } from '../objects/admiralty-pods.ts';
import { MemoryCluster, type Found, type Stored } from './memory-cluster.ts';
import { admiraltyDeployment, heldLease, memoryMigration, memoryTarget } from './memory-migration.ts';

const FOREVER = 1_000_000;
const INSTALLED = 'isthmus-system';
const ACTING = ['scheduler', 'delegate-controller', 'virtual-node', 'peering', 'discovery'];
const P = 'multicluster.admiralty.io/';
const BINDINGS = { '': 'mc-source', '-cluster-summary-viewer': 'mc-viewer' };

/** Both clusters. */
export interface AdmiraltyClusters {
  readonly source: MemoryCluster;
  readonly target: MemoryCluster;
  /** A migration as the command begins it: it finds the installation as it is then. */
  readonly begin: () => Migration;
  /** Lets the processes of both clusters act. */
  readonly act: () => void;
  /** The answer to a dry run of an elected pod; undefined where it becomes a proxy pod. */
  readonly admit: (call: Call) => Error | undefined;
}

/** Makes them. `runsIsthmus`: its chart is installed, and its processes run. */
export function admiraltyClusters({ runsIsthmus = true }: { readonly runsIsthmus?: boolean } = {}): AdmiraltyClusters {
  const [source, target] = [sourceCluster(), targetCluster()];
  const act = () => {
    for (const component of ADMIRALTY_COMPONENTS) actAdmiralty(source, component);
    if (runsIsthmus) actIsthmus(source);
    for (const cluster of [source, target]) collectGarbage(cluster);
  };
  act();
  return {
    source, target, act, admit: ({ body }) => admission(source, body as Pod),
    begin: () => {
      const deployments = ADMIRALTY_COMPONENTS.map(
        (name) => source.find(DEPLOYMENTS, `mc-${name}`, 'adm') as unknown as Deployment,
      );
      const migration = memoryMigration(source, { targets: [memoryTarget(target, 'eu')] }, deployments);
      const webhooks = [configurationOf(source, 'mc')];
      return { ...migration, installation: { ...migration.installation, webhooks } };
    },
  };
}

const proxyOf = (name: string, more: object = {}, nodeName?: string): Pod => {
  const proxy = admiraltyProxy(
    { namespace: 'web', name, finalizers: [`${P}web-eu`], ...(nodeName !== undefined && { nodeName }) },
  );
  return { ...proxy, metadata: { ...proxy.metadata, uid: `uid-${name}`, ...more } };
};
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const NODE = 'admiralty-eu';
/** One that runs; two without a node, of which one has a candidate that was given one; one that is being deleted. */
const PROXIES =
  [proxyOf('runs', {}, NODE), proxyOf('bound-there'), proxyOf('waits'), proxyOf('going', GOING, NODE)] as const;
const followed = (name: string, more: object = {}): KubernetesObject =>
  ({ metadata: { namespace: 'web', name, uid: `uid-${name}`, ...more } });

function sourceCluster(): MemoryCluster {
  const theirs = {
    name: 'mc.multicluster.admiralty.io', failurePolicy: 'Fail', rules: [{ operations: ['CREATE'] }],
    clientConfig: { service: { namespace: 'adm', name: 'mc' }, caBundle: 'dGhlaXJz' },
  } as unknown as AdmiraltyWebhook;
  const annotations = { 'meta.helm.sh/release-namespace': INSTALLED };
  const role = { metadata: { name: 'isthmus-delegate-controller', annotations } };
  const hub = { metadata: { name: 'hub' }, spec: { serviceAccount: { namespace: 'adm', name: 'hub' } } };
  const target: ClusterTarget = {
    metadata: { name: 'eu' }, spec: { kubeconfigSecret: { namespace: 'adm', name: 'eu' } },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  } as unknown as ClusterTarget;
  return new MemoryCluster(
    [NAMESPACES, { metadata: { name: 'web', labels: { 'multicluster-scheduler': 'enabled' } } }],
    [CUSTOM_RESOURCE_DEFINITIONS, { metadata: { name: 'podchaperons.multicluster.admiralty.io' } }],
    [CLUSTER_ROLES, role], [CLUSTER_TARGETS, target],
    [CLUSTER_SOURCES, hub],
    ...ADMIRALTY_COMPONENTS.map((name): Stored => [DEPLOYMENTS, admiraltyDeployment(name, 2)]),
    [MUTATING_WEBHOOK_CONFIGURATIONS, { metadata: { name: 'mc' }, webhooks: [theirs] } as KubernetesObject],
    [MUTATING_WEBHOOK_CONFIGURATIONS, packagedWebhookConfiguration({ installNamespace: INSTALLED })],
    ...PROXIES.map((proxy): Stored => [PODS, proxy]),
    [SECRETS, followed('key', { finalizers: [`${P}web-eu`] })], [CONFIG_MAPS, followed('settings')],
  );
}

function targetCluster(): MemoryCluster {
  const copy = (name: string): KubernetesObject => ({
    metadata: {
      namespace: 'web', name, labels: { [PARENT_UID_LABEL]: `uid-${name}`, [PARENT_CLUSTER_LABEL]: 'hub' },
      annotations: { [PARENT_NAME_ANNOTATION]: name },
    },
  });
  const placed = new Set(['runs', 'bound-there', 'going']);
  return new MemoryCluster(
    ...[...PROXIES, proxyOf('gone')].flatMap((proxy): readonly Stored[] => {
      const chaperon = admiraltyChaperon(proxy, 'hub');
      const isPlaced = placed.has(proxy.metadata.name ?? '');
      const ownerReferences = [
        { apiVersion: 'v1', kind: 'PodChaperon', name: chaperon.metadata.name ?? '', uid: 'c', controller: true },
      ];
      return [[POD_CHAPERONS, chaperon], [PODS, {
        metadata: { ...chaperon.metadata, ownerReferences }, spec: { ...(isPlaced && { nodeName: 'node-1' }) },
      } as KubernetesObject]];
    }),
    [SECRETS, copy('key')], [CONFIG_MAPS, copy('settings')],
  );
}

function configurationOf(cluster: MemoryCluster, name: string): MutatingWebhookConfiguration {
  return cluster.find(MUTATING_WEBHOOK_CONFIGURATIONS, name) as unknown as MutatingWebhookConfiguration;
}

/** Stores a Lease that is held, or is not, unless it is so already. */
function hold(cluster: MemoryCluster, namespace: string, name: string, isHolding: boolean): void {
  const lease = cluster.find(LEASES, name, namespace) as unknown as Lease | undefined;
  const wasHeld = lease !== undefined && isHeld(lease, Date.now());
  if (wasHeld !== isHolding) cluster.put(LEASES, heldLease(namespace, name, isHolding ? FOREVER : 0));
}

function actAdmiralty(cluster: MemoryCluster, component: typeof ADMIRALTY_COMPONENTS[number]): void {
  const { spec } = cluster.find(DEPLOYMENTS, `mc-${component}`, 'adm') as unknown as Deployment;
  const runs = (spec.replicas ?? 1) > 0;
  hold(cluster, 'adm', `admiralty-${component}`, runs);
  if (!runs || component !== 'controller-manager') return;
  for (const [suffix, role] of Object.entries(BINDINGS)) {
    const name = `admiralty-cluster-source-hub${suffix}`;
    if (cluster.find(CLUSTER_ROLE_BINDINGS, name) === undefined) cluster.put(CLUSTER_ROLE_BINDINGS, {
      metadata: { name }, roleRef: { kind: 'ClusterRole', name: role, apiGroup: 'rbac.authorization.k8s.io' },
    } as KubernetesObject);
  }
}

function actIsthmus(cluster: MemoryCluster): void {
  const record = cluster.find(CONFIG_MAPS, MIGRATION_CONFIG_MAP, INSTALLED)?.['data'] as
    Readonly<Record<string, string>> | undefined;
  const isActive = record !== undefined && record[MIGRATION_STANDBY_KEY] === undefined;
  for (const component of ACTING) hold(cluster, INSTALLED, `isthmus-${component}`, isActive);
  const configuration: MutatingWebhookConfiguration | undefined = configurationOf(cluster, WEBHOOK_CONFIGURATION_NAME);
  if (configuration === undefined) return;
  const mayMatch = record?.[MIGRATION_WEBHOOK_KEY] === undefined;
  const webhooks = configuration.webhooks?.map((webhook) => ({
    ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: 'b3Vycw==' },
    rules: mayMatch && (webhook.rules ?? []).length === 0 ? [{ operations: ['CREATE'] }] : webhook.rules,
  }));
  const next = { ...configuration, webhooks } as KubernetesObject;
  if (JSON.stringify(next) !== JSON.stringify(configuration)) cluster.put(MUTATING_WEBHOOK_CONFIGURATIONS, next);
}

/** Delegates go with their PodChaperons. */
function collectGarbage(cluster: MemoryCluster): void {
  const chaperons = new Set(cluster.names(POD_CHAPERONS));
  for (const pod of cluster.names(PODS)) {
    const [namespace = '', name = ''] = pod.split('/');
    const owned = (cluster.find(PODS, name, namespace)?.metadata.ownerReferences ?? []).length > 0;
    if (owned && !chaperons.has(pod)) cluster.drop(PODS, { namespace, name });
  }
}

/** What the API server answers to a pod in a namespace that has opted in. */
function admission(cluster: MemoryCluster, pod: Pod): Error | undefined {
  const webhooks = [configurationOf(cluster, 'mc'), configurationOf(cluster, WEBHOOK_CONFIGURATION_NAME)];
  const theirs = admiraltyWebhookOf(webhooks[0]!);
  const runs = ({ name }: { readonly name: string }) => (name === WEBHOOK_SERVICE
    ? webhooks[1]?.webhooks?.some(({ clientConfig }) => clientConfig.caBundle !== undefined) === true
    : ((cluster.find(DEPLOYMENTS, 'mc-controller-manager', 'adm') as unknown as Deployment).spec.replicas ?? 1) > 0);
  const asked = theirs !== undefined && receivesPods(theirs) ? theirs.clientConfig.service : undefined;
  if (asked !== undefined && !runs(asked)) return new ApiError(500, 'InternalError', `failed calling ${asked.name}`);
  const isOurs = webhooks[1]?.webhooks?.some(({ rules = [] }) => rules.length > 0) === true;
  if (asked !== undefined || isOurs) Object.assign(pod.spec, { schedulerName: PROXY_SCHEDULER });
  return undefined;
}

/** What is stored in a cluster, without what grows: versions and Leases. */
export function storedIn(cluster: MemoryCluster): Readonly<Record<string, Found>> {
  const leases = typeText(LEASES);
  const stored = [...cluster.contents()].filter(([key]) => !key.startsWith(leases));
  return Object.fromEntries(stored.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([key, object]) => {
    const { resourceVersion: _version, annotations, ...metadata } = object.metadata;
    const { [COPY_VERSION_ANNOTATION]: _copied, ...rest } = annotations ?? {};
    return [key, { ...object, metadata: { ...metadata, annotations: rest } }];
  }));
}

function typeText({ group, version, plural }: ResourceType): string {
  return `/apis/${group}/${version}/${plural} `;
}
