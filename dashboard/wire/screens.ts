// What the server sends to the page for each screen. Texts are data of clusters and are only ever shown as text. Times
// are RFC 3339, so that a screen changes when its clusters do and not with the clock.
import type { ActionKind } from './actions.ts';
import type {
  ComparedTarget, DecisionRow, Drain, Failback, MorePods, PodMove, PolicyChoice, PolicyRow, RecordedDecision, Rollout,
} from './placement-rows.ts';

/** Something that could not be read: it is unknown, which is not the same as empty. */
export interface UnreadablePart {
  /** What is missing: `pods of all namespaces`. */
  readonly what: string;
  /** Why, in a sentence. */
  readonly why: string;
  /** What to do about it, in a sentence. */
  readonly advice: string;
}

/** What all screens have. */
interface Screen {
  readonly unreadable: readonly UnreadablePart[];
}

/** A target on the map and in the table. */
export interface TargetCard {
  /** `NAME`, or `NAMESPACE/NAME` of a Target. */
  readonly name: string;
  /** The virtual node. */
  readonly node: string;
  /** `Ready`, or the reason why not. */
  readonly state: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  /** What to change, where it is not ready. */
  readonly message?: string | undefined;
  /** Elected pods there; missing where they cannot be read. */
  readonly pods?: number | undefined;
  /** Those of them that run. */
  readonly running?: number | undefined;
  readonly freeCpu?: string | undefined;
  readonly freeMemory?: string | undefined;
  readonly freeGpus?: string | undefined;
  readonly rtt?: string | undefined;
  readonly delegation?: string | undefined;
  /** Per hour and unit: `cpu 0.03, memory 0.004`. */
  readonly prices?: string | undefined;
  /** The member of the clusterset whose gateway leads to it; missing where it is dialled directly. */
  readonly gateway?: string | undefined;
  /** When its virtual node was last reported; missing where that cannot be read. */
  readonly reportedAt?: string | undefined;
  /** When `state` began. */
  readonly since?: string | undefined;
}

/** A cluster that becomes a target once it is approved. */
export interface ProposedCluster {
  /** Name of the TargetDiscovery. */
  readonly discovery: string;
  /** Name that the registry knows it by. */
  readonly cluster: string;
  /** Kind, namespace and name of the registry's object. */
  readonly entry: string;
  /** UID of its kube-system Namespace; missing while it is not known. */
  readonly clusterId?: string | undefined;
  /** What is known of it: of one that DNS announces, its address and authority, and that they are not authenticated. */
  readonly message?: string | undefined;
}

/** The targets of this source. */
export interface TargetsScreen extends Screen {
  readonly screen: 'targets';
  readonly targets: readonly TargetCard[];
  /** Pods without a target; missing where pods cannot be read. */
  readonly waiting?: number | undefined;
  /** What the viewer may do with them, and with proposed clusters. */
  readonly actions: readonly ActionKind[];
  /** The first of `proposedTotal`. */
  readonly proposed: readonly ProposedCluster[];
  readonly proposedTotal: number;
}

/** Pods of a workload at one place. */
export interface WorkloadPart {
  /** As {@link TargetCard.name}; missing for pods without a target. */
  readonly target?: string | undefined;
  readonly pods: number;
  readonly running: number;
}

/** A workload with its pods by target. */
export interface WorkloadRow {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  readonly running: number;
  readonly parts: readonly WorkloadPart[];
}

/** Workloads by target. */
export interface WorkloadsScreen extends Screen {
  readonly screen: 'workloads';
  /** The first of `total`. */
  readonly rows: readonly WorkloadRow[];
  readonly total: number;
  /** Targets with pods of these workloads, in the order of their colours. */
  readonly targets: readonly string[];
}

/** A pod in a list. */
export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  /** Phase, or Terminating. */
  readonly status: string;
  readonly isReady: boolean;
  readonly restarts: number;
  readonly target?: string | undefined;
  /** `Deployment/web`. */
  readonly workload: string;
  readonly createdAt: string;
  /** Why it does not run, in a word. */
  readonly problem?: string | undefined;
}

/** Pods that match a filter. */
export interface PodsScreen extends Screen {
  readonly screen: 'pods';
  /** The first of `total`. */
  readonly rows: readonly PodRow[];
  readonly total: number;
  readonly targets: readonly string[];
}

/** How far a stage of a pod's journey is. `unknown`: it cannot be read. */
export type StageState = 'done' | 'now' | 'failed' | 'unknown' | 'later';

/** One stage of a pod's journey. */
export interface Stage {
  readonly title: string;
  /** The cluster whose clock `at` is of. */
  readonly where: 'source' | 'target';
  readonly state: StageState;
  readonly at?: string | undefined;
  readonly note?: string | undefined;
}

