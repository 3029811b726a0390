// Rows of the screens of policies and of what is in progress, as the server sends them to the page.

/** A target that a policy excludes. */
export interface ExcludedTarget {
  readonly target: string;
  /** A CamelCase reason. */
  readonly reason: string;
  readonly message: string;
}

/** A placement policy. */
export interface PolicyRow {
  readonly kind: 'PlacementPolicy' | 'ClusterPlacementPolicy';
  /** Missing for a cluster policy. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** `Ready`, or the reason why not. */
  readonly state: string;
  readonly isReady: boolean;
  /** What the scheduler says about it. */
  readonly message?: string | undefined;
  /** Which pods it is for, in words. */
  readonly selects: string;
  /** What it asks for, in words. */
  readonly rules: readonly string[];
  /** Elected pods that it selects now; missing where that is not known. */
  readonly pods?: number | undefined;
  /** Their namespaces. */
  readonly namespaces?: number | undefined;
  /** Targets that it excludes on its own; missing where that is not known. */
  readonly excluded?: readonly ExcludedTarget[] | undefined;
  /** Targets that it leaves to its pods. */
  readonly left?: readonly string[] | undefined;
}

/** What the scheduler decided when it bound a pod. */
export interface RecordedDecision {
  readonly target: string;
  /** Higher is better. */
  readonly score: number;
  /** Of a policy's tiers, the one that the target is in, from 1; missing for the first. */
  readonly tier?: number | undefined;
  /** The target had to add nodes first. */
  readonly isAfterScaleUp: boolean;
  readonly rejected: readonly { readonly target: string; readonly reason: string }[];
  /** Rejected targets that the record leaves out. */
  readonly more: number;
}

/** A decision in a list; `decision` is missing where the record of the pod cannot be read. */
export interface DecisionRow {
  readonly namespace: string;
  readonly name: string;
  readonly workload: string;
  /** When the pod was bound. */
  readonly at?: string | undefined;
  readonly decision?: (Omit<RecordedDecision, 'rejected' | 'more'> & {
    /** How many targets were rejected for a reason; most first. */
    readonly reasons: readonly { readonly reason: string; readonly targets: number }[];
  }) | undefined;
}

/** A target as it was judged when a pod was bound, and as it is judged now. */
export interface ComparedTarget {
  readonly target: string;
  /** Missing where the record does not name it: it was feasible, or not there yet. */
  readonly before?: { readonly answer: 'chosen' | 'no'; readonly why: string } | undefined;
  /** Missing where targets cannot be evaluated, and for a target that is gone. */
  readonly now?: { readonly answer: 'chosen' | 'possible' | 'no'; readonly why: string } | undefined;
  /** Whether both say the same; missing where one of them is. */
  readonly isSame?: boolean | undefined;
}

/** Where more pods like one would go. */
export interface MorePods {
  readonly pods: number;
  /** Most pods first. */
  readonly placed: readonly { readonly target: string; readonly pods: number }[];
  readonly waiting: number;
  /** Why the first one of those waits, in sentences. */
  readonly why: readonly string[];
}

/** Which policies a viewer can suppose to apply to a pod, and which one they do. */
export interface PolicyChoice {
  /** Those that there are, as `PlacementPolicy/NAME` or `ClusterPlacementPolicy/NAME`. */
  readonly policies: readonly string[];
  /** The spec of the one that is supposed, as it was written or as YAML; missing where none is, or there is none. */
  readonly spec?: string | undefined;
  /** Missing where no policy is supposed, and where it cannot be. */
  readonly whatIf?: {
    /** `PlacementPolicy NAMESPACE/NAME`, or `ClusterPlacementPolicy NAME`. */
    readonly title: string;
    readonly isEdited: boolean;
    /** Titles of policies that apply now and would not. */
    readonly replaces: readonly string[];
    /** Titles of policies that would apply, too. */
    readonly keeps: readonly string[];
  } | undefined;
}

/** Pods of one revision of a workload. */
export interface Revision {
  /** The hash in the label of its pods. */
  readonly hash: string;
  readonly pods: number;
  readonly ready: number;
  /** Creation of the newest. */
  readonly createdAt: string;
}

/** A workload with pods of several revisions. */
export interface Rollout {
  readonly namespace: string;
  /** `Deployment/web`. */
  readonly workload: string;
  /** Newest first. */
  readonly revisions: readonly Revision[];
}

/** What `isthmus move` does now, or left behind when it was interrupted. */
export interface PodMove {
  readonly namespace: string;
  /** The temporary policy. */
  readonly policy: string;
  /** Which pods go there, in words. */
  readonly selects: string;
  readonly target: string;
  /** Selected pods there and elsewhere; missing where pods cannot be read. */
  readonly onTarget?: number | undefined;
  readonly elsewhere?: number | undefined;
  readonly since: string;
  /** When the scheduler deletes the policy in any case; missing where it does not expire. */
  readonly expiresAt?: string | undefined;
}

/** A cordoned target, or one that is being removed, with the pods that are still there. */
export interface Drain {
  readonly target: string;
  readonly isRemoved: boolean;
  /** Missing where pods cannot be read. */
  readonly pods?: number | undefined;
  readonly terminating?: number | undefined;
}

/** Pods that run elsewhere because a target was lost. */
export interface Failback {
  readonly target: string;
  /** Missing where that cannot be read. */
  readonly isReady?: boolean | undefined;
  readonly pods: number;
  readonly workloads: readonly string[];
}
