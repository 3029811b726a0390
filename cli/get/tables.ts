// The tables of targets, nodes and sources, with what is read for them in addition to the objects.
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Node, Pod } from '../../api/objects/core.ts';
import { NODES, PODS } from '../../api/resource-types.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import { isForbidden, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { nodeTable, type Table } from './pod-table.ts';
import type { Kind } from './kinds.ts';
import { sourceTable } from './source-table.ts';
import { targetTable } from './target-table.ts';

/** How a table is made. */
export interface TableOptions {
  readonly wide: boolean;
  readonly signal: AbortSignal;
}

/** The table of these objects. What the user may not read of nodes and pods is shown as unknown. */
export async function tableOf(
  client: ClusterClient, kind: Kind, found: readonly KubernetesObject[], { wide, signal }: TableOptions,
): Promise<Table> {
  const options = { now: Date.now(), wide };
  if (kind === 'sources') return sourceTable(found as readonly (Source | ClusterSource)[], options);
  const pods = client.list(PODS, PROXY_PODS, signal).catch(unless(isForbidden));
  if (kind === 'nodes') return nodeTable(found, await pods, options);
  const nodes = client.list(NODES, VIRTUAL_NODES, signal).catch(unless(isForbidden));
  const [onNodes, virtual]: [readonly Pod[] | undefined, readonly Node[] | undefined] =
    await Promise.all([pods, nodes]);
  return targetTable(found as readonly (ClusterTarget | Target)[], { pods: onNodes, nodes: virtual }, options);
}
