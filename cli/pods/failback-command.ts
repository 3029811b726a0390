// `isthmus failback`: returns pods to a target that was lost when they were placed, as a policy's `failback:
// WhenStable` does automatically.
import { Command } from 'commander';
import type { Node } from '../../api/objects/core.ts';
import { NODES, PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { toProxyPodRecord } from '../../model/proxy/proxy-pod.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { targetKey } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { mayFailBack } from '../../scheduler/failback/failback.ts';
import { rulesFor } from '../../scheduler/snapshot/placement-rules.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { parseSeconds, parseTarget, withClusterFlags, withInstallNamespace } from '../clusters/cluster-flags.ts';
import { evictWithin } from './drain-target.ts';
import { refusalOfNode } from './move-plan.ts';
import { requireTarget } from '../clusters/known-target.ts';
import { withLiveState, type LiveStateFlags } from '../placement/live-state.ts';

interface FailbackFlags extends LiveStateFlags {
  readonly timeoutSeconds: number;
}

/** The command for commander. */
export function failbackCommand(): Command {
  const command = new Command('failback')
    .description(
      'Evict the pods that run elsewhere because a target was lost, as disruption budgets allow; the scheduler ' +
        'then places their replacements. Pods of policies with failback: Never are left alone.',
    )
    .argument('<target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target');
  return withInstallNamespace(withClusterFlags(command, 'the source cluster'))
    .option('--timeout-seconds <number>', 'how long to try to evict a pod', parseSeconds, 300)
    .action((target: string, flags: FailbackFlags) => failBack(target, flags, untilStopped()));
}

async function failBack(argument: string, flags: FailbackFlags, signal: AbortSignal): Promise<void> {
  const ref = parseTarget(argument);
  const target = { key: targetKey(ref), nodeName: virtualNodeName(ref) };
  await withLiveState(flags, async ({ cluster: { client }, context }) => {
    await requireTarget(client, ref, signal);
    const node: Node | undefined = await client.get(NODES, { name: target.nodeName }, signal)
      .catch(unless(isNotFound));
    const refusal = refusalOfNode(ref, node);
    if (refusal !== undefined) throw new AppError('BadInput', `${refusal} No pod was evicted.`);
    const pods = await client.list(PODS, PROXY_PODS, signal);
    const away = pods.filter((pod) => {
      const proxy = toProxyPodRecord(pod);
      return proxy !== undefined && mayFailBack(proxy, target)
        && rulesFor(proxy, context.policies).failback?.value !== 'Never';
    });
    if (away.length === 0) console.log(`no pod that may come back is away from ${argument}`);
    // each is tried: one that its budget does not let go must not hold up the others
    const progress: Progress = { tell: (line) => console.log(line), signal };
    const ends = await Promise.allSettled(
      away.map((pod) => evictWithin(client, pod, flags.timeoutSeconds * 1_000, progress)),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }, signal);
}
