// `isthmus unpeer`: ends the peering with a target, from the source.
import { Command } from 'commander';
import { openCluster, userAgent } from '../../kubernetes/client/open-cluster.ts';
import {
  parseTarget, withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { gatewayOption } from '../clusters/run-flags.ts';
import { unpeerTarget, routeToTarget } from './unpeer-target.ts';

interface UnpeerFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly targetKubeconfig?: string;
  readonly targetContext?: string;
  readonly gateway?: readonly URL[];
  readonly force?: boolean;
  readonly evictUnmanaged?: boolean;
}

/** The command for commander. */
export function unpeerCommand(): Command {
  const command = new Command('unpeer')
    .description(
      'Leave a target: drain it, and remove what peering created on both sides. Run it in the source; can be repeated.',
    )
    .argument('<target>', 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target');
  return withInstallNamespace(withClusterFlags(command))
    .option(
      '--target-kubeconfig <file>',
      "administrator's kubeconfig of the target, if the source's own identity is not sufficient",
    )
    .option('--target-context <name>', 'context within it')
    .addOption(gatewayOption())
    .option('--evict-unmanaged', 'also evict pods that no controller would recreate')
    .option('--force', 'neither drain nor wait for the target; what remains there is recorded in a ConfigMap')
    .action(unpeer);
}

async function unpeer(argument: string, flags: UnpeerFlags): Promise<void> {
  const target = parseTarget(argument);
  const {
    targetKubeconfig, targetContext, installNamespace, gateway, force: isForced = false, evictUnmanaged = false,
  } = flags;
  await withCluster(flags, 'unpeer', async ({ client }, signal) => {
    const route = isForced && gateway === undefined ? undefined : await routeToTarget(client, target, gateway, signal);
    const administrator = targetKubeconfig === undefined ? undefined : await openCluster(
      { kubeconfigPath: targetKubeconfig, context: targetContext, gateway: route, userAgent: userAgent('unpeer') },
    );
    try {
      await unpeerTarget(
        {
          client, target, installNamespace, targetAdministrator: administrator?.client, route, isForced, evictUnmanaged,
        },
        { tell: (line) => console.log(line), signal },
      );
    } finally {
      await administrator?.client.transport.close();
    }
  });
}
