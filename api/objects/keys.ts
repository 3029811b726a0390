// Every label, annotation, taint and finalizer key of Isthmus, with its writer and reader. The names are Admiralty
// 0.17's (pkg/common/constants.go), so that its users' manifests and tools keep working.

/** Prefix of Admiralty's keys and of some that Isthmus added; its others begin with `isthmus.dev/`. */
export const ADMIRALTY_PREFIX = 'multicluster.admiralty.io/';

/** Label on a Namespace, set by its owner, read by the webhook configuration: its pods may be elected. */
export const NAMESPACE_OPT_IN_LABEL = 'multicluster-scheduler';
/** The value of {@link NAMESPACE_OPT_IN_LABEL} that opts in. */
export const NAMESPACE_OPT_IN_VALUE = 'enabled';

/** Annotation on a source pod, set by the user, read by the webhook: run this pod in a target cluster. Any value does
 * but {@link NOT_ELECTED}. */
export const ELECT_ANNOTATION = `${ADMIRALTY_PREFIX}elect`;
/** The value of {@link ELECT_ANNOTATION} that keeps a pod here, also in a namespace that elects all of its pods. */
export const NOT_ELECTED = 'false';
/** Annotation on a source pod, set by the user: requests one delegate without a reservation in Admiralty, which is
 * always so here. Accepted and preserved. */
export const NO_RESERVATION_ANNOTATION = `${ADMIRALTY_PREFIX}no-reservation`;
/** Annotation on a source pod, set by the user, read by the webhook: YAML of the constraints for choosing a cluster. */
export const PROXY_CONSTRAINTS_ANNOTATION = `${ADMIRALTY_PREFIX}proxy-pod-scheduling-constraints`;
/** Annotation on a source pod, set by the user, read by webhook and scheduler: the spec's constraints choose the
 * cluster, not the node in it. */
export const USE_SPEC_CONSTRAINTS_ANNOTATION = `${ADMIRALTY_PREFIX}use-constraints-from-spec-for-proxy-pod-scheduling`;
/** Annotation on a source pod, set by the user, validated by the webhook, read by the scheduler: labels whose
 * `key=value` matches this RE2 expression keep their keys in the target. */
export const NO_PREFIX_LABEL_REGEXP_ANNOTATION = `${ADMIRALTY_PREFIX}no-prefix-label-regexp`;
/** Annotation on a proxy pod, set by Admiralty's webhook, and by ours with `--write-source-manifest`, read by the
 * scheduler on Admiralty's proxy pods: the user's pod as JSON (which is YAML 1.2). */
export const SOURCE_MANIFEST_ANNOTATION = `${ADMIRALTY_PREFIX}sourcepod-manifest`;
/** Label on proxy pods, set by the webhook: selects the pods that an uninstall must release. Value {@link TRUE}. */
export const HAS_FINALIZER_LABEL = `${ADMIRALTY_PREFIX}has-finalizer`;
/** Finalizer on proxy pods, set by the webhook. Removed by the scheduler before the binding, by the feedback controller
 * after it. */
export const DELEGATE_FINALIZER = `${ADMIRALTY_PREFIX}delegate`;

/** Label on PodChaperons and delegate pods, set by the scheduler, read by all components: UID of the proxy pod. On
 * copies of followed objects: of the object in the source. */
export const PARENT_UID_LABEL = `${ADMIRALTY_PREFIX}parent-uid`;
/** Label on PodChaperons and delegate pods, set by the scheduler: identity of the source cluster (UID of its
 * kube-system Namespace). */
export const PARENT_CLUSTER_LABEL = `${ADMIRALTY_PREFIX}parent-cluster-name`;
/** Annotation and label on PodChaperons and delegate pods, set by the scheduler: name of the proxy pod. The label has,
 * of a name longer than 63 characters, the first 52 and ten hexadecimal digits of the name's SHA-256. */
export const PARENT_NAME_ANNOTATION = `${ADMIRALTY_PREFIX}parent-name`;
/** Annotation and label on PodChaperons and delegate pods, set by the scheduler: namespace of the proxy pod. */
export const PARENT_NAMESPACE_ANNOTATION = `${ADMIRALTY_PREFIX}parent-namespace`;
/** Annotation on PodChaperons and delegate pods, set by the scheduler, read by kubelets: the labels of the source pod,
 * as a downward API volume shows them. Only where the pod has such a volume. */
