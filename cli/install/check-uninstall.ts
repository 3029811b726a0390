// `isthmus check-uninstall`: what an uninstall would orphan. The chart's pre-delete hook runs it.
import { Command } from 'commander';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { DELEGATE_FINALIZER, DRAIN_FINALIZER, HAS_FINALIZER_LABEL } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, POD_CHAPERONS, PODS, TARGETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { AppError } from '../../process/errors.ts';
import { withCluster, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { listIfServed } from '../clusters/served-objects.ts';

/** What is still in use. */
export interface StillInUse {
  /** Proxy pods, whose finalizer only our controllers remove. */
  readonly proxies: readonly KubernetesObject[];
  /** PodChaperons: each has a delegate that runs here for another cluster. */
  readonly chaperons: readonly KubernetesObject[];
  /** Targets and ClusterTargets. */
  readonly targets: readonly KubernetesObject[];
}

/** The command for commander. */
export function checkUninstallCommand(): Command {
  const command = new Command('check-uninstall').description(
    'Show what blocks uninstalling Isthmus from a cluster: elected pods, delegates of other clusters, draining ' +
      'targets. ' +
      'Exits with 1 if there is any.',
  );
  return withClusterFlags(command).action(check);
}

async function check(flags: ClusterFlags): Promise<void> {
  const found = await withCluster(flags, 'cli', ({ client }, signal) => findUses(client, signal));
  const reasons = reasonsToStay(found);
  if (reasons.length > 0) throw new AppError(
    'StillInUse', `Isthmus is still in use here:\n${reasons.map((reason) => `  ${reason}`).join('\n')}`,
  );
  console.log('Nothing keeps Isthmus from being uninstalled.');
}

/** Queries the cluster; throws what the calls throw. */
export async function findUses(client: ClusterClient, signal: AbortSignal): Promise<StillInUse> {
  const [labelled, scheduled] = await Promise.all(
    [{ labelSelector: `${HAS_FINALIZER_LABEL}=true` }, PROXY_PODS].map((selection) =>
      client.list<Pod>(PODS, selection, signal)),
  );
  // users may remove labels, but not change the scheduler
  const proxies = new Map([...labelled ?? [], ...scheduled ?? []].map((pod) => [objectKey(pod.metadata), pod]));
  const [chaperons, targets, clusterTargets] = await Promise.all([
    listIfServed(client, POD_CHAPERONS, signal), listIfServed(client, TARGETS, signal),
    listIfServed(client, CLUSTER_TARGETS, signal),
  ]);
  return { proxies: [...proxies.values()], chaperons, targets: [...targets, ...clusterTargets] };
}

/** What to do first, one line each; empty when nothing blocks. */
export function reasonsToStay({ proxies, chaperons, targets }: StillInUse): readonly string[] {
  const held = proxies.filter(({ metadata }) => metadata.finalizers?.includes(DELEGATE_FINALIZER));
  const draining = targets.filter(({ metadata }) => metadata.finalizers?.includes(DRAIN_FINALIZER));
  return [
    ...(
      held.length > 0 ? [
        `${count(held, 'elected pod')} would stay Terminating when deleted (${examples(held)}): scale them down, or ` +
          'run "isthmus drain" for each target.',
      ] : []
    ),
    ...(
      chaperons.length > 0 ? [
        `${count(chaperons, 'delegate')} of other clusters would have nobody to keep them (${examples(chaperons)}): ` +
          'drain this target in its sources.',
      ] : []
    ),
    ...(
      draining.length > 0 ? [
        `${count(draining, 'target')} would keep a finalizer (${examples(draining)}): delete them, or set ` +
          'removalPolicy to Orphan.',
      ] : []
    ),
  ];
}

function count(objects: readonly unknown[], noun: string): string {
  return `${objects.length} ${noun}${objects.length === 1 ? '' : 's'}`;
}

function examples(objects: readonly KubernetesObject[]): string {
  const names = objects.slice(0, 3).map(({ metadata }) => objectKey(metadata));
  return [...names, ...(objects.length > 3 ? ['…'] : [])].join(', ');
}
