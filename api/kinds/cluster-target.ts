// ClusterTarget (cluster-scoped) and Target (namespaced): a cluster that elected pods may run in. Names and spec fields
// are Admiralty 0.17's; status is an addition.
import type { Condition, KubernetesObject, ResourceList, StringMap, Taint } from '../objects/core.ts';
import {
  conditionColumn, CONDITIONS, flag, int32, listOf, objectOf, OBSERVED_GENERATION, recordOf, RESOURCE_LIST, TAINTS,
  text, type KindDefinition, type PrinterColumn, type Schema,
} from '../objects/schema.ts';

/** Reference to the kubeconfig of a target. */
export interface KubeconfigSecret {
  readonly name: string;
  /** ClusterTarget only; the install namespace when missing. */
  readonly namespace?: string;
  /** Key within the Secret; `config` when missing. */
  readonly key?: string;
  /** Context within the kubeconfig; its current-context when missing. */
  readonly context?: string;
}

/** Nodes that a target's autoscaler may still add; the scheduler uses them when nothing fits now. */
export interface HeadroomGroup {
  readonly count: number;
  /** Allocatable of one of the nodes. */
  readonly allocatable: ResourceList;
  readonly labels?: StringMap;
  readonly taints?: readonly Taint[];
}

/** Delegation mode: through a PodChaperon, or by a Pod that the source creates itself. */
export type DelegationMode = 'PodChaperon' | 'Pod';

/** A mode, or `Auto` to discover it. */
export type DelegationSetting = DelegationMode | 'Auto';

/** Spec of both kinds: `self` xor `kubeconfigSecret`. */
export interface TargetSpec {
  readonly self?: boolean;
  readonly kubeconfigSecret?: KubeconfigSecret;
  /** The target is reached through this cluster's gateway; its ID in the clusterset. */
  readonly gateway?: { readonly cluster: string };
  /** Cluster ID of the target in the clusterset for pod addresses; that of `gateway` when missing. */
  readonly podPlane?: { readonly cluster: string };
  /** RE2 expression over `key=value`; matching labels of the target are not shown on the virtual node. */
  readonly excludedLabelsRegexp?: string;
  /**
   * Hourly price per unit and resource, as decimal text: per core, per GiB, per device. Any currency, the same for all
   * targets.
   */
  readonly prices?: StringMap;
  readonly headroom?: readonly HeadroomGroup[];
  /** `Auto` when missing. */
  readonly delegation?: DelegationSetting;
  /** What happens to its pods when the object is deleted; `Orphan` when missing. */
  readonly removalPolicy?: RemovalPolicy;
}

/** `Drain` evicts the pods and waits until they are gone, `Orphan` leaves them in the target. */
export type RemovalPolicy = 'Drain' | 'Orphan';

/** The last observed state of a target. */
export interface TargetStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** UID of the target's kube-system Namespace, which identifies the cluster. */
  readonly clusterID?: string;
  /** Delegation mode; stays until the spec changes it. */
  readonly delegation?: DelegationMode;
  /** The target's virtual node in the source. */
  readonly virtualNode?: string;
  /** Whether that node is cordoned: the target gets no new pods. */
  readonly cordoned?: boolean;
  /** Free capacity as text, for printer columns. */
  readonly free?: { readonly cpu?: string; readonly memory?: string; readonly gpu?: string; readonly pods?: string };
  /** Round trip to the target's API server as text, `12ms`. */
  readonly rtt?: string;
}

/** A target for the pods of all opted-in namespaces. */
export interface ClusterTarget extends KubernetesObject {
  readonly spec: TargetSpec;
  readonly status?: TargetStatus;
}

/** A target for the pods of its own namespace. */
export interface Target extends KubernetesObject {
  readonly spec: TargetSpec;
  readonly status?: TargetStatus;
}

/** Key within the Secret when `kubeconfigSecret.key` is missing. */
export const DEFAULT_KUBECONFIG_KEY = 'config';

const COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Ready', 'Ready'),
  { name: 'Free CPU', type: 'string', jsonPath: '.status.free.cpu' },
  { name: 'Free Mem', type: 'string', jsonPath: '.status.free.memory' },
  { name: 'GPU', type: 'string', jsonPath: '.status.free.gpu' },
  { name: 'Free Pods', type: 'string', jsonPath: '.status.free.pods' },
  { name: 'Cordoned', type: 'boolean', jsonPath: '.status.cordoned' },
  { name: 'RTT', type: 'string', jsonPath: '.status.rtt' },
  { name: 'Node', type: 'string', jsonPath: '.status.virtualNode', priority: 1 },
  { name: 'Delegation', type: 'string', jsonPath: '.status.delegation', priority: 1 },
];

