// `isthmus move POD --to TARGET`: the pod's replacement runs in that target. Budgets are respected, and workloads stay
// unchanged.
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import type { Node, Pod } from '../../api/objects/core.ts';
import { MOVE_LABEL, TRUE } from '../../api/objects/keys.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { NODES, PLACEMENT_POLICIES, PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import {
  namespaceIn, parseSeconds, parseTarget, targetText, withCluster, withClusterFlags, withNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { evictWithin } from './drain-target.ts';
import { podName } from '../placement/explain-command.ts';
import { withPodBackup } from './pod-backup.ts';
import { planMove, type MovePlan } from './move-plan.ts';

interface MoveFlags extends ClusterFlags {
  readonly to: string;
  readonly namespace?: string;
  readonly recreate?: boolean;
  readonly timeoutSeconds: number;
}

/** Timeout for the scheduler to observe a policy, and polling interval, in ms. */
const ACCEPTED = { forMs: 15_000, everyMs: 50 };
const POLL_INTERVAL_MS = 100;
/** For requests, and until the policy is deleted, in ms. */
const SLACK_MS = 60_000;

/** The command for commander. */
export function moveCommand(): Command {
  const command = new Command('move').description(
    'Evict an elected pod, as disruption budgets allow, and run its replacement in a target of your choice. ' +
      'Run it in the source.',
  ).argument('<pod>', 'pod/NAME');
  withClusterFlags(command).requiredOption('--to <target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target');
  return withNamespace(command, 'of the pod')
    .option('--recreate', 'delete and recreate a pod that no controller would recreate')
    .option('--timeout-seconds <number>', 'timeout for the move', parseSeconds, 300)
    .action(move);
}

async function move(argument: string, flags: MoveFlags): Promise<void> {
  const [target, name] = [parseTarget(flags.to), podName(argument)];
  const wish = { target, recreates: flags.recreate === true, forMs: flags.timeoutSeconds * 1_000 };
  const moved = await withCluster(flags, 'move', (cluster, signal) => {
    const at = { namespace: namespaceIn(cluster, flags.namespace), name };
    return movePod(cluster.client, { ...wish, at }, { tell: (line) => console.error(line), signal });
  });
  console.log(`pod/${moved} runs in ${targetText(target)}`);
}

/** What to move. */
export interface MoveRequest {
  readonly at: { readonly namespace: string; readonly name: string };
  readonly target: TargetRef;
  readonly recreates: boolean;
  /** In ms. */
  readonly forMs: number;
}

/**
 * Moves a pod; returns the name of its replacement.
 * @throws AppError `NotFound` when there is no such pod, `BadInput` with the reason why it cannot be moved, `Timeout`
 * when no replacement runs.
 */
export async function movePod(
  client: ClusterClient, { at, target, recreates, forMs }: MoveRequest, progress: Progress,
): Promise<string> {
  const { signal, tell } = progress;
  const pod: Pod | undefined = await client.get(PODS, at, signal).catch(unless(isNotFound));
  if (pod === undefined) throw new AppError('NotFound', `There is no pod ${at.namespace}/${at.name}.`);
  const node: Node | undefined = await client.get(NODES, { name: virtualNodeName(target) }, signal)
    .catch(unless(isNotFound));
  const plan = planMove({ pod, target, node, recreates, expiresAfter: longest(forMs) }, randomBytes(4).toString('hex'));
  if (plan.kind === 'refuse') throw new AppError('BadInput', plan.message);
  if (plan.kind === 'nothing') return at.name;
  tell(`new pods like ${at.namespace}/${at.name} go to ${targetText(target)} for as long as this lasts`);
  const policy = await client.create<PlacementPolicy>(PLACEMENT_POLICIES, plan.policy, signal);
  const policyAt = { namespace: at.namespace, name: policy.metadata.name ?? '' };
  try {
    await untilAccepted(client, policyAt, signal);
    const before =
      new Set((await client.list(PODS, { namespace: at.namespace }, signal)).map(({ metadata }) => metadata.uid));
    await replace(client, { pod, plan, forMs }, progress);
    return await untilThere(client, { before, plan, at, target, forMs }, signal);
  } finally {
    // also on interruption; where this fails, which must not hide what happened, the scheduler deletes it
    await client.delete(PLACEMENT_POLICIES, policyAt, { preconditions: { uid: policy.metadata.uid ?? '' } })
      .catch(() => undefined);
  }
}

