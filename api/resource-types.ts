// Where each kind of object lives in the Kubernetes API. The type parameter ties a path to the shape found there.
import type { KubernetesObject, Lease, Namespace, Node, Pod, ResourceQuota, Secret, Service } from './objects/core.ts';
import type { ClusterSource, Source } from './kinds/cluster-source.ts';
import type { ClusterSummary } from './kinds/cluster-summary.ts';
import type { ClusterTarget, Target } from './kinds/cluster-target.ts';
import type { ClusterDecision } from './placement/cluster-decision.ts';
import type { ClusterProfile, PlacementDecision } from './placement/cluster-inventory.ts';
import type { TargetDiscovery } from './registry/target-discovery.ts';
import type { Invitation, JoinRequest } from './kinds/invitation.ts';
import type { NamespaceElection } from './kinds/namespace-election.ts';
import type { ClusterPlacementPolicy, PlacementPolicy } from './kinds/placement-policy.ts';
import type { ClustersetMember, ClustersetEndpoint, ClustersetGateway } from './kinds/gateway.ts';
import type { ResourceShare } from './kinds/resource-share.ts';
import type { SecretCopy } from './kinds/secret-copy.ts';
import type { SourceLease } from './kinds/source-lease.ts';
import type { PodChaperon } from './kinds/pod-chaperon.ts';
import type { PodMetrics } from './objects/pod-metrics.ts';
import { ADMIRALTY_GROUP, ADMIRALTY_VERSION, ISTHMUS_GROUP, type ResourceType } from './objects/group-version.ts';

function core<T extends KubernetesObject>(plural: string, kind: string, namespaced: boolean): ResourceType<T> {
  return { group: '', version: 'v1', plural, kind, namespaced };
}

function admiralty<T extends KubernetesObject>(plural: string, kind: string, namespaced: boolean): ResourceType<T> {
  return { group: ADMIRALTY_GROUP, version: ADMIRALTY_VERSION, plural, kind, namespaced };
}

function isthmus<T extends KubernetesObject>(plural: string, kind: string, namespaced: boolean): ResourceType<T> {
  return { group: ISTHMUS_GROUP, version: 'v1alpha1', plural, kind, namespaced };
}

function rbac(plural: string, kind: string, namespaced: boolean): ResourceType {
  return { group: 'rbac.authorization.k8s.io', version: 'v1', plural, kind, namespaced };
}

export const PODS = core<Pod>('pods', 'Pod', true);
export const NODES = core<Node>('nodes', 'Node', false);
export const SECRETS = core<Secret>('secrets', 'Secret', true);
export const CONFIG_MAPS = core('configmaps', 'ConfigMap', true);
export const SERVICES = core<Service>('services', 'Service', true);
export const NAMESPACES = core<Namespace>('namespaces', 'Namespace', false);
export const RESOURCE_QUOTAS = core<ResourceQuota>('resourcequotas', 'ResourceQuota', true);
export const SERVICE_ACCOUNTS = core('serviceaccounts', 'ServiceAccount', true);
export const LEASES: ResourceType<Lease> =
  { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true };
export const EVENTS: ResourceType =
  { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
export const DEPLOYMENTS: ResourceType =
  { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true };

export const SUBJECT_ACCESS_REVIEWS: ResourceType<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1', plural: 'subjectaccessreviews', kind: 'SubjectAccessReview', namespaced: false,
};
/** `authorization.k8s.io/v1` SelfSubjectAccessReview: whether the asking user may do something. */
export const SELF_SUBJECT_ACCESS_REVIEWS: ResourceType<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1', plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview', namespaced: false,
};
/** `authorization.k8s.io/v1` SelfSubjectRulesReview: what the asking user may do in a namespace. */
export const SELF_SUBJECT_RULES_REVIEWS: ResourceType<SubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1', plural: 'selfsubjectrulesreviews', kind: 'SelfSubjectRulesReview', namespaced: false,
};
/** `authentication.k8s.io/v1` SelfSubjectReview: who the asking user is (Kubernetes ≥ 1.28). */
export const SELF_SUBJECT_REVIEWS: ResourceType<SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1', plural: 'selfsubjectreviews', kind: 'SelfSubjectReview', namespaced: false,
};
export const TOKEN_REVIEWS: ResourceType<TokenReview> =
  { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews', kind: 'TokenReview', namespaced: false };
export const CERTIFICATE_SIGNING_REQUESTS: ResourceType<CertificateSigningRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1', plural: 'certificatesigningrequests', kind: 'CertificateSigningRequest', namespaced: false,
};