export const SOURCE_LABELS_ANNOTATION = `${ADMIRALTY_PREFIX}source-labels`;
/** Annotation on PodChaperons and delegate pods, set by the scheduler, read by kubelets: the annotations of the source
 * pod, as a downward API volume shows them. Only where the pod has such a volume. */
export const SOURCE_ANNOTATIONS_ANNOTATION = `${ADMIRALTY_PREFIX}source-annotations`;
/** Annotation on PodChaperons, set by the scheduler: the source watches delegate pods itself, so the chaperon's status
 * may lag. Value {@link TRUE}. */
export const SOURCE_WATCHES_PODS_ANNOTATION = `${ADMIRALTY_PREFIX}source-watches-pods`;
/** Annotation on PodChaperons, set by the chaperon controller, read by the feedback controller: when the delegate pod
 * was observed missing (RFC 3339). */
export const POD_MISSING_SINCE_ANNOTATION = `${ADMIRALTY_PREFIX}pod-missing-since`;
/** Annotation on PodChaperons, set by the feedback controller before it deletes one, read by the chaperon controller:
 * grace period in seconds of the delegate, if the proxy pod's delete requested one. */
export const GRACE_PERIOD_ANNOTATION = `${ADMIRALTY_PREFIX}deletion-grace-period-seconds`;
/** Finalizer on PodChaperons, set by the source, removed by the chaperon controller when no delegate exists: otherwise
 * garbage collection, for example, could finish the deletion while a delegate is being created from a stale cache. */
export const CHAPERON_FINALIZER = `${ADMIRALTY_PREFIX}chaperon`;
/** Finalizer on delegate pods that must not run again (restart policy Never and OnFailure), set and removed by the
 * chaperon controller: such a pod cannot vanish before its terminal status is stored, even while that controller is
 * down. */
export const RUN_ONCE_FINALIZER = `${ADMIRALTY_PREFIX}run-once`;
/** Annotation on PodChaperons, set by the scheduler, read by the chaperon controller, and on bound proxy pods, set by
 * the Binding, read by the failover controller: the target stops the delegate when it has lost the source (ADR 0020).
 * Value: grace period in seconds. */
export const FENCE_ANNOTATION = `${ADMIRALTY_PREFIX}fence`;
/** Annotation on PodChaperons, set by the chaperon controller: when (RFC 3339) it was fenced: its source is lost. */
export const FENCED_AT_ANNOTATION = `${ADMIRALTY_PREFIX}fenced-at`;
/** Annotation on PodChaperons, set by the scheduler, read by the chaperon controller: the delegate is stopped unless
 * the source has confirmed it before this time of the target's API server (RFC 3339). */
export const CONFIRM_BEFORE_ANNOTATION = `${ADMIRALTY_PREFIX}confirm-before`;
/** Annotation on PodChaperons, set by the chaperon controller, removed by the feedback controller of the source: since
 * when (RFC 3339) no delegate may exist, because it was not confirmed in time. */
export const EXPIRED_AT_ANNOTATION = `${ADMIRALTY_PREFIX}expired-at`;
/** Annotation on a target's ClusterSummary, set by its delegate controller, read by the scheduler of sources: it stops
 * candidates that are not confirmed in time. Value {@link TRUE}. */
export const STOPS_UNCONFIRMED_ANNOTATION = `${ADMIRALTY_PREFIX}stops-unconfirmed`;
/** Annotation on PodChaperons of an Admiralty source, set by the chaperon controller, read by an Admiralty source's
 * scheduler: this target may be chosen. Value {@link TRUE}. */
export const IS_RESERVED_ANNOTATION = `${ADMIRALTY_PREFIX}is-reserved`;
/** Annotation on PodChaperons, set by an Admiralty source's scheduler, read by the chaperon controller: this target is
 * chosen, so the delegate is made. Value {@link TRUE}. */
