// A target with nothing of ours in it: only an identity that may run pods there. The source then delegates to it in Pod mode.
import { ADMIRALTY_GROUP } from '../../api/resource-types.ts';
import { delegateByPods } from '../../sandbox/delegate-by-pods.ts';
import type { IsthmusWorld, WorldCluster } from './isthmus-world.ts';
import { WatchedCollection } from './watched-collection.ts';

const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition', namespaced: false };
const OURS = ['podchaperons', 'clustersummaries', 'clustersources', 'sources'];

/** Takes Isthmus out of a peered target and has it delegated to in Pod mode; resolves once it is Ready again. */
export async function makeBare({ isthmus, source, signal }: IsthmusWorld, { cluster: { name }, client }: WorldCluster): Promise<void> {
  await isthmus.processes.get(name)!.stop();
  const crds = await new WatchedCollection(client, CRDS).start(signal);
  for (const plural of OURS) await client.delete(CRDS, { name: `${plural}.${ADMIRALTY_GROUP}` });
  await crds.until('our kinds are gone', (all) => all.every(({ metadata }) => !OURS.some((plural) => metadata.name === `${plural}.${ADMIRALTY_GROUP}`)), 60_000);
  await delegateByPods({ source: source.client, target: client, name }, signal);
}
