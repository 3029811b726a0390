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
import { ADMIRALTY_API_VERSION, ISTHMUS_GROUP, type ResourceType } from './objects/group-version.ts';

/** A type by its `apiVersion`. */
function of<T extends KubernetesObject>(
  apiVersion: string, plural: string, kind: string, namespaced: boolean,
): ResourceType<T> {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, plural, kind, namespaced };
}

const CORE = 'v1';
const ISTHMUS = `${ISTHMUS_GROUP}/v1alpha1`;
const RBAC = 'rbac.authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io/v1';
const AUTHORIZATION = 'authorization.k8s.io/v1';
const ADMISSION = 'admissionregistration.k8s.io/v1';
const NETWORKING = 'networking.k8s.io/v1';
const FLOW_CONTROL = 'flowcontrol.apiserver.k8s.io/v1';

export const PODS = of<Pod>(CORE, 'pods', 'Pod', true);
export const NODES = of<Node>(CORE, 'nodes', 'Node', false);
export const SECRETS = of<Secret>(CORE, 'secrets', 'Secret', true);
export const CONFIG_MAPS = of(CORE, 'configmaps', 'ConfigMap', true);
export const SERVICES = of<Service>(CORE, 'services', 'Service', true);
export const NAMESPACES = of<Namespace>(CORE, 'namespaces', 'Namespace', false);
export const RESOURCE_QUOTAS = of<ResourceQuota>(CORE, 'resourcequotas', 'ResourceQuota', true);
export const SERVICE_ACCOUNTS = of(CORE, 'serviceaccounts', 'ServiceAccount', true);
export const LEASES = of<Lease>('coordination.k8s.io/v1', 'leases', 'Lease', true);
export const EVENTS = of('events.k8s.io/v1', 'events', 'Event', true);
export const DEPLOYMENTS = of('apps/v1', 'deployments', 'Deployment', true);

export const SUBJECT_ACCESS_REVIEWS =
  of<SubjectAccessReview>(AUTHORIZATION, 'subjectaccessreviews', 'SubjectAccessReview', false);
/** `authorization.k8s.io/v1` SelfSubjectAccessReview: whether the asking user may do something. */
export const SELF_SUBJECT_ACCESS_REVIEWS =
  of<SubjectAccessReview>(AUTHORIZATION, 'selfsubjectaccessreviews', 'SelfSubjectAccessReview', false);
/** `authorization.k8s.io/v1` SelfSubjectRulesReview: what the asking user may do in a namespace. */
export const SELF_SUBJECT_RULES_REVIEWS =
  of<SubjectRulesReview>(AUTHORIZATION, 'selfsubjectrulesreviews', 'SelfSubjectRulesReview', false);
/** `authentication.k8s.io/v1` SelfSubjectReview: who the asking user is (Kubernetes ≥ 1.28). */
export const SELF_SUBJECT_REVIEWS =
  of<SelfSubjectReview>(AUTHENTICATION, 'selfsubjectreviews', 'SelfSubjectReview', false);
export const TOKEN_REVIEWS = of<TokenReview>(AUTHENTICATION, 'tokenreviews', 'TokenReview', false);
export const CERTIFICATE_SIGNING_REQUESTS = of<CertificateSigningRequest>(
  'certificates.k8s.io/v1', 'certificatesigningrequests', 'CertificateSigningRequest', false,
);

/** What a metrics server serves. */
export const POD_METRICS = of<PodMetrics>('metrics.k8s.io/v1beta1', 'pods', 'PodMetrics', true);

export const INGRESSES = of(NETWORKING, 'ingresses', 'Ingress', true);

/** `networking.k8s.io/v1` ServiceCIDR, Kubernetes ≥ 1.33. */
export const SERVICE_CIDRS = of<ServiceCidr>(NETWORKING, 'servicecidrs', 'ServiceCIDR', false);

export const ROLES = of(RBAC, 'roles', 'Role', true);
export const ROLE_BINDINGS = of(RBAC, 'rolebindings', 'RoleBinding', true);
export const CLUSTER_ROLES = of(RBAC, 'clusterroles', 'ClusterRole', false);
export const CLUSTER_ROLE_BINDINGS = of(RBAC, 'clusterrolebindings', 'ClusterRoleBinding', false);
export const CUSTOM_RESOURCE_DEFINITIONS =
  of('apiextensions.k8s.io/v1', 'customresourcedefinitions', 'CustomResourceDefinition', false);