export const IS_ALLOWED_ANNOTATION = `${ADMIRALTY_PREFIX}is-allowed`;

/** Annotation on a bound proxy pod, set by the Binding, read by the scheduler: the pod group that it was bound in. */
export const BOUND_IN_GROUP_ANNOTATION = `${ADMIRALTY_PREFIX}bound-in-group`;
/** Annotation on a bound proxy pod, set by the Binding, read by users: target of its delegate, as `kind/name`. */
export const TARGET_ANNOTATION = `${ADMIRALTY_PREFIX}target`;
/** Annotation on PodChaperons and delegates, set by the scheduler, and on a bound proxy pod, set by the Binding, read
 * by the feedback controller: digests of what may change of the pod that the delegate was made of. */
export const SPEC_AT_BIND_ANNOTATION = `${ADMIRALTY_PREFIX}spec-at-bind`;
/** Annotation on PodChaperons, set by the feedback controller, and on delegate pods, set by their creator: the user's
 * changes of the running pod, as JSON. */
export const SENT_CHANGES_ANNOTATION = `${ADMIRALTY_PREFIX}carried-changes`;
/** Annotation on a bound proxy pod, set and read by the feedback controller: keys of the annotations copied from the
 * delegate, as JSON. */
export const DELEGATE_ANNOTATIONS_ANNOTATION = `${ADMIRALTY_PREFIX}delegate-annotations`;
/** Annotation on a bound proxy pod, set and read by the feedback controller: types of conditions that its target has
 * set and controllers of the source may set, as JSON. */
export const DELEGATE_CONDITIONS_ANNOTATION = `${ADMIRALTY_PREFIX}delegate-conditions`;
/** Annotation on a bound proxy pod, set by the Binding, read by users and the feedback controller: its delegate. */
export const DELEGATE_NAME_ANNOTATION = `${ADMIRALTY_PREFIX}delegate-name`;
/**
 * Annotation on PodChaperons and their delegates, set by the scheduler, read by the source: key of the target that they
 * were created through. Two targets may lead to one cluster.
 */
export const TARGET_KEY_ANNOTATION = `${ADMIRALTY_PREFIX}made-through`;

/** Prefix of keys that Admiralty does not have. */
const ISTHMUS_PREFIX = 'isthmus.dev/';
/** Annotation on proxy pods, set by the webhook, read by the scheduler and by commands: the fields of the pod that
 * admission replaced, as JSON. It need not be trusted: it can only change how the delegate is scheduled within its
 * target. */
export const ADMISSION_RECORD_ANNOTATION = `${ISTHMUS_PREFIX}admission-record`;
/**
 * Label on a Namespace, set by its owner (`isthmus offload namespace`), read by the webhook configuration: all its pods
 * are elected, as its NamespaceElection says.
 */
export const NAMESPACE_ELECT_LABEL = `${ISTHMUS_PREFIX}elect`;
/** The value of {@link NAMESPACE_ELECT_LABEL} that elects. */
export const NAMESPACE_ELECT_VALUE = 'all';
/** Label on a Namespace of a target, set by its owner, read by peering: the sources that may run pods in it,
 * {@link ALL_SOURCES} or names of ClusterSources separated by `_`. */
export const SOURCES_LABEL = `${ISTHMUS_PREFIX}sources`;
/** The value of {@link SOURCES_LABEL} that admits all sources. */
export const ALL_SOURCES = 'all';
/** Annotation on PodChaperons, set by the source, read by the target's delegate controller: when (RFC 3339) the source
 * last needed logs, exec, attach or port-forward of the delegate. It is granted the permission for that pod alone. */
export const STREAMS_REQUESTED_ANNOTATION = `${ISTHMUS_PREFIX}streams-asked`;
/** Annotation on objects created in a target for a source's identity, set by peering, read by its controller:
 * `namespace/name` of the Source, `name` of the ClusterSource. */
export const SOURCE_ANNOTATION = `${ISTHMUS_PREFIX}source`;
/** Annotation on (Cluster)Sources, set and read by the join controller: digest of the key that joined, which identifies
 * a source that was interrupted. */
