// Finding 10: what a target says of itself, and which policies believe it.
import { eventually } from '../../support/history/eventually.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path, type Thing } from './clusters.ts';
import { statusOf } from './lies.ts';
import { elected, harmless, makePod } from './pods.ts';

/** No target of a sandbox with two is there. */
const REGION = { 'topology.kubernetes.io/region': 'eu-north' };
/** All nodes of a target say that they are in a region that a policy of the cluster requires. */
async function forgeRegion(attacked: Attacked): Promise<Outcome> {
  const [, target] = attacked.targets;
  const namespace = 'sovereign';
  await attacked.namespace(namespace);
  const spec = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    require: { matchLabels: REGION },
  };
  const policies = '/apis/isthmus.dev/v1alpha1/clusterplacementpolicies';
  await attacked.source.admin.json({
    method: 'POST',
    path: policies,
    body: { apiVersion: 'isthmus.dev/v1alpha1', kind: 'ClusterPlacementPolicy', metadata: { name: namespace }, spec },
  });
  const { items } = await target.admin.json<{ readonly items: readonly Thing[] }>({
    method: 'GET',
    path: '/api/v1/nodes',
  });
  for (const { metadata } of items)
    await target.admin.json({
      method: 'PATCH',
      path: `/api/v1/nodes/${metadata.name}`,
      body: { metadata: { labels: REGION } },
    });
  await eventually('the virtual node says so', async () => {
    const nodes = await attacked.source.admin.json<{ readonly items: readonly Thing[] }>({
      method: 'GET',
      path: '/api/v1/nodes?labelSelector=topology.kubernetes.io/region=eu-north',
    });
    return nodes.items.length > 0;
  });
  const { metadata } = await makePod(attacked.source.admin, namespace, elected({ name: 'at-home' }, harmless()));
  const decided = await eventually('a decision', async () => {
    const status = statusOf(
      await attacked.source.admin.json<Thing>({
        method: 'GET',
        path: path('api/v1', 'pods', namespace, metadata.name),
      }),
    );
    const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
    return scheduled?.status === 'True' || scheduled?.message !== undefined ? scheduled : undefined;
  });
  return decided.status === 'True'
    ? through('a pod that may run in that region alone runs there')
    : stopped(`the pod waits: ${decided.message?.slice(0, 150)}`);
}

/** These attacks. */
export const FORGED_REGION_ATTACKS: readonly Attack[] = [
  {
    finding: 10,
    what: 'a target labels its nodes with the region that a ClusterPlacementPolicy requires',
    make: forgeRegion,
  },
];
