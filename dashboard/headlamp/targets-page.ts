// The page with all targets of the selected clusters. Headlamp's own pages of custom resources have no place for
// sections of plugins.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { Elements } from './elements.ts';
import { unreadableOf, selectedNamespaces } from './listings.ts';
import type { Child, Component, PluginLib } from './plugin-lib.ts';
import { targetRow, type TargetRow } from './target-facts.ts';
import { targetPage, TARGET_PLURALS, type TargetClasses } from './target-kinds.ts';

const COLUMNS = ['Name', 'State', 'Free now', 'Round trip', 'Virtual node', 'Cluster', 'What to change'];
const EMPTY = 'No targets. "isthmus peer" adds one.';

/** The page. */
export function targetsPage(lib: PluginLib, classes: TargetClasses, elements: Elements): Component {
  return function TargetsPage() {
    const namespace = selectedNamespaces(lib);
    const clusterTargets = classes.ClusterTarget.useList();
    const targets = classes.Target.useList({ namespace });
    const unreadable = [
      ...unreadableOf(TARGET_PLURALS.ClusterTarget, clusterTargets), ...unreadableOf(TARGET_PLURALS.Target, targets),
    ];
    const listed = [clusterTargets, targets].flatMap(({ items }) => items ?? []);
    const isReading = [clusterTargets, targets].some(({ items, errors }) => items === null && errors === null);
    const rows = listed.map(({ jsonData, cluster }) => (
      rowOf(elements, targetRow(jsonData as ClusterTarget | Target), cluster)
    ));
    const empty = isReading ? 'Reading…' : unreadable.length > 0 ? 'No other targets are known.' : EMPTY;
    return elements.section('Isthmus targets', ...elements.notices(unreadable), elements.table(COLUMNS, rows, empty));
  };
}

function rowOf({ link, label }: Elements, row: TargetRow, cluster: string): readonly Child[] {
  const { kind, namespace = '', name, state, message, isCordoned, free, rtt, node } = row;
  const target: TargetRef = kind === 'Target' ? { kind, namespace, name } : { kind, name };
  const tone = state !== 'Ready' ? 'error' : isCordoned ? 'warning' : 'success';
  return [
    link(targetPage(target, cluster), kind === 'Target' ? `${namespace}/${name}` : name),
    label(isCordoned ? `${state}, cordoned` : state, tone), free, rtt,
    node && link({ route: 'node', params: { name: node }, cluster }, node), cluster, message,
  ];
}
