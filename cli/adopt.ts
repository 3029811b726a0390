// `isthmus adopt`: takes over the pods that run in a target since Admiralty 0.17 sent them there. They run on; nothing is made or deleted.
import { Command } from 'commander';
import { PROXY_SCHEDULER } from '../api/keys.ts';
import { POD_CHAPERONS, PODS } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { executePlan } from '../kubernetes/execute-plan.ts';
import { openCluster, userAgent } from '../kubernetes/open-cluster.ts';
import { readClusterId } from '../kubernetes/target-session.ts';
import { virtualNodeName } from '../model/names.ts';
import { targetKey, type TargetRef } from '../model/target-ref.ts';
import { planAdoption, type AdoptionPlan } from './adoption-plan.ts';
import type { Progress } from './apply-objects.ts';
import { parseTarget, withCluster, withClusterFlags, type ClusterFlags } from './cluster-flags.ts';

interface AdoptFlags extends ClusterFlags {
  readonly targetKubeconfig: string;
  readonly targetContext?: string;
  readonly dryRun?: true;
}

/** The command for commander. */
export function adoptCommand(): Command {
  const command = new Command('adopt').description('Take over the pods that Admiralty 0.17 runs in a target, once Isthmus is installed in both clusters and Admiralty is gone. They run on. Run it in the source; can be repeated.');
  return withClusterFlags(command)
    .argument('<target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target')
    .requiredOption('--target-kubeconfig <file>', "administrator's kubeconfig of the target")
    .option('--target-context <name>', 'context within it')
    .option('--dry-run', 'say what would be taken over and change nothing')
    .action((target: string, flags: AdoptFlags) => adopt(parseTarget(target), flags));
}

async function adopt(target: TargetRef, flags: AdoptFlags): Promise<void> {
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    const { client: inTarget } = await openCluster({ kubeconfigPath: flags.targetKubeconfig, context: flags.targetContext, userAgent: userAgent('cli') });
    try {
      const progress = { tell: (line: string) => console.log(line), signal };
      await adoptPods({ source: client, inTarget, target, isDryRun: flags.dryRun === true }, progress);
    } finally {
      await inTarget.transport.close();
    }
  });
}

/** Both clusters, with administrators' rights, and the target as the source names it. */
export interface AdoptRequest {
  readonly source: ClusterClient;
  readonly inTarget: ClusterClient;
  readonly target: TargetRef;
  readonly isDryRun?: boolean;
}

/** Takes over what can be, and tells of each pod. Throws what API calls throw; what was taken over until then stays so. */
export async function adoptPods({ source, inTarget, target, isDryRun = false }: AdoptRequest, { tell, signal }: Progress): Promise<AdoptionPlan> {
  const namespace = target.kind === 'Target' ? target.namespace : undefined;
  const [proxies, chaperons, delegates, sourceId] = await Promise.all([
    source.list(PODS, { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, signal),
    inTarget.list(POD_CHAPERONS, { namespace }, signal),
    inTarget.list(PODS, { namespace }, signal),
    readClusterId(source, signal),
  ]);
  const plan = planAdoption({ proxies, chaperons, delegates, target: { key: targetKey(target), nodeName: virtualNodeName(target) }, sourceId });
  for (const { pod, inTarget: there, inSource } of plan.adoptions) {
    if (!isDryRun) {
      await executePlan(inTarget, there, signal);
      await executePlan(source, inSource, signal);
    }
    tell(`${isDryRun ? 'would take over' : 'took over'} ${pod}`);
  }
  for (const { pod, why } of plan.left) tell(`left ${pod}: ${why}`);
  if (plan.adoptions.length + plan.left.length === 0) tell(`nothing of Admiralty's is in ${targetKey(target)}`);
  return plan;
}