/** What a metrics server serves. */
export const POD_METRICS: ResourceType<PodMetrics> =
  { group: 'metrics.k8s.io', version: 'v1beta1', plural: 'pods', kind: 'PodMetrics', namespaced: true };

export const INGRESSES: ResourceType =
  { group: 'networking.k8s.io', version: 'v1', plural: 'ingresses', kind: 'Ingress', namespaced: true };

/** `networking.k8s.io/v1` ServiceCIDR, Kubernetes ≥ 1.33. */
export const SERVICE_CIDRS: ResourceType<ServiceCidr> =
  { group: 'networking.k8s.io', version: 'v1', plural: 'servicecidrs', kind: 'ServiceCIDR', namespaced: false };

export const ROLES = rbac('roles', 'Role', true);
export const ROLE_BINDINGS = rbac('rolebindings', 'RoleBinding', true);
export const CLUSTER_ROLES = rbac('clusterroles', 'ClusterRole', false);
export const CLUSTER_ROLE_BINDINGS = rbac('clusterrolebindings', 'ClusterRoleBinding', false);
export const CUSTOM_RESOURCE_DEFINITIONS: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1', plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition', namespaced: false,
};
export const MUTATING_WEBHOOK_CONFIGURATIONS: ResourceType<MutatingWebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1', plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration', namespaced: false,
};
export const VALIDATING_WEBHOOK_CONFIGURATIONS: ResourceType<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1', plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration', namespaced: false,
};

/** `flowcontrol.apiserver.k8s.io/v1`, Kubernetes ≥ 1.29. */
export const FLOW_SCHEMAS: ResourceType = {
  group: 'flowcontrol.apiserver.k8s.io', version: 'v1', plural: 'flowschemas', kind: 'FlowSchema', namespaced: false,
};
export const PRIORITY_LEVEL_CONFIGURATIONS: ResourceType = {
  group: 'flowcontrol.apiserver.k8s.io', version: 'v1',
  plural: 'prioritylevelconfigurations', kind: 'PriorityLevelConfiguration', namespaced: false,
};
/** `admissionregistration.k8s.io/v1`, Kubernetes ≥ 1.30. */
export const VALIDATING_ADMISSION_POLICIES: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1', plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy', namespaced: false,
};
export const VALIDATING_ADMISSION_POLICY_BINDINGS: ResourceType = {
  group: 'admissionregistration.k8s.io', version: 'v1',
  plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding', namespaced: false,
};

