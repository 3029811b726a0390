// `isthmus uninstall`: uninstalls Isthmus from a cluster, after checking whether it is in use.
import { Command } from 'commander';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { uninstallFrom } from './uninstall-cluster.ts';

interface UninstallFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly purge?: boolean;
  readonly force?: boolean;
}

/** The command for commander. */
export function uninstallCommand(): Command {
  const command = new Command('uninstall').description(
    'Uninstall Isthmus from a cluster: webhooks, RBAC, accounts. Keeps CRDs and their objects unless --purge is ' +
      'given. Can be repeated.',
  );
  return withInstallNamespace(withClusterFlags(command))
    .option('--purge', 'also delete the CRDs with all their objects, and the install namespace')
    .option('--force', 'uninstall even while Isthmus is in use: elected pods are released, pods of sources are ' +
      'left alone')
    .action(uninstall);
}

async function uninstall({ installNamespace, purge, force, ...flags }: UninstallFlags): Promise<void> {
  await withCluster(flags, 'uninstall', async ({ client }, signal) => {
    await uninstallFrom({ client, installNamespace, purges: purge === true, isForced: force === true }, {
      tell: (line) => console.log(line), signal,
    });
  });
  console.log(
    purge === true
      ? 'Isthmus is gone from this cluster.'
      : 'Isthmus is uninstalled. Its kinds and their objects are kept: "isthmus uninstall --purge" removes them as ' +
        'well.',
  );
}
