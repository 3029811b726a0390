// A target with nothing of ours in it: only an identity that may run pods there. The source then delegates to it in Pod mode.
import type { KubernetesObject } from '../../api/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/keys.ts';
import { ADMIRALTY_GROUP, CLUSTER_TARGETS } from '../../api/resource-types.ts';
import { readClusterId } from '../../kubernetes/target-session.ts';
import { sourceAccount } from '../../peering/target-access.ts';
import { clusterRoleBinding } from '../../model/rbac-objects.ts';
import { SOURCE_POD_MODE_ROLE } from '../../model/component-accounts.ts';
import type { IsthmusWorld, WorldCluster } from './isthmus-world.ts';
import { WatchedCollection } from './watched-collection.ts';

const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition', namespaced: false };
const OURS = ['podchaperons', 'clustersummaries', 'clustersources', 'sources'];

/** Takes Isthmus out of a peered target and has it delegated to in Pod mode; resolves once it is Ready again. */
export async function makeBare(world: IsthmusWorld, target: WorldCluster): Promise<void> {
  const { name } = target.cluster;
  await world.isthmus.processes.get(name)!.stop();
  const crds = await new WatchedCollection(target.client, CRDS).start(world.signal);
  for (const plural of OURS) await target.client.delete(CRDS, { name: `${plural}.${ADMIRALTY_GROUP}` });
  await crds.until('our kinds are gone', (all) => all.every(({ metadata }) => !OURS.some((plural) => metadata.name === `${plural}.${ADMIRALTY_GROUP}`)), 60_000);
  await delegateByPods(world, target);
}

/** Has a peered target delegated to in Pod mode, whatever is in it. */
export async function delegateByPods({ source, signal }: Pick<IsthmusWorld, 'source' | 'signal'>, { cluster: { name }, client }: Pick<WorldCluster, 'cluster' | 'client'>): Promise<void> {
  const sourceId = await readClusterId(source.client, signal);
  const account = sourceAccount({ name, sourceId, installNamespace: DEFAULT_INSTALL_NAMESPACE });
  const binding = clusterRoleBinding(`pod-mode-${name}`, SOURCE_POD_MODE_ROLE, [account]);
  await client.apply({ group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', namespaced: false }, binding, 'isthmus-test');
  await source.client.patch(CLUSTER_TARGETS, { name }, { patchType: 'merge', patch: { spec: { delegation: 'Pod' } } });
  const targets = await new WatchedCollection(source.client, CLUSTER_TARGETS).start(signal);
  await targets.until(`${name} is Ready in Pod mode`, (all) => all.some((it) => it.metadata.name === name && isReadyByPods(it)), 60_000);
}

function isReadyByPods({ status }: KubernetesObject & { readonly status?: { readonly delegation?: string; readonly conditions?: readonly { readonly type: string; readonly status: string }[] } }): boolean {
  return status?.delegation === 'Pod' && status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}
