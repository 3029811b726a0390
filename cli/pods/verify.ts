// `isthmus verify`: runs a real elected pod in each target and measures every step. Failures show the pod's own reason.
import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import type { Pod } from '../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL,
  NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PROXY_CONSTRAINTS_ANNOTATION,
  PROXY_SCHEDULER, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL,
} from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, NAMESPACES, PODS, TARGETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { requireTarget } from '../clusters/known-target.ts';
import { wholeNumber } from '../clusters/run-flags.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { PAUSE_IMAGE, trialPodSpec } from '../clusters/trial-pod.ts';
import {
  namespaceIn, parseTarget, targetText, withCluster, withClusterFlags, withNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { textTable } from '../output/text-table.ts';
import { withProgressNotice } from '../output/progress-notice.ts';

interface VerifyFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly image: string;
  readonly timeoutSeconds: number;
  readonly output?: 'json';
}

/** Result of one pod; times in ms since it was created. */
export interface Verified {
  readonly target: string;
  /** Admitted as a proxy pod, bound to its target, Running in the source, gone after deletion. */
  readonly steps: {
    readonly admitted?: number; readonly placed?: number; readonly running?: number; readonly gone?: number
  };
  /** Why it got no further. */
  readonly problem?: string | undefined;
}

const POLL_INTERVAL_MS = 20;
const NAME_PREFIX = 'isthmus-verify-';