export const MUTATING_WEBHOOK_CONFIGURATIONS =
  of<MutatingWebhookConfiguration>(ADMISSION, 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', false);
export const VALIDATING_WEBHOOK_CONFIGURATIONS =
  of<WebhookConfiguration>(ADMISSION, 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', false);

/** `flowcontrol.apiserver.k8s.io/v1`, Kubernetes ≥ 1.29. */
export const FLOW_SCHEMAS = of(FLOW_CONTROL, 'flowschemas', 'FlowSchema', false);
export const PRIORITY_LEVEL_CONFIGURATIONS =
  of(FLOW_CONTROL, 'prioritylevelconfigurations', 'PriorityLevelConfiguration', false);
/** `admissionregistration.k8s.io/v1`, Kubernetes ≥ 1.30. */
export const VALIDATING_ADMISSION_POLICIES =
  of(ADMISSION, 'validatingadmissionpolicies', 'ValidatingAdmissionPolicy', false);
export const VALIDATING_ADMISSION_POLICY_BINDINGS =
  of(ADMISSION, 'validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', false);

export const TARGETS = of<Target>(ADMIRALTY_API_VERSION, 'targets', 'Target', true);
export const CLUSTER_TARGETS = of<ClusterTarget>(ADMIRALTY_API_VERSION, 'clustertargets', 'ClusterTarget', false);
export const SOURCES = of<Source>(ADMIRALTY_API_VERSION, 'sources', 'Source', true);
export const CLUSTER_SOURCES = of<ClusterSource>(ADMIRALTY_API_VERSION, 'clustersources', 'ClusterSource', false);
export const POD_CHAPERONS = of<PodChaperon>(ADMIRALTY_API_VERSION, 'podchaperons', 'PodChaperon', true);
export const CLUSTER_SUMMARIES = of<ClusterSummary>(ADMIRALTY_API_VERSION, 'clustersummaries', 'ClusterSummary', false);
export const INVITATIONS = of<Invitation>(ISTHMUS, 'invitations', 'Invitation', true);
export const JOIN_REQUESTS = of<JoinRequest>(ISTHMUS, 'joinrequests', 'JoinRequest', true);
export const RESOURCE_SHARES = of<ResourceShare>(ISTHMUS, 'resourceshares', 'ResourceShare', false);
export const SOURCE_LEASES = of<SourceLease>(ISTHMUS, 'sourceleases', 'SourceLease', true);
export const SECRET_COPIES = of<SecretCopy>(ISTHMUS, 'secretcopies', 'SecretCopy', true);
export const CLUSTERSET_MEMBERS = of<ClustersetMember>(ISTHMUS, 'clustersetmembers', 'ClustersetMember', true);
export const CLUSTERSET_ENDPOINTS = of<ClustersetEndpoint>(ISTHMUS, 'clustersetendpoints', 'ClustersetEndpoint', true);
export const CLUSTERSET_GATEWAYS = of<ClustersetGateway>(ISTHMUS, 'clustersetgateways', 'ClustersetGateway', true);
export const NAMESPACE_ELECTIONS = of<NamespaceElection>(ISTHMUS, 'namespaceelections', 'NamespaceElection', true);
export const TARGET_DISCOVERIES = of<TargetDiscovery>(ISTHMUS, 'targetdiscoveries', 'TargetDiscovery', false);
export const CLUSTER_DECISIONS = of<ClusterDecision>(ISTHMUS, 'clusterdecisions', 'ClusterDecision', true);
/** What a cluster says of itself (About API of SIG Multicluster). */
export const CLUSTER_PROPERTIES = of('about.k8s.io/v1beta1', 'clusterproperties', 'ClusterProperty', false);
/** What others are told of targets and decisions (Cluster Inventory API of SIG Multicluster). */
export const CLUSTER_PROFILES =
  of<ClusterProfile>('multicluster.x-k8s.io/v1alpha1', 'clusterprofiles', 'ClusterProfile', true);
export const PLACEMENT_DECISIONS =
  of<PlacementDecision>('multicluster.x-k8s.io/v1alpha1', 'placementdecisions', 'PlacementDecision', true);
export const PLACEMENT_POLICIES = of<PlacementPolicy>(ISTHMUS, 'placementpolicies', 'PlacementPolicy', true);
export const CLUSTER_PLACEMENT_POLICIES =
  of<ClusterPlacementPolicy>(ISTHMUS, 'clusterplacementpolicies', 'ClusterPlacementPolicy', false);

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
