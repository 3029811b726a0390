// `isthmus status`: one cluster at a glance. Ends with 1 when something does not work now, so that scripts can ask.
import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { exitWith } from '../process/lifecycle.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from './cluster-flags.ts';
import { clusterStatus, statusText, type ClusterStatus } from './cluster-status.ts';
import { gatherFacts } from './doctor-gather.ts';
import { toldWhenSlow } from './told-when-slow.ts';

interface StatusFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly output?: 'wide' | 'json' | 'yaml' | 'name';
}

/** The command for commander. */
export function statusCommand(): Command {
  const command = new Command('status').description('Show this cluster at a glance: components, targets, sources, elected pods, and whether something is wrong.');
  return withInstallNamespace(withClusterFlags(command))
    .addOption(new Option('-o, --output <format>', 'wide: with what each target and source says; json, yaml: for programs; name: targets and sources that are not Ready').choices(['wide', 'json', 'yaml', 'name']))
    .action(async ({ output, ...flags }: StatusFlags) => {
      const status = clusterStatus(await withCluster(flags, 'status', (cluster, signal) => toldWhenSlow('looking at this cluster and its targets', gatherFacts(cluster, flags.installNamespace, signal))));
      console.log(printedStatus(status, output));
      if (status.problems.errors > 0) exitWith(1);
    });
}

/** The status in a format; for people when none is given. */
export function printedStatus(status: ClusterStatus, output: StatusFlags['output']): string {
  if (output === 'json') return JSON.stringify(status, undefined, 2);
  if (output === 'yaml') return stringify(status, { lineWidth: 0 }).trimEnd();
  const isDown = ({ ready }: { readonly ready: boolean }) => !ready;
  if (output === 'name') return [...status.targets.filter(isDown).map(({ name }) => `target/${name}`), ...status.sources.filter(isDown).map(({ name }) => `source/${name}`)].join('\n');
  return statusText(status, output === 'wide');
}