export const JOIN_KEY_ANNOTATION = `${ISTHMUS_PREFIX}join-key`;
/** Label on PlacementPolicies, set by `isthmus move` and read by it and by `isthmus doctor`: present while a pod moves.
 * Value {@link TRUE}. */
export const MOVE_LABEL = `${ISTHMUS_PREFIX}move`;
/** Annotation on policies of moves, set by `isthmus move`, read by the scheduler: it deletes them after this time. */
export const EXPIRES_AFTER_ANNOTATION = `${ISTHMUS_PREFIX}expires-after-seconds`;
/** Annotation on a kubeconfig Secret, set by peering, read by its controller: `namespace/name` of the ServiceAccount in
 * the target whose token it holds. */
export const TOKEN_ACCOUNT_ANNOTATION = `${ISTHMUS_PREFIX}service-account`;
/** Annotation on a kubeconfig Secret, set and read by `isthmus unpeer`: its target may have removed this source. */
export const LEAVING_ANNOTATION = `${ISTHMUS_PREFIX}leaving`;
/** Annotation on objects that peering creates in a source, set by `isthmus peer` and `isthmus join`, read by `isthmus
 * unpeer`: key of their target. */
export const PEERED_TARGET_ANNOTATION = `${ISTHMUS_PREFIX}peered-target`;
/** Condition of a bound proxy pod, set by the feedback controller, read by users: its target is unreachable, so its
 * status may be stale. Cleared by the next status update. */
export const TARGET_UNREACHABLE_CONDITION = `${ISTHMUS_PREFIX}TargetUnreachable`;
/** Condition of virtual nodes, set by the virtual node controller, read by users: whether the target takes pods. */
export const TARGET_READY_CONDITION = 'TargetReady';
/** Annotation on a CustomResourceDefinition that is being deleted, set by `isthmus uninstall --purge`: when its
 * deletion was last retried (RFC 3339). */
export const REMINDED_ANNOTATION = `${ISTHMUS_PREFIX}reminded`;
/** Finalizer on a ClusterTarget or Target with `removalPolicy: Drain`, set and removed by the virtual node component:
 * pods still exist there. */
export const DRAIN_FINALIZER = `${ISTHMUS_PREFIX}drain`;
/** Label on Namespaces, set by administrators, read by the scheduler: ClusterDecisions there may be about others. */
export const DECISIONS_LABEL = `${ISTHMUS_PREFIX}cluster-decisions`;
/** Annotation on ClusterProfiles, set and read by the scheduler: digest of the labels that it has given them. */
export const PROFILE_DIGEST_ANNOTATION = `${ISTHMUS_PREFIX}profile-digest`;
/** Label on ClusterTargets and their Secrets, set and read by discovery: name of the TargetDiscovery that made them,
 * cut and hashed where it is longer than a label may be. */
export const DISCOVERED_BY_LABEL = `${ISTHMUS_PREFIX}discovered-by`;
/** Annotation on ClusterTargets, set and read by discovery: the registry's object that they were made of. */
export const REGISTRY_ENTRY_ANNOTATION = `${ISTHMUS_PREFIX}registry-entry`;
/** Annotation on ClusterTargets, set by discovery, read by commands: name that the registry knows the cluster by. */
export const REGISTERED_NAME_ANNOTATION = `${ISTHMUS_PREFIX}registered-name`;
/** Annotation on ClusterTargets, set and read by discovery: UID of the kube-system Namespace that first answered. */
export const REGISTERED_CLUSTER_ANNOTATION = `${ISTHMUS_PREFIX}registered-cluster`;
/** Annotation on ClusterTargets, set and read by discovery: digest of what its TargetDiscovery asks for. */
export const TEMPLATE_DIGEST_ANNOTATION = `${ISTHMUS_PREFIX}template-digest`;
/** Annotation on ClusterTargets, set by discovery, read by the scheduler: since when (RFC 3339) the cluster is gone
 * from its registry. The target gets no new pods. */