/** How long a move may take, in seconds: the pod may take `forMs` to go, and its replacement as long to run. */
function longest(forMs: number): number {
  return Math.ceil((ACCEPTED.forMs + 2 * forMs + SLACK_MS) / 1_000);
}

/** Before the scheduler has observed the policy, the replacement could be placed elsewhere. */
async function untilAccepted(
  client: ClusterClient, at: { readonly namespace: string; readonly name: string }, signal: AbortSignal,
): Promise<void> {
  const isAccepted = async () => (
    findCondition(
      (await client.get<PlacementPolicy>(PLACEMENT_POLICIES, at, signal)).status?.conditions, 'Accepted',
    )?.status === 'True' ? true : undefined
  );
  if (await pollUntil(isAccepted, ACCEPTED, signal)) return;
  throw new AppError(
    'Timeout',
    'The scheduler does not take up placement policies: look whether Isthmus runs in this cluster ("isthmus ' +
      'status"). Nothing was moved.',
  );
}

type Replacement = Extract<MovePlan, { readonly kind: 'evict' | 'recreate' }>;

async function replace(
  client: ClusterClient,
  { pod, plan, forMs }: { readonly pod: Pod; readonly plan: Replacement; readonly forMs: number },
  { tell, signal }: Progress,
): Promise<void> {
  if (plan.kind === 'evict') {
    return evictWithin(client, pod, forMs, { tell, signal });
  }
  const { namespace, name = '', uid = '' } = pod.metadata;
  const remove = async (): Promise<void> => {
    await client.delete(PODS, { namespace, name }, { preconditions: { uid } }, signal);
    tell(`deleted ${namespace}/${name}`);
  };
  return withPodBackup(
    plan.pod, tell, { remove, make: () => makeAnew(client, { pod, successor: plan.pod, forMs }, signal) },
  );
}

async function makeAnew(
  client: ClusterClient,
  { pod, successor, forMs }: { readonly pod: Pod; readonly successor: Pod; readonly forMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = '', uid } = pod.metadata;
  const isGone = async () => (
    (await client.get(PODS, { namespace, name }, signal).catch(unless(isNotFound)))?.metadata.uid === uid
      ? undefined
      : true
  );
  if (!(await pollUntil(isGone, { forMs, everyMs: POLL_INTERVAL_MS }, signal))) {
    throw new AppError('Timeout', `Pod ${namespace}/${name} was deleted and has not gone in ${forMs / 1_000} s.`);
  }
  await client.create(PODS, successor, signal);
}

interface Awaited {
  /** UIDs of pods that are not the replacement. */
  readonly before: ReadonlySet<string | undefined>;
  readonly plan: Replacement;
  readonly at: { readonly namespace: string; readonly name: string };
  readonly target: TargetRef;
  readonly forMs: number;
}

async function untilThere(
  client: ClusterClient, { before, plan, at, target, forMs }: Awaited, signal: AbortSignal,
): Promise<string> {
  let seen: Pod | undefined;
  const isSuccessor = ({ metadata }: Pod) => (
    plan.kind === 'evict'
      ? metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === plan.controller) === true
      : metadata.name === at.name
  );
  const look = async (): Promise<Pod | undefined> => {
    const successors = (await client.list(PODS, { namespace: at.namespace }, signal)).filter(
      (pod) => !before.has(pod.metadata.uid) && isSuccessor(pod),
    );
    seen = successors[0];
    return successors.find(
      ({ spec, status }) => spec.nodeName === virtualNodeName(target) && status?.phase === 'Running',
    );
  };
  const there = await pollUntil(look, { forMs, everyMs: POLL_INTERVAL_MS }, signal);
  if (there !== undefined) return there.metadata.name ?? '';
  const why = seen === undefined
    ? 'no pod took its place'
    : `${seen.metadata.name} waits: ` + (
      findCondition(seen.status?.conditions, 'PodScheduled')?.message ?? `it is ${seen.status?.phase ?? 'Pending'}`
    );
  throw new AppError(
    'Timeout',
    `No pod runs in ${targetText(target)} in place of ${at.namespace}/${at.name}: ${why}. It may go elsewhere now; ` +
      'see "isthmus explain".',
  );
}

/** Policies left behind by interrupted moves. */
export async function interruptedMoves(
  client: ClusterClient, signal: AbortSignal,
): Promise<readonly PlacementPolicy[]> {
  return (
    await client.list(PLACEMENT_POLICIES, { labelSelector: `${MOVE_LABEL}=${TRUE}` }, signal).catch(unless(isNotFound))
  ) ?? [];
}
