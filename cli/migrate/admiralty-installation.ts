// Finds an Admiralty installation by what its objects are rather than by their names: its chart names everything after
// the release, and had two names itself (multicluster-scheduler up to 0.15, admiralty since). Pure.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { MutatingWebhookConfiguration } from '../../api/resource-types.ts';
import { admiraltyWebhookOf } from '../../model/naming/live-admiralty.ts';

/** The label `component` that the chart gives pods. */
export const ADMIRALTY_COMPONENTS =
  ['restarter', 'proxy-scheduler', 'controller-manager', 'candidate-scheduler'] as const;
/** One of its processes. */
export type AdmiraltyComponent = (typeof ADMIRALTY_COMPONENTS)[number];

/** `apps/v1` Deployment, the fields used here. */
export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly {
          readonly image?: string; readonly env?: readonly { readonly name: string; readonly value?: string }[]
        }[]
      };
    };
  };
  readonly status?: { readonly replicas?: number };
}

/** The installation found. */
export interface AdmiraltyInstallation {
  readonly deployments: ReadonlyMap<AdmiraltyComponent, Deployment>;
  readonly webhooks: readonly MutatingWebhookConfiguration[];
  /** Value `clusterName` of its chart: the parent cluster in labels; often empty. */
  readonly clusterName: string;
  /** ClusterRoles that its controller binds to sources; its chart names them after the release. */
  readonly sourceRole: string;
  readonly summaryViewerRole: string;
}

const CHART_NAMES = new Set(['admiralty', 'multicluster-scheduler']);
const IMAGE = /(^|\/)(multicluster-scheduler|admiralty)-(agent|scheduler|restarter)(:|@|$)/;
const OWN_VARIABLES = new Set([
  'SOURCE_CLUSTER_ROLE_NAME', 'CLUSTER_SUMMARY_VIEWER_CLUSTER_ROLE_NAME',
  'ADMIRALTY_CONTROLLER_MANAGER_DEPLOYMENT_NAME',
]);

/** Finds it among all Deployments and webhook configurations; undefined when there is none. */
export function findAdmiralty(
  deployments: readonly Deployment[], configurations: readonly MutatingWebhookConfiguration[],
): AdmiraltyInstallation | undefined {
  const found = new Map<AdmiraltyComponent, Deployment>();
  for (const deployment of deployments) {
    const component = componentOf(deployment);
    if (component !== undefined) found.set(component, deployment);
  }
  const webhooks = configurations.filter((configuration) => admiraltyWebhookOf(configuration) !== undefined);
  if (found.size === 0 && webhooks.length === 0) return undefined;
  const manager = found.get('controller-manager');
  const fullName = manager?.metadata.name?.replace(/-controller-manager$/, '') ?? 'admiralty';
  const variable = (name: string): string | undefined =>
    manager?.spec.template.spec.containers.flatMap(({ env = [] }) => env).find((one) => one.name === name)?.value;
  return {
    deployments: found,
    webhooks,
    clusterName: variable('CLUSTER_NAME') ?? '',
    sourceRole: variable('SOURCE_CLUSTER_ROLE_NAME') ?? `${fullName}-source`,
    summaryViewerRole: variable('CLUSTER_SUMMARY_VIEWER_CLUSTER_ROLE_NAME') ?? `${fullName}-cluster-summary-viewer`,
  };
}

/**
 * Which component of Admiralty a Deployment runs: by its pod label, and by its chart, image or environment variables.
 */
function componentOf({ spec: { template } }: Deployment): AdmiraltyComponent | undefined {
  const { labels = {} } = template.metadata ?? {};
  const component = ADMIRALTY_COMPONENTS.find((known) => known === labels['component']);
  const isOwnedByAdmiralty = CHART_NAMES.has(labels['app.kubernetes.io/name'] ?? '') ||
    template.spec.containers.some(
      ({ image = '', env = [] }) => IMAGE.test(image) || env.some(({ name }) => OWN_VARIABLES.has(name)),
    );
  return isOwnedByAdmiralty ? component : undefined;
}