export const LEFT_REGISTRY_ANNOTATION = `${ISTHMUS_PREFIX}left-registry`;
/** Annotation on a source pod, set by the user, read by the scheduler: weights of scores, `cost=2,leastAllocated=0`. */
export const SCORE_WEIGHTS_ANNOTATION = `${ISTHMUS_PREFIX}score-weights`;
/**
 * Annotation on a bound proxy pod, set by the Binding, read by users and `isthmus explain`: why this target, as compact
 * JSON.
 */
export const PLACEMENT_ANNOTATION = `${ISTHMUS_PREFIX}placement`;
/**
 * Label on source pods, set by the user, read by the scheduler: name of the group that the pod is placed with, within
 * its namespace.
 */
export const POD_GROUP_LABEL = `${ISTHMUS_PREFIX}pod-group`;
/** The same label as the Coscheduling plugin has it, set by the user, read by the scheduler. */
export const COSCHEDULING_POD_GROUP_LABEL = 'scheduling.x-k8s.io/pod-group';
/** Annotation on source pods of a group, set by the user, read by the scheduler: the minimum number of pods that are
 * placed together, or none. */
export const POD_GROUP_MIN_COUNT_ANNOTATION = `${ISTHMUS_PREFIX}pod-group-min-count`;
/** Annotation on Services and Ingresses that follow elected pods, and on their copies, set by the follow controller or
 * the user, read by DNS and load balancer controllers: serve in all clusters. Value {@link TRUE}. */
export const GLOBAL_ANNOTATION = `${ADMIRALTY_PREFIX}global`;
/** Annotation on copies of Services and Ingresses in targets, set by the follow controller: this is a copy. The value
 * is empty. */
export const IS_DELEGATE_ANNOTATION = `${ADMIRALTY_PREFIX}is-delegate`;
/** Annotation on followed Services of the source, set and read by the follow controller: the user's selector,
 * `key=value,...`. */
export const ORIGINAL_SELECTOR_ANNOTATION = `${ADMIRALTY_PREFIX}original-selector`;
/** Annotation on followed Services and Ingresses of the source, set and read by the follow controller: the keys of
 * annotations that it added. */
export const FOLLOW_MARKS_ANNOTATION = `${ADMIRALTY_PREFIX}follow-marks`;
/**
 * Annotation on copies in targets, set and read by the follow controller: the labels and annotations that came from the
 * source, as JSON.
 */
export const FOLLOWED_KEYS_ANNOTATION = `${ADMIRALTY_PREFIX}followed-keys`;
/**
 * Annotation on copies of Secrets in targets, set by the follow controller, read by the copied-secret controller of the
 * target: resourceVersion of the source's Secret.
 */
export const COPY_VERSION_ANNOTATION = `${ISTHMUS_PREFIX}copy-version`;
/**
 * Annotation on copies of Secrets in targets, set by the follow controller, read by the copied-secret controller of the
 * target: digest of the copy as it was written.
 */
export const COPY_DIGEST_ANNOTATION = `${ISTHMUS_PREFIX}copy-digest`;
/** Annotation on followed Services and their copies, set by the follow controller, read by Cilium's cluster mesh as the
 * former spelling of {@link CILIUM_GLOBAL_ANNOTATION}: endpoints of all clusters count. Value {@link TRUE}. */
export const CILIUM_FORMER_GLOBAL_ANNOTATION = 'io.cilium/global-service';
/** Annotation on a Service, set by its owner as for Cilium's cluster mesh, read by service discovery: export it to all
 * clusters. Value {@link TRUE}. */
export const CILIUM_GLOBAL_ANNOTATION = 'service.cilium.io/global';
/** Annotation beside {@link CILIUM_GLOBAL_ANNOTATION}, set by the owner, read by service discovery: `false` does not
 * export this cluster's endpoints. */
export const CILIUM_SHARED_ANNOTATION = 'service.cilium.io/shared';
/** Annotation on a Service, set by its owner as for Cilium's cluster mesh, read by service discovery: `local`, `remote`
 * or `none`, the endpoints that DNS responses prefer. */
export const CILIUM_AFFINITY_ANNOTATION = 'service.cilium.io/affinity';

/** Label on nodes, set by administrators with value `true`, read by the pod plane: one of these nodes is the gateway of
 * the cluster. */