/** The command for commander. */
export function verifyCommand(): Command {
  const command = new Command('verify').description(
    'Run a small elected pod in each target, or in the named ones, and time every step. Run it in the source.',
  ).argument('[targets...]', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target');
  return withNamespace(withClusterFlags(command), 'for the pods, which must have opted in and exist in the targets')
    .option('--image <image>', 'image of the pods', PAUSE_IMAGE)
    .option('--timeout-seconds <number>', 'timeout for each pod', wholeNumber('--timeout-seconds', 1, 3_600), 60)
    .addOption(new Option('-o, --output <format>', 'json: for programs').choices(['json']))
    .action(verify);
}

async function verify(names: readonly string[], flags: VerifyFlags): Promise<void> {
  const results = await withCluster(flags, 'verify', async (cluster, signal) => {
    const [{ client }, namespace] = [cluster, namespaceIn(cluster, flags.namespace)];
    await requireOptedIn(client, namespace, signal);
    const named = names.map(parseTarget);
    await Promise.all(named.map((target) => requireTarget(client, target, signal)));
    const targets = named.length > 0 ? named : await allTargets(client, namespace, signal);
    if (targets.length === 0) {
      throw new AppError('NotFound', 'There is no target: run "isthmus peer", or "isthmus join", first.');
    }
    const running = targets.map((target) => withProgressNotice(
      `waiting for a pod in target ${targetText(target)}`,
      verifyTarget(client, target, { ...flags, namespace }, signal),
    ));
    await Promise.allSettled(running); // the others still delete their pods
    return Promise.all(running);
  });
  console.log(flags.output === 'json' ? JSON.stringify(results, undefined, 2) : verifiedText(results));
  const failed = results.filter(({ problem }) => problem !== undefined);
  if (failed.length > 0) throw new AppError(
    'Timeout',
    `No pod ran its whole way in ${failed.map(({ target }) => target).join(', ')}. "isthmus doctor" looks for the ` +
      'cause.',
  );
}

async function requireOptedIn(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<void> {
  const { labels = {} } = (await client.get(NAMESPACES, { name: namespace }, signal)).metadata;
  if (
    labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE || labels[NAMESPACE_ELECT_LABEL] === NAMESPACE_ELECT_VALUE
  ) return;
  throw new AppError(
    'BadInput',
    `Namespace ${namespace} has not opted in: run "kubectl label namespace ${namespace} ` +
      `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}", or name another with --namespace.`,
  );
}

async function allTargets(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<readonly TargetRef[]> {
  const [clusterTargets, targets] =
    await Promise.all([client.list(CLUSTER_TARGETS, {}, signal), client.list(TARGETS, { namespace }, signal)]);
  return [
    ...clusterTargets.map(({ metadata: { name = '' } }): TargetRef => ({ kind: 'ClusterTarget', name })),
    ...targets.map(({ metadata: { name = '' } }): TargetRef => ({ kind: 'Target', namespace, name })),
  ];
}

/** The pod, required to go to this target. */
export function verifyingPod(target: TargetRef, { namespace, image, name }: {
  readonly namespace: string; readonly image: string; readonly name: string
}): Pod {
  const nodeSelector = target.kind === 'ClusterTarget'
    ? { [CLUSTER_TARGET_NAME_LABEL]: target.name }
    : { [TARGET_NAMESPACE_LABEL]: target.namespace, [TARGET_NAME_LABEL]: target.name };
  const annotations = { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ nodeSelector }) };
  return {
    metadata: { namespace, name, annotations },
    spec: { ...trialPodSpec(image), terminationGracePeriodSeconds: 0 },
  };
}

async function verifyTarget(
  client: ClusterClient, target: TargetRef,
  { namespace, image, timeoutSeconds }: VerifyFlags & { readonly namespace: string }, signal: AbortSignal,
): Promise<Verified> {
  const at = { namespace, name: `${NAME_PREFIX}${randomUUID().slice(0, 8)}` };
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  const steps: { admitted?: number; placed?: number; running?: number; gone?: number } = {};
  const polling = { forMs: timeoutSeconds * 1_000, everyMs: POLL_INTERVAL_MS };
  const run = async (): Promise<string | undefined> => {
    let last = await client.create<Pod>(PODS, verifyingPod(target, { ...at, image }), signal);
    if (last.spec.schedulerName !== PROXY_SCHEDULER) return 'the webhook was not asked; see "isthmus doctor"';
    steps.admitted = elapsed();
    const runs = async (): Promise<true | undefined> => {
      last = await client.get(PODS, at, signal);
      if (last.spec.nodeName !== undefined) steps.placed ??= elapsed();
      return last.status?.phase === 'Running' ? true : undefined;
    };
    if (!(await pollUntil(runs, polling, signal))) return whyNot(last);
    steps.running = elapsed();
    return undefined;
  };
  const end = async (): Promise<string | undefined> => {
    const isGone = async () =>
      ((await client.get(PODS, at, signal).catch(unless(isNotFound))) === undefined ? true : undefined);
    if (!(await pollUntil(isGone, polling, signal))) return 'the pod was deleted and has not gone';
    steps.gone = elapsed();
    return undefined;
  };
  const failure = await run().catch(messageOf);
  const left = await client.delete(PODS, at, {}).catch(unless(isNotFound)) // also on interruption
    .then(() => undefined, (error: unknown) => `delete pod ${namespace}/${at.name}: ${messageOf(error)}`);
  signal.throwIfAborted();
  const problem = left ?? failure ?? (await end().catch(messageOf));
  signal.throwIfAborted();
  return { target: targetText(target), steps, problem };
}

function whyNot({ status }: Pod): string {
  const scheduled = findCondition(status?.conditions, 'PodScheduled');
  return scheduled?.status === 'False'
    ? `${scheduled.reason}: ${scheduled.message}`
    : `it is ${status?.phase ?? 'Pending'}`;
}

/** A row for each target. */
export function verifiedText(results: readonly Verified[]): string {
  const ms = (value: number | undefined) => (value === undefined ? undefined : `${value} ms`);
  const rows = results.map(({ target, steps: { admitted, placed, running, gone }, problem }) => [
    target, ms(admitted), ms(placed), ms(running), ms(gone), problem ?? 'ok',
  ]);
  return textTable(['TARGET', 'ADMITTED', 'PLACED', 'RUNNING', 'GONE', 'RESULT'], rows);
}
