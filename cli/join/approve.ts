// `isthmus approve`: admits a cluster that waits with an invitation. Run in the target.
import { Command } from 'commander';
import { INVITATIONS, JOIN_REQUESTS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { AppError } from '../../process/errors.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';

interface ApproveFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly cluster?: string;
}

/** The command for commander. */
export function approveCommand(): Command {
  const command = new Command('approve')
    .description('Approve the cluster that waits to redeem an invitation. Run it in the target.')
    .argument('<invitation>', 'name of the invitation');
  return withInstallNamespace(withClusterFlags(command))
    .option('--cluster <uid>', 'the cluster to approve, if several wait')
    .action(runApprove);
}

async function runApprove(invitation: string, flags: ApproveFlags): Promise<void> {
  const cluster = await withCluster(flags, 'approve', ({ client }, signal) => approveSource(
    client, { namespace: flags.installNamespace, invitation, cluster: flags.cluster }, signal,
  ));
  console.log(`Cluster ${cluster} may use invitation ${invitation}.`);
}

/** Which cluster to admit with which invitation. */
export interface Approval {
  /** Install namespace of the target. */
  readonly namespace: string;
  readonly invitation: string;
  /** The only waiting one when missing. */
  readonly cluster?: string | undefined;
}

/**
 * Approves and returns the cluster. Throws AppError `NotFound` when none waits, `BadInput` when several do and none is
 * named.
 */
export async function approveSource(
  client: ClusterClient, { namespace, invitation, cluster }: Approval, signal: AbortSignal,
): Promise<string> {
  const requests = await client.list(JOIN_REQUESTS, { namespace }, signal);
  const pending = requests.filter(({ spec, status }) => spec.invitation === invitation && status?.phase === 'Pending');
  const waiting = [...new Set(pending.map(({ spec }) => spec.clusterID))];
  const [first, ...others] = waiting.filter((id) => cluster === undefined || id === cluster);
  if (first === undefined) throw new AppError(
    'NotFound',
    waiting.length === 0
      ? `No cluster waits with invitation ${invitation}: first run "isthmus join TOKEN" in the source.`
      : `Cluster ${cluster} does not wait with invitation ${invitation}. Those that do: ${waiting.join(', ')}.`,
  );
  if (others.length > 0) throw new AppError(
    'BadInput', `Several clusters wait: ${[first, ...others].join(', ')}. Name the right one with --cluster.`,
  );
  await client.patch(
    INVITATIONS, { namespace, name: invitation }, { patchType: 'merge', patch: { spec: { approvedClusterID: first } } },
    signal,
  );
  return first;
}