const HEADROOM: Schema = listOf(
  "Nodes that the target's autoscaler may still add. A pod that fits nowhere now goes where it would fit after " +
    "scale-up.",
  recordOf({
    count: int32('How many of these nodes may be added.', { minimum: 0 }),
    allocatable: RESOURCE_LIST,
    labels: { type: 'object', description: 'Labels of these nodes.', additionalProperties: { type: 'string' } },
    taints: TAINTS,
  }, ['count', 'allocatable']),
  { maxItems: 32 },
);

const MEMBER: Schema = text('ID of the target in the clusterset.', {
  maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
});

const POD_PLANE: Schema = objectOf(
  "The target's member of the clusterset, if the pod plane reaches its pods; default: that of gateway. " +
    'Proxy pods then have the address that leads to their delegates.',
  { cluster: MEMBER },
  ['cluster'],
);

const GATEWAY: Schema = objectOf(
  "Reach the target through this cluster's gateway; the server in the kubeconfig then only names what is " +
    "expected at the end.",
  { cluster: MEMBER },
  ['cluster'],
);

function secretSchema(moreProperties: Readonly<Record<string, Schema>>): Schema {
  return objectOf('Secret that holds a kubeconfig for the target cluster.', {
    name: text('Name of the Secret.', { minLength: 1, maxLength: 253 }),
    ...moreProperties,
    key: text('Key within the Secret; "config" when missing.', { maxLength: 253 }),
    context: text("Context within the kubeconfig; its current-context when missing.", { maxLength: 1024 }),
  }, ['name']);
}

function specSchema(secretProperties: Readonly<Record<string, Schema>>): Schema {
  return objectOf(
    'Which cluster this is: another one by its kubeconfig, or this one (self).',
    {
      self: flag('The target is the source cluster itself.'),
      kubeconfigSecret: secretSchema(secretProperties),
      gateway: GATEWAY,
      podPlane: POD_PLANE,
      excludedLabelsRegexp: text(
        'RE2 expression over key=value; labels of the target that match are not shown on the virtual node.',
        { maxLength: 1024 },
      ),
      prices: {
        type: 'object',
        description: 'Price per hour by resource: of a core, a GiB, a device. Used by the score cost.',
        additionalProperties: { type: 'string', maxLength: 32, pattern: '^[0-9]+(\\.[0-9]+)?$' },
        maxProperties: 32,
      },
      headroom: HEADROOM,
      delegation: text(
        'How pods are delegated: PodChaperon needs Isthmus in the target, Pod does not. Auto, the default, uses ' +
          'PodChaperon if the target serves it.',
        { enum: ['Auto', 'PodChaperon', 'Pod'] },
      ),
      removalPolicy: text(
        'What happens to its pods when this object is deleted: Drain evicts them and waits until they are gone, ' +
          'Orphan (the default) leaves them in the target.',
        { enum: ['Drain', 'Orphan'] },
      ),
    },
    [],
    {
      'x-kubernetes-validations': [
        {
          rule: '(has(self.self) && self.self) != has(self.kubeconfigSecret)',
          message:
            'set either kubeconfigSecret (another cluster) or self: true (this cluster), not both and not neither',
        },
        {
          rule: '!has(self.gateway) || has(self.kubeconfigSecret)',
          message: 'gateway points to another cluster; set kubeconfigSecret as well',
        },
      ],
    },
  );
}

const STATUS: Schema = objectOf('What was last observed of the target.', {
  observedGeneration: OBSERVED_GENERATION,
  conditions: CONDITIONS,
  clusterID: text("UID of the target's kube-system Namespace."),
  delegation: text('How pods are delegated to the target: PodChaperon or Pod.'),
  virtualNode: text('Node in this cluster that represents the target.'),
  cordoned: flag('Whether that node is cordoned: the target gets no new pods.'),
  rtt: text("Round trip to the target's API server."),
  free: objectOf('Free capacity in the target, human-readable.', {
    cpu: text('Free CPU.'),
    memory: text('Free memory.'),
    gpu: text('Free GPUs.'),
    pods: text('How many more pods its nodes can run.'),
  }),
});

/** CRD of ClusterTarget. */
export const CLUSTER_TARGET_KIND: KindDefinition = {
  kind: 'ClusterTarget',
  plural: 'clustertargets',
  shortName: 'ctg',
  scope: 'Cluster',
  description: 'A cluster in which elected pods of every opted-in namespace may run.',
  columns: COLUMNS,
  required: ['spec'],
  properties: {
    spec: specSchema({
      namespace: text('Namespace of the Secret; the install namespace when missing.', { maxLength: 63 }),
    }),
    status: STATUS,
  },
};

/** CRD of Target. */
export const TARGET_KIND: KindDefinition = {
  kind: 'Target',
  plural: 'targets',
  shortName: 'tg',
  scope: 'Namespaced',
  description: 'A cluster in which elected pods of this namespace may run.',
  columns: COLUMNS,
  required: ['spec'],
  properties: { spec: specSchema({}), status: STATUS },
};
