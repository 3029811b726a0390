// The status of a (Cluster)Target: its cluster ID, whether it is usable and, if not, what to change.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { DelegationMode, TargetStatus } from '../../api/kinds/cluster-target.ts';
import type { Condition } from '../../api/objects/core.ts';
import { serverStateOf, type ServerState } from '../../model/delegate/availability-reasons.ts';
import { findCondition, withConditions } from '../../model/objects/conditions.ts';
import { formatAmount, type Amount } from '../../model/resources/quantity.ts';
import { parseResourceList } from '../../model/resources/resources.ts';

/** The observed state of a target. */
export interface ObservedTarget {
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
  readonly summary: ClusterSummary | undefined;
  readonly clusterID: string | undefined;
  readonly virtualNode: string;
  /** Whether that node exists: without it no pod can be bound. */
  readonly hasNode: boolean;
  /** Whether that node is cordoned. */
  readonly isCordoned: boolean;
  readonly generation: number;
  /** Its delegation mode, once it is known. */
  readonly delegation?: DelegationMode | undefined;
  /** Round trip to its API server in ms, once measured. */
  readonly rttMs?: number | undefined;
}

/** Reasons for which condition Authorized is False. */
const UNAUTHORIZED: ReadonlySet<string> = new Set(['Unauthorized', 'Forbidden']);
/** Condition Reachable by what is known of the API server. */
const REACHABLE: Readonly<Record<ServerState, Condition['status']>> =
  { answers: 'True', reached: 'True', fails: 'False', unknown: 'False', 'not-tried': 'Unknown' };

/** The status to store. Returns `before` itself when nothing would change. */
export function toTargetStatus(before: TargetStatus, observed: ObservedTarget, now: string): TargetStatus {
  const { generation } = observed;
  const { conditions = [] } =
    withConditions(before, [toReady(observed), toReachable(observed), toAuthorized(observed)], { generation, now });
  const clusterID = observed.clusterID ?? before.clusterID;
  const delegation = observed.delegation ?? before.delegation;
  const free = toFree(observed.summary, before.free) ?? before.free;
  const rtt = observed.rttMs === undefined ? before.rtt : `${observed.rttMs}ms`;
  const status: TargetStatus = {
    observedGeneration: generation,
    conditions,
    virtualNode: observed.virtualNode,
    ...cordonedOf(before, observed),
    ...(clusterID !== undefined && { clusterID }),
    ...(delegation !== undefined && { delegation }),
    ...(free !== undefined && { free }),
    ...(rtt !== undefined && { rtt }),
  };
  return isSame(before, status) ? before : status;
}

/** First told when it is so: an older CRD drops the field. */
function cordonedOf(before: TargetStatus, { isCordoned }: ObservedTarget): Pick<TargetStatus, 'cordoned'> {
  return isCordoned || before.cordoned !== undefined ? { cordoned: isCordoned } : {};
}

function toReady({ problem, summary, virtualNode, hasNode }: ObservedTarget): Condition {
  if (problem !== undefined) return { type: 'Ready', status: 'False', ...problem };
  if (summary === undefined) {
    return {
      type: 'Ready', status: 'False', reason: 'NoSummary',
      message:
        'the target has not published a ClusterSummary; check that the delegate controller runs there, or, with ' +
          'delegation Pod, that the source may list its nodes and pods',
    };
  }
  if (!hasNode) return {
    type: 'Ready', status: 'False', reason: 'NodeMissing', message: `virtual node ${virtualNode} is being created`,
  };
  return { type: 'Ready', status: 'True', reason: 'Ready', message: 'pods can be sent to the target' };
}

function toReachable({ problem }: ObservedTarget): Condition {
  const status = problem === undefined ? 'True' : REACHABLE[serverStateOf(problem.reason)];
  return problem === undefined || status === 'True'
    ? { type: 'Reachable', status: 'True', reason: 'Answers', message: "the target's API server answers" }
    : { type: 'Reachable', status, ...problem };
}

function toAuthorized({ problem }: ObservedTarget): Condition {
  if (problem === undefined) return {
    type: 'Authorized', status: 'True', reason: 'Accepted',
    message: 'the target grants the permissions that a source needs',
  };
  return { type: 'Authorized', status: UNAUTHORIZED.has(problem.reason) ? 'False' : 'Unknown', ...problem };
}

/**
 * A value that was shown and is no longer known becomes 0: the status is merged, so omitting it would keep the old one.
 */
function toFree(summary: ClusterSummary | undefined, before: TargetStatus['free']): TargetStatus['free'] {
  if (summary?.free === undefined) return undefined;
  const { cpu, memory, pods } = summary.free;
  const gpus = [...parseResourceList(summary.free).amounts].filter(([resource]) => resource.endsWith('/gpu'));
  return {
    ...(before && Object.fromEntries(Object.keys(before).map((field) => [field, '0']))),
    ...(cpu !== undefined && { cpu: String(cpu) }),
    ...(memory !== undefined && { memory: String(memory) }),
    ...(pods !== undefined && { pods: String(pods) }),
    ...(gpus.length > 0 && { gpu: formatAmount(gpus.reduce((sum, [, count]) => sum + count, 0) as Amount) }),
  };
}

/** Whether two statuses differ only in measurements: free capacity, round trip. */
export function onlyMeasurementsDiffer(one: TargetStatus, other: TargetStatus): boolean {
  const fields = ['observedGeneration', 'conditions', 'clusterID', 'delegation', 'virtualNode', 'cordoned'] as const;
  return fields.every((field) => one[field] === other[field]);
}

// Field by field: the API server returns a custom resource with its fields sorted.
const FREE_FIELDS = ['cpu', 'memory', 'gpu', 'pods'] as const;

function isSame(one: TargetStatus, other: TargetStatus): boolean {
  const isSameFree = (one.free === undefined) === (other.free === undefined)
    && FREE_FIELDS.every((field) => one.free?.[field] === other.free?.[field]);
  return onlyMeasurementsDiffer(one, other) && isSameFree && one.rtt === other.rtt;
}

/** The gauges of a target: `isReady` is its condition Ready, so that alerts and the condition agree. */
export function toTargetGauges(
  { conditions }: TargetStatus, summary: ClusterSummary | undefined, rttMs: number | undefined,
) {
  const isReachable = findCondition(conditions, 'Reachable')?.status !== 'False';
  return {
    isReady: findCondition(conditions, 'Ready')?.status === 'True', rttMs: isReachable ? rttMs : undefined,
    free: isReachable && summary !== undefined ? freeFigures(summary) : {},
  };
}

function freeFigures({ free }: ClusterSummary) {
  const { amounts } = parseResourceList(free ?? {});
  const gpus = [...amounts].filter(([resource]) => resource.endsWith('/gpu'));
  const gpu = gpus.reduce((sum, [, count]) => sum + count, 0);
  // CPU amounts are in milli-CPU.
  const cpu = (amounts.get('cpu') ?? 0) / 1_000;
  return { cpu, memory: amounts.get('memory') ?? 0, pods: amounts.get('pods') ?? 0, gpu };
}
