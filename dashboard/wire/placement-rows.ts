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
  /** What the scheduler says of it. */
  readonly message?: string | undefined;
  /** Which pods it is for, in words. */
  readonly selects: string;
  /** What it asks for, in words. */
  readonly rules: readonly string[];
  /** Elected pods that it selects now; missing where that is not known. */
  readonly pods?: number | undefined;
  /** Their namespaces. */
  readonly namespaces?: number | undefined;
  /** Targets that it excludes by itself; missing where that is not known. */
  readonly excluded?: readonly ExcludedTarget[] | undefined;
  /** Targets that it leaves to its pods. */
  readonly left?: readonly string[] | undefined;
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
  readonly there?: number | undefined;
  readonly elsewhere?: number | undefined;
  readonly since: string;
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