export const GATEWAY_NODE_LABEL = 'isthmus.dev/gateway';
/** Label on the Endpoint that this cluster's pod plane announces, set by the pod plane's gateway, read by components
 * that check whether there is one. Value {@link TRUE}. */
export const OWN_ENDPOINT_LABEL = `${ISTHMUS_PREFIX}own-endpoint`;
/** Label on Clusters, Endpoints and ExportedServices, set and read by the gateway: a copy of the broker's object. Value
 * {@link TRUE}. */
export const BROKER_COPY_LABEL = `${ISTHMUS_PREFIX}from-broker`;
/**
 * Label on Clusters and Endpoints, set and read by the gateway: they mirror an existing Submariner. Value {@link TRUE}.
 */
export const FROM_SUBMARINER_LABEL = `${ISTHMUS_PREFIX}from-submariner`;
/** Label and taint key of virtual nodes, set by the virtual node controller; proxy pods select and tolerate it. */
export const PROVIDER_KEY = 'virtual-kubelet.io/provider';
/** The value of {@link PROVIDER_KEY}. */
export const PROVIDER_VALUE = 'admiralty';
/** Label on the virtual node of a ClusterTarget, set by the virtual node controller, read by commands and users: the
 * target's name. */
export const CLUSTER_TARGET_NAME_LABEL = `${ADMIRALTY_PREFIX}cluster-target-name`;
/** Label on the virtual node of a Target, set by the virtual node controller, read by commands and users: the target's
 * namespace. */
export const TARGET_NAMESPACE_LABEL = `${ADMIRALTY_PREFIX}target-namespace`;
/** Label on the virtual node of a Target, set by the virtual node controller, read by commands and users: the target's
 * name. */
export const TARGET_NAME_LABEL = `${ADMIRALTY_PREFIX}target-name`;

/** Annotation on virtual nodes, set by the virtual node controller, read by the scheduler: keys of the labels that the
 * target reported, as JSON. */
export const TARGET_LABELS_ANNOTATION = 'isthmus.dev/target-labels';

/** Annotation on virtual nodes, set by the virtual node controller, read by metrics-server ≥ 0.7: path of the node's
 * metrics on the port that all virtual nodes share. */
export const RESOURCE_METRICS_PATH_ANNOTATION = 'metrics.k8s.io/resource-metrics-path';

/** `spec.schedulerName` of proxy pods. */
export const PROXY_SCHEDULER = 'admiralty-proxy';
/** `spec.schedulerName` of Admiralty's delegate pods in a target; reserved. */
export const CANDIDATE_SCHEDULER = 'admiralty-candidate';
/** The value of boolean keys. */
export const TRUE = 'true';

/** Default namespace of the installation, and of the Secrets of ClusterTargets. */
export const DEFAULT_INSTALL_NAMESPACE = 'isthmus-system';
/** Label on a dry-run Event, set by the webhook process, read by the webhook configuration: checks whether the API
 * server reaches the webhook. Value {@link REACHED_QUESTION}. */
export const REACHED_LABEL = `${ISTHMUS_PREFIX}asks`;
/** The value of {@link REACHED_LABEL}. */
export const REACHED_QUESTION = 'webhook-reached';
/** Annotation on such an Event, set by the called webhook, read by the webhook process. Value {@link TRUE}. */
export const REACHED_ANNOTATION = `${ISTHMUS_PREFIX}answered`;
/** Annotation on a proxy pod, set by the webhook with tracing, read by the scheduler and the feedback controller: its
 * trace ID, root span, and start of admission. */
export const TRACE_ANNOTATION = `${ISTHMUS_PREFIX}trace`;
/** Annotation on an adopted proxy pod of Admiralty's, set by `isthmus adopt`, read by the feedback controller: name of
 * its PodChaperon and delegate pod, which is not derived from its UID. */
export const ADOPTED_DELEGATE_ANNOTATION = `${ADMIRALTY_PREFIX}adopted-delegate`;
/** Annotation on Admiralty's objects, set and read by `isthmus migrate`: their former state as JSON, for a rollback. */
export const BEFORE_MIGRATION_ANNOTATION = `${ISTHMUS_PREFIX}before-migration`;
