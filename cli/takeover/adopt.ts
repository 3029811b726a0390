// `isthmus adopt`: takes over the running pods that Admiralty 0.17 sent to a target. No pod is created or deleted.
import { Command } from 'commander';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { openCluster, userAgent } from '../../kubernetes/client/open-cluster.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { targetKey, type TargetRef } from '../../model/naming/target-ref.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { planAdoption, type Adoption, type AdoptionPlan } from './adoption-plan.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { parseTarget, withCluster, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { requireTarget } from '../clusters/known-target.ts';

interface AdoptFlags extends ClusterFlags {
  readonly targetKubeconfig: string;
  readonly targetContext?: string;
  readonly dryRun?: true;
}

/** The command for commander. */
export function adoptCommand(): Command {
  const command = new Command('adopt').description(
    'Take over the pods that Admiralty 0.17 runs in a target, once Isthmus is installed in both clusters and ' +
      'Admiralty is gone. They keep running. Run it in the source; can be repeated.',
  );
  return withClusterFlags(command)
    .argument('<target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target')
    .requiredOption('--target-kubeconfig <file>', "administrator's kubeconfig of the target")
    .option('--target-context <name>', 'context within it')
    .option('--dry-run', 'print what would be taken over and change nothing')
    .action((target: string, flags: AdoptFlags) => adopt(parseTarget(target), flags));
}

async function adopt(target: TargetRef, flags: AdoptFlags): Promise<void> {
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    await requireTarget(client, target, signal);
    const { client: inTarget } = await openCluster(
      { kubeconfigPath: flags.targetKubeconfig, context: flags.targetContext, userAgent: userAgent('cli') },
    );
    try {
      const progress = { tell: (line: string) => console.log(line), signal };
      await adoptPods({ source: client, inTarget, target, isDryRun: flags.dryRun === true }, progress);
    } finally {
      await inTarget.transport.close();
    }
  });
}

/** Both clusters, with administrators' permissions, and the target as the source names it. */
export interface AdoptRequest {
  readonly source: ClusterClient;
  readonly inTarget: ClusterClient;
  readonly target: TargetRef;
  readonly isDryRun?: boolean;
}

/** Controllers write to the same objects, and pods go; number of retries. */
const ROUNDS = 5;

/** Takes over what it can, with progress per pod. Throws what API calls throw; completed takeovers stay. */
export async function adoptPods(request: AdoptRequest, { tell, signal }: Progress): Promise<AdoptionPlan> {
  const { isDryRun = false } = request;
  const adopted: Adoption[] = [];
  for (let round = 1; ; round += 1) {
    const plan = await planFor(request, signal);
    let hasChanged = false;
    for (const adoption of plan.adoptions) {
      const isDone = isDryRun || (await takeOver(request, adoption, signal).catch((error: unknown) => {
        if (round === ROUNDS) throw error;
        ignoreStale(error);
        return false;
      }));
      hasChanged ||= !isDone;
      if (!isDone) continue;
      adopted.push(adoption);
      tell(`${isDryRun ? 'would take over' : 'took over'} ${adoption.pod}`);
    }
    if (hasChanged) continue;
    for (const { pod, why } of plan.left) tell(`left ${pod}: ${why}`);
    if (adopted.length + plan.left.length === 0) tell(`nothing of Admiralty's is in ${targetKey(request.target)}`);
    return { adoptions: adopted, left: plan.left };
  }
}

async function takeOver({ source, inTarget }: AdoptRequest, adoption: Adoption, signal: AbortSignal): Promise<true> {
  await executePlan(inTarget, adoption.inTarget, signal);
  await executePlan(source, adoption.inSource, signal);
  return true;
}

async function planFor({ source, inTarget, target }: AdoptRequest, signal: AbortSignal): Promise<AdoptionPlan> {
  const namespace = target.kind === 'Target' ? target.namespace : undefined;
  const [proxies, chaperons, delegates, sourceId] = await Promise.all([
    source.list(PODS, { namespace, ...PROXY_PODS }, signal),
    inTarget.list(POD_CHAPERONS, { namespace }, signal),
    inTarget.list(PODS, { namespace }, signal),
    readClusterId(source, signal),
  ]);
  return planAdoption(
    { proxies, chaperons, delegates, target: { key: targetKey(target), nodeName: virtualNodeName(target) }, sourceId },
  );
}
