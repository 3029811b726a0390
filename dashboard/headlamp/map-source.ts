// The map's source: lists with Headlamp's hooks, which share them with the sources that Headlamp has, and the details
// of what could not be read.
import type { Elements } from './elements.ts';
import { selectedNamespaces } from './listings.ts';
import { delegateEdges, placementMap, type PlacementBox } from './placement-map.ts';
import type { KnownKind, MapData, MapNode, MapRelation, MapSource, PluginLib } from './plugin-lib.ts';

/** Kinds that own elected pods, by their plurals. */
const WORKLOADS: readonly (readonly [plural: string, kind: KnownKind])[] = [
  ['deployments', 'Deployment'], ['replicasets', 'ReplicaSet'], ['statefulsets', 'StatefulSet'], ['jobs', 'Job'],
  ['cronjobs', 'CronJob'],
];

/** The source "Isthmus". */
export function mapSource(lib: PluginLib, elements: Elements): MapSource {
  const { React, K8s: { ResourceClasses: classes } } = lib;
  return {
    id: 'isthmus', label: 'Isthmus',
    useData: function useIsthmusMap(): MapData {
      const namespace = selectedNamespaces(lib);
      const pods = classes.Pod.useList({ namespace });
      const nodes = classes.Node.useList();
      const lists = WORKLOADS.map(([plural, kind]) => [plural, classes[kind].useList({ namespace })] as const);
      const read = [pods, nodes, ...lists.map(([, listing]) => listing)];
      return React.useMemo(() => {
        const map = placementMap({ pods, nodes, workloads: Object.fromEntries(lists) });
        return map === undefined ? null : { ...map, nodes: map.nodes.map((box) => withDetails(box, elements)) };
      }, read.flatMap(({ items, errors }) => [items, errors]));
    },
  };
}

function withDetails({ unreadable, ...box }: PlacementBox, { section, notices }: Elements): MapNode {
  if (unreadable === undefined) return box;
  return { ...box, detailsComponent: () => section(box.label ?? '', ...notices(unreadable)) };
}

/** Lines from proxy pods to their delegates, also where the viewer has switched off the source "Isthmus". */
export const delegateRelation: MapRelation = {
  id: 'isthmus.delegate', fromSource: 'Pod', toSource: 'Pod',
  predicate: () => false,
  buildEdgesWithIndex: (from) => [...delegateEdges(from.flatMap(({ kubeObject }) => kubeObject ?? []))],
};
