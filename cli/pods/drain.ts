// `isthmus cordon`, `uncordon` and `drain` of a target.
import { Command } from 'commander';
import {
  parseSeconds, parseTarget, withCluster, withClusterFlags, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { cordonTarget, drainTarget } from './drain-target.ts';

interface DrainFlags extends ClusterFlags {
  readonly evictUnmanaged?: boolean;
  readonly timeoutSeconds: number;
}

const TARGET = 'NAME of a ClusterTarget, NAMESPACE/NAME of a Target';

/** The command `cordon` for commander. */
export function cordonCommand(): Command {
  return withClusterFlags(
    new Command('cordon').description('Mark a target as unschedulable; running pods are not affected.')
      .argument('<target>', TARGET),
  )
    .action((target: string, flags: ClusterFlags) => setCordoned(target, flags, true));
}

/** The command `uncordon` for commander. */
export function uncordonCommand(): Command {
  return withClusterFlags(
    new Command('uncordon').description('Mark a target as schedulable again.').argument('<target>', TARGET),
  )
    .action((target: string, flags: ClusterFlags) => setCordoned(target, flags, false));
}

/** The command `drain` for commander. */
export function drainCommand(): Command {
  return withClusterFlags(
    new Command('drain').description('Cordon a target and evict its pods; their controllers recreate them elsewhere.')
      .argument('<target>', TARGET),
  )
    .option('--evict-unmanaged', 'also evict pods that no controller would recreate')
    .option('--timeout-seconds <number>', 'how long to wait until the last pod is gone', parseSeconds, 300)
    .action(drain);
}

async function setCordoned(argument: string, flags: ClusterFlags, isCordoned: boolean): Promise<void> {
  const target = parseTarget(argument);
  await withCluster(flags, 'cli', ({ client }, signal) => cordonTarget(client, target, isCordoned, signal));
  console.log(`target ${argument} ${isCordoned ? 'cordoned' : 'uncordoned'}`);
}

async function drain(argument: string, flags: DrainFlags): Promise<void> {
  const target = parseTarget(argument);
  const options = { evictUnmanaged: flags.evictUnmanaged === true, forMs: flags.timeoutSeconds * 1_000 };
  await withCluster(flags, 'cli', ({ client }, signal) => drainTarget(
    client, target, options, { tell: (line) => console.log(line), signal },
  ));
}