export const TARGETS = admiralty<Target>('targets', 'Target', true);
export const CLUSTER_TARGETS = admiralty<ClusterTarget>('clustertargets', 'ClusterTarget', false);
export const SOURCES = admiralty<Source>('sources', 'Source', true);
export const CLUSTER_SOURCES = admiralty<ClusterSource>('clustersources', 'ClusterSource', false);
export const POD_CHAPERONS = admiralty<PodChaperon>('podchaperons', 'PodChaperon', true);
export const CLUSTER_SUMMARIES = admiralty<ClusterSummary>('clustersummaries', 'ClusterSummary', false);
export const INVITATIONS = isthmus<Invitation>('invitations', 'Invitation', true);
export const JOIN_REQUESTS = isthmus<JoinRequest>('joinrequests', 'JoinRequest', true);
export const RESOURCE_SHARES = isthmus<ResourceShare>('resourceshares', 'ResourceShare', false);
export const SOURCE_LEASES = isthmus<SourceLease>('sourceleases', 'SourceLease', true);
export const SECRET_COPIES = isthmus<SecretCopy>('secretcopies', 'SecretCopy', true);
export const CLUSTERSET_MEMBERS = isthmus<ClustersetMember>('clustersetmembers', 'ClustersetMember', true);
export const CLUSTERSET_ENDPOINTS = isthmus<ClustersetEndpoint>('clustersetendpoints', 'ClustersetEndpoint', true);
export const CLUSTERSET_GATEWAYS = isthmus<ClustersetGateway>('clustersetgateways', 'ClustersetGateway', true);
export const NAMESPACE_ELECTIONS = isthmus<NamespaceElection>('namespaceelections', 'NamespaceElection', true);
export const TARGET_DISCOVERIES = isthmus<TargetDiscovery>('targetdiscoveries', 'TargetDiscovery', false);
export const CLUSTER_DECISIONS = isthmus<ClusterDecision>('clusterdecisions', 'ClusterDecision', true);
/** What a cluster says of itself (About API of SIG Multicluster). */
export const CLUSTER_PROPERTIES: ResourceType = {
  group: 'about.k8s.io', version: 'v1beta1', plural: 'clusterproperties', kind: 'ClusterProperty', namespaced: false,
};
/** What others are told of targets and decisions (Cluster Inventory API of SIG Multicluster). */
export const CLUSTER_PROFILES: ResourceType<ClusterProfile> = {
  group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles', kind: 'ClusterProfile',
  namespaced: true,
};
export const PLACEMENT_DECISIONS: ResourceType<PlacementDecision> = {
  group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'placementdecisions', kind: 'PlacementDecision',
  namespaced: true,
};
export const PLACEMENT_POLICIES = isthmus<PlacementPolicy>('placementpolicies', 'PlacementPolicy', true);
export const CLUSTER_PLACEMENT_POLICIES =
  isthmus<ClusterPlacementPolicy>('clusterplacementpolicies', 'ClusterPlacementPolicy', false);

/** `networking.k8s.io/v1` ServiceCIDR: ranges that ClusterIPs are taken from. */
export interface ServiceCidr extends KubernetesObject {
  readonly spec?: { readonly cidrs?: readonly string[] };
}

/**
 * `admissionregistration.k8s.io/v1` MutatingWebhookConfiguration, as far as address, CA and failure policy are
 * concerned.
 */
export interface MutatingWebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly {
    readonly name: string;
    /** What is sent to it; nothing when missing. */
    readonly rules?: readonly object[];
    /** What happens to an object while the webhook cannot be called: `Fail`, the default, or `Ignore`. */
    readonly failurePolicy?: string;
    readonly clientConfig: {
      /** Base64 of the PEM bundle that the API server checks the webhook's certificate against. */
      readonly caBundle?: string;
      readonly url?: string;
      readonly service?: {
        readonly namespace: string; readonly name: string; readonly path?: string; readonly port?: number
      };
    };
  }[];
}

/** `authorization.k8s.io/v1` SubjectAccessReview: whether a user may do something. */
export interface SubjectAccessReview extends KubernetesObject {
  readonly status?: { readonly allowed: boolean; readonly denied?: boolean };
}

/** `authorization.k8s.io/v1` SelfSubjectRulesReview; `incomplete` when an authorizer cannot list its rules. */
export interface SubjectRulesReview extends KubernetesObject {
  readonly spec?: { readonly namespace: string };
  readonly status?: { readonly incomplete: boolean; readonly resourceRules: readonly object[] | null };
}

/** `authentication.k8s.io/v1` SelfSubjectReview: who is asking. */
export interface SelfSubjectReview extends KubernetesObject {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

/** `authentication.k8s.io/v1` TokenReview: whose token it is. */
export interface TokenReview extends KubernetesObject {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string; readonly uid?: string; readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>
    };
  };
}

/** `certificates.k8s.io/v1` CertificateSigningRequest; `certificate` is base64 of PEM. */
export interface CertificateSigningRequest extends KubernetesObject {
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[]
  };
}

/** A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration: in address and CA they are the same. */
export type WebhookConfiguration = MutatingWebhookConfiguration;

/** The `apiVersion` of objects of this type. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`;
}