/** How filters and scores judge a target now. */
export interface TargetEvaluation {
  readonly target: string;
  readonly answer: 'chosen' | 'possible' | 'no';
  readonly score?: number | undefined;
  readonly scores: readonly { readonly name: string; readonly weight: number; readonly score: number }[];
  readonly passed: readonly string[];
  readonly rejections: readonly { readonly filter: string; readonly reason: string; readonly message: string }[];
}

/** How the scheduler would decide now. */
export interface Evaluation {
  /** The outcome in sentences, as `isthmus explain` prints it. */
  readonly outcome: readonly string[];
  /** Best first. */
  readonly targets: readonly TargetEvaluation[];
}

/** A condition of a pod. */
export interface ConditionRow {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly at?: string | undefined;
}

/** An Event of a pod; several of the same are counted. */
export interface EventRow {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly at?: string | undefined;
}

/** A pod in the source, or its delegate in the target. */
export interface PodSide {
  readonly node?: string | undefined;
  readonly name: string;
  readonly conditions: readonly ConditionRow[];
  /** Missing where they cannot be read. */
  readonly events?: readonly EventRow[] | undefined;
}

/** A container as its status says. */
export interface ContainerRow {
  readonly name: string;
  readonly image?: string | undefined;
  /** `Running`, `Waiting: ImagePullBackOff`, `Terminated: Error (1)`. */
  readonly state: string;
  readonly message?: string | undefined;
  readonly restarts: number;
  readonly isReady: boolean;
}

/** One pod's journey. */
export interface PodScreen extends Screen {
  readonly screen: 'pod';
  /** Missing when there is no such pod. */
  readonly pod?: PodRow | undefined;
  readonly stages: readonly Stage[];
  /** Missing before the pod is bound, and where there is no such record. */
  readonly recorded?: RecordedDecision | undefined;
  /** Targets were evaluated as if this one were not there. */
  readonly without?: string | undefined;
  readonly evaluation?: Evaluation | undefined;
  /** Missing where targets cannot be evaluated. */
  readonly choice?: PolicyChoice | undefined;
  /** Missing if the viewer did not ask for more pods, and where targets cannot be evaluated. */
  readonly morePods?: MorePods | undefined;
  readonly containers: readonly ContainerRow[];
  /** What the viewer may do with it. */
  readonly actions: readonly ActionKind[];
  readonly source?: PodSide | undefined;
  readonly target?: PodSide | undefined;
}

/** Pods that wait for the same reason. */
export interface PendingGroup {
  /** A CamelCase reason, or several. */
  readonly reason: string;
  readonly message: string;
  readonly pods: number;
  /** Creation of the oldest. */
  readonly since: string;
  readonly workloads: readonly string[];
  /** A few of them. */
  readonly examples: readonly { readonly namespace: string; readonly name: string }[];
  /** The change that would let the first one in. */
  readonly change?: { readonly target: string; readonly changes: readonly string[] } | undefined;
  /** The target that would take the first one now. */
  readonly wouldGoTo?: string | undefined;
}

/** Pods that do not run yet, grouped by reason. */
export interface PendingScreen extends Screen {
  readonly screen: 'pending';
  /** Largest first; the first of `reasons`. */
  readonly groups: readonly PendingGroup[];
  /** How many groups there are, shown or not. */
  readonly reasons: number;
  /** Of pods, in all groups. */
  readonly total: number;
}

/** Placement policies. */
export interface PoliciesScreen extends Screen {
  readonly screen: 'policies';
  /** The first of `total`. */
  readonly rows: readonly PolicyRow[];
  readonly total: number;
}

/** Decisions of the scheduler, as they are recorded on the pods that it bound. */
export interface DecisionsScreen extends Screen {
  readonly screen: 'decisions';
  /** The first of `total`, newest first. */
  readonly rows: readonly DecisionRow[];
  readonly total: number;
}

/** One decision, and what the same functions decide now. */
export interface DecisionScreen extends Screen {
  readonly screen: 'decision';
  /** Missing when there is no such pod. */
  readonly pod?: PodRow | undefined;
  /** When the pod was bound. */
  readonly at?: string | undefined;
  /** Missing before the pod is bound, and where its record cannot be read. */
  readonly recorded?: RecordedDecision | undefined;
  /** What is decided now, in sentences; missing where targets cannot be evaluated. */
  readonly outcome?: readonly string[] | undefined;
  /** Whether the same target is chosen now; missing where that is not known. */
  readonly isSame?: boolean | undefined;
  readonly targets: readonly ComparedTarget[];
}

/** What is in progress between targets. */
export interface MovesScreen extends Screen {
  readonly screen: 'moves';
  /** The first of `total` in all. */
  readonly rollouts: readonly Rollout[];
  readonly moves: readonly PodMove[];
  readonly drains: readonly Drain[];
  readonly failbacks: readonly Failback[];
  readonly total: number;
}

/** Any screen. */
export type AnyScreen =
  | TargetsScreen | WorkloadsScreen | PodsScreen | PodScreen | PendingScreen | PoliciesScreen | DecisionsScreen
  | DecisionScreen | MovesScreen;
