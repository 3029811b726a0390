// `isthmus unpeer`: leaves a target, from the source.
import { Command } from 'commander';
import { openCluster, userAgent } from '../kubernetes/open-cluster.ts';
import { parseTarget, withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from './cluster-flags.ts';
import { leaveTarget } from './unpeer-target.ts';

interface UnpeerFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly targetKubeconfig?: string;
  readonly targetContext?: string;
  readonly force?: boolean;
  readonly evictUnmanaged?: boolean;
}

/** The command for commander. */
export function unpeerCommand(): Command {
  const command = new Command('unpeer')
    .description('Leave a target: drain it, and remove what peering made on both sides. Run it in the source; can be repeated.')
    .argument('<target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target');
  return withInstallNamespace(withClusterFlags(command))
    .option('--target-kubeconfig <file>', "administrator's kubeconfig of the target, where the source's own identity does not do")
    .option('--target-context <name>', 'context within it')
    .option('--evict-unmanaged', 'evict pods, too, that no controller will make again')
    .option('--force', 'do not drain and do not wait for the target: what remains there is written down in a ConfigMap')
    .action(unpeer);
}

async function unpeer(argument: string, flags: UnpeerFlags): Promise<void> {
  const target = parseTarget(argument);
  const { targetKubeconfig, targetContext, installNamespace } = flags;
  const administrator = targetKubeconfig === undefined ? undefined : await openCluster({ kubeconfigPath: targetKubeconfig, context: targetContext, userAgent: userAgent('unpeer') });
  try {
    await withCluster(flags, 'unpeer', ({ client }, signal) =>
      leaveTarget(
        { client, target, installNamespace, targetAdministrator: administrator?.client, isForced: flags.force === true, evictUnmanaged: flags.evictUnmanaged === true },
        { tell: (line) => console.log(line), signal },
      ));
  } finally {
    await administrator?.client.transport.close();
  }
}
