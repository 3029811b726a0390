// A target with nothing of ours in it: only an identity that may run pods there. The source then delegates to it in Pod
// mode.
import assert from 'node:assert/strict';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { ADMIRALTY_GROUP } from '../../../api/objects/group-version.ts';
import { CLUSTER_ROLES, CLUSTER_TARGETS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { peerClusters } from '../../../cli/join/peer-clusters.ts';
import { untilTargetReady } from '../../../cli/clusters/target-readiness.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { IsthmusWorld, WorldCluster } from './isthmus-world.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

const CRDS = {
  group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition',
  namespaced: false,
};
const OURS = ['podchaperons', 'clustersummaries', 'clustersources', 'sources'];

const ROLES = ['isthmus-source', 'isthmus-source-pod-mode', 'isthmus-cluster-summary-viewer'];
const POLLING = { firstStatus: { forMs: 60_000, everyMs: 100 }, ready: { forMs: 60_000, everyMs: 100 } };

/**
 * Takes Isthmus out of a peered target and peers it anew as one with nothing of ours; resolves once it is Ready in Pod
 * mode.
 */
export async function makeBare(
  { isthmus, source, signal }: IsthmusWorld, { cluster, client }: WorldCluster,
): Promise<void> {
  const { name } = cluster;
  await isthmus.processes.get(name)!.stop();
  const crds = await new WatchedCollection(client, CRDS).start(signal);
  for (const plural of OURS) await client.delete(CRDS, { name: `${plural}.${ADMIRALTY_GROUP}` });
  await crds.until(
    'our kinds are gone',
    (all) => all.every(({ metadata }) => !OURS.some((plural) => metadata.name === `${plural}.${ADMIRALTY_GROUP}`)),
    60_000,
  );
  // what it may do now is what peering gives it below
  for (const role of ROLES) await client.delete(CLUSTER_ROLES, { name: role });
  const [from, to] = await Promise.all([source.cluster, cluster].map(
    async (one) =>
      ({ ...(await openCluster({ kubeconfigPath: one.kubeconfigPath, userAgent: 'isthmus-test' })), label: one.name }),
  ));
  const request =
    { name, namespace: undefined, installNamespace: DEFAULT_INSTALL_NAMESPACE, delegation: 'Pod' } as const;
  const peering = await peerClusters({ ...request, source: from!, target: to! }, { tell: () => undefined, signal });
  const inPodMode = async () =>
    ((await source.client.get(CLUSTER_TARGETS, { name })).status?.delegation === 'Pod' ? true : undefined);
  assert.ok(await pollUntil(inPodMode, POLLING.ready, signal), `${name} is not delegated to in Pod mode`);
  assert.equal((await untilTargetReady(source.client, peering, signal, POLLING)).kind, 'ready');
  await Promise.all([from!, to!].map((one) => one.client.transport.close()));
}
