// The parts of Kubernetes' own objects that Isthmus reads or writes, in their JSON form. Objects are handled as parsed:
// fields that are not named here are preserved. Times are RFC 3339 strings. Field meanings: Kubernetes API reference
// v1.36, `core/v1`, `meta/v1`, `coordination.k8s.io/v1`.
import type { Affinity, TopologySpreadConstraint } from './affinity.ts';

/** Map of label or annotation keys to values. */
export type StringMap = Readonly<Record<string, string>>;

/** `meta/v1` OwnerReference: the object that garbage collection ties this one to. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `meta/v1` ObjectMeta. `name`, `uid` and `resourceVersion` are missing only before the API server has stored it. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** Who has written which fields. Informers leave it out. */
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** `meta/v1` ManagedFieldsEntry, as far as it is read. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly subresource?: string;
}

/** Any Kubernetes object. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** `meta/v1` Condition, and the older condition types of pods and nodes, which have the same core. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastProbeTime?: string | null;
  readonly lastHeartbeatTime?: string;
  readonly observedGeneration?: number;
}

/** Quantities by resource name, in Kubernetes' notation (`500m`, `256Mi`). */
export type ResourceList = Readonly<Record<string, string | number>>;

/** `core/v1` ResourceRequirements. */
export interface ResourceRequirements {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

/** `core/v1` VolumeMount. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
}

/** `core/v1` ObjectFieldSelector: a field of the pod. */
export interface FieldRef {
  readonly fieldPath: string;
}

/** `core/v1` EnvVar; of its sources only the pod's fields are read. */
export interface EnvVar {
  readonly name: string;
  readonly valueFrom?: { readonly fieldRef?: FieldRef };
}

/** `core/v1` DownwardAPIVolumeFile. */
export interface DownwardItem {
  readonly path: string;
  readonly fieldRef?: FieldRef;
}

/** `core/v1` DownwardAPIVolumeSource, and DownwardAPIProjection. */
export interface DownwardSource {
  readonly items?: readonly DownwardItem[];
}

/** `core/v1` VolumeProjection; sources of other kinds are not read. */
export interface ProjectedSource {
  readonly downwardAPI?: DownwardSource;
  readonly secret?: unknown;
  readonly serviceAccountToken?: object;
}

/** `core/v1` Container. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly resources?: ResourceRequirements;
  /** `Always` on an init container makes it a sidecar that keeps running. */
  readonly restartPolicy?: string;
  readonly env?: readonly EnvVar[];
  readonly volumeMounts?: readonly VolumeMount[];
}

/** `core/v1` Volume; of its many source fields only these are read. */
export interface Volume {
  readonly name: string;
  readonly downwardAPI?: DownwardSource;
  readonly projected?: { readonly sources?: readonly ProjectedSource[] };
}

/** `core/v1` Toleration. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: 'Exists' | 'Equal';
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

/** `core/v1` Taint. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** `core/v1` PodSpec. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly nodeName?: string;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly activeDeadlineSeconds?: number;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly serviceAccountName?: string;
  readonly hostname?: string;
  readonly hostnameOverride?: string;
  readonly hostNetwork?: boolean;
  /** Of the runtime class. */
  readonly overhead?: ResourceList;
  readonly resources?: ResourceRequirements;
  readonly priority?: number;
  readonly priorityClassName?: string;
  /** Of the priority class. */
  readonly preemptionPolicy?: string;
  readonly runtimeClassName?: string;
}

/** `core/v1` PodPhase. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** `core/v1` ContainerStatus; preserved as a whole, only these fields are read. */
export interface ContainerStatus {
  readonly name: string;
  /** In effect, where the kubelet resizes pods in place. */
  readonly resources?: ResourceRequirements;
  /** Requests that the node has granted. */
  readonly allocatedResources?: ResourceList;
}

/** `core/v1` PodStatus. */
export interface PodStatus {
  /** The `metadata.generation` that the kubelet has acted on. */
  readonly observedGeneration?: number;
  readonly phase?: PodPhase;
  readonly conditions?: readonly Condition[];
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly startTime?: string;
  /** Of the whole pod, in effect; those of containers are in their statuses. */
  readonly resources?: ResourceRequirements;
  readonly allocatedResources?: ResourceList;
  readonly qosClass?: string;
  readonly nominatedNodeName?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
}

/** `core/v1` Pod. */
export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

/** `core/v1` ResourceQuota. */
export interface ResourceQuota extends KubernetesObject {
  readonly spec?: {
    readonly hard?: ResourceList; readonly scopes?: readonly string[]; readonly scopeSelector?: object
  };
}

/** `core/v1` Node. */
export interface Node extends KubernetesObject {
  readonly spec?: {
    readonly unschedulable?: boolean; readonly taints?: readonly Taint[]; readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[]
  };
  readonly status?: {
    readonly capacity?: ResourceList;
    readonly allocatable?: ResourceList;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly NodeAddress[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
    readonly nodeInfo?: StringMap;
  };
}

/** `core/v1` NodeAddress. */
export interface NodeAddress {
  readonly type: 'InternalIP' | 'ExternalIP' | 'Hostname' | 'InternalDNS' | 'ExternalDNS';
  readonly address: string;
}

/** `core/v1` Secret; values are base64. */
export interface Secret extends KubernetesObject {
  readonly type?: string;
  readonly data?: StringMap;
}

/** `core/v1` ServicePort, the fields that other clusters need. */
export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly port: number;
}

/** `core/v1` Service; followed and exported. */
export interface Service extends KubernetesObject {
  readonly spec?: {
    readonly selector?: StringMap;
    readonly type?: string;
    /** `None` makes it headless. */
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ipFamilyPolicy?: string;
    readonly ports?: readonly ServicePort[];
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
    readonly internalTrafficPolicy?: string;
    readonly trafficDistribution?: string;
    readonly publishNotReadyAddresses?: boolean;
  };
}

/** `core/v1` Namespace. */
export interface Namespace extends KubernetesObject {
  readonly status?: { readonly phase?: string };
}

/** `coordination.k8s.io/v1` Lease. */
export interface Lease extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    /** How often the holder changed. */
    readonly leaseTransitions?: number;
    /** MicroTime, as `renewTime`. */
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

/** `core/v1` Binding: assigns a pod to a node; its annotations and labels are merged into the pod's. */
export interface Binding extends KubernetesObject {
  readonly target: { readonly apiVersion: 'v1'; readonly kind: 'Node'; readonly name: string };
}
