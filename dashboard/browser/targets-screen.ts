// The screen of targets: the map, and the same as a table.
import { addressOf } from '../wire/routes.ts';
import { TARGET_ACTIONS, type ActionKind } from '../wire/actions.ts';
import type { TargetCard, TargetsScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import { age, count, emptyState, gapNotices, link, pill, row, table } from './parts.ts';
import { approveButton, targetButtons } from './actions.ts';
import { targetMap } from './target-map.ts';

const COLUMNS = [
  'Target', 'Status', { number: 'Running' }, { number: 'Pods' }, { number: 'Free CPU' }, { number: 'Free memory' },
  { number: 'Free GPUs' }, { number: 'RTT' }, 'Since',
];

/** The screen. */
export function targetsContent(screen: TargetsScreen): readonly Child[] {
  const { targets, gaps, actions } = screen;
  const before = [...gapNotices(gaps), proposedPart(screen)];
  if (targets.length === 0 && (gaps.length > 0 || screen.proposedTotal > 0)) return before;
  if (targets.length === 0) return [emptyState(
    'No targets yet', 'A target is another cluster that your pods can run in. Connect one with:',
    'isthmus peer --source-kubeconfig source.yaml --target-kubeconfig target.yaml --name eu-west',
  )];
  const own = TARGET_ACTIONS.filter((kind) => actions.includes(kind));
  const columns = own.length > 0 ? [...COLUMNS, 'Actions'] : COLUMNS;
  return [
    ...before, summary(screen), targetMap(screen),
    table('Targets', columns, targets.flatMap((target) => rowsOf(target, own))),
  ];
}

/** Clusters that wait for an approval, before everything else. */
function proposedPart({ proposed, proposedTotal, actions }: TargetsScreen): Child {
  if (proposedTotal === 0) return undefined;
  const mayApprove = actions.includes('approve');
  const rows = proposed.map((one) => row(
    `${one.discovery} ${one.entry} ${one.cluster}`, one.cluster, one.entry, one.discovery, one.clusterId,
    ...(mayApprove ? [approveButton(one)] : []),
  ));
  const columns = ['Cluster', 'Entry of the registry', 'TargetDiscovery', 'Cluster ID'];
  return el(
    'section', { class: 'proposed', 'data-key': 'proposed' }, el('h2', {}, 'Proposed clusters'),
    table('Proposed clusters', mayApprove ? [...columns, 'Actions'] : columns, rows),
    proposed.length < proposedTotal
      ? el('p', { class: 'faint' }, `Showing ${proposed.length} of ${proposedTotal}.`) : undefined,
  );
}

function summary({ targets, waiting }: TargetsScreen): HTMLElement {
  const ready = targets.filter(({ isReady, isCordoned }) => isReady && !isCordoned).length;
  const pods = targets.reduce((sum, { running = 0 }) => sum + running, 0);
  const parts = [
    `${ready} of ${count(targets.length, 'target')} accept${ready === 1 ? 's' : ''} pods`,
    ...(waiting === undefined ? [] : [`${count(pods, 'pod')} running`, `${waiting === 0 ? 'none' : waiting} waiting`]),
  ];
  return el('p', { class: 'summary' }, parts.join(' · '));
}

function rowsOf(target: TargetCard, actions: readonly ActionKind[]): readonly HTMLElement[] {
  const { name, state, isReady, isCordoned, message, pods, running } = target;
  const status = [
    pill(state, isReady ? 'good' : 'bad'), ...(isCordoned ? [' ', pill('Cordoned', 'warn')] : []),
  ];
  const unknown = pods === undefined ? 'unknown' : undefined;
  const cells = row(
    name, link(addressOf({ screen: 'pods', filters: { target: name } }), name), status,
    { number: unknown ?? String(running) }, { number: unknown ?? String(pods) }, { number: target.freeCpu },
    { number: target.freeMemory }, { number: target.freeGpus }, { number: target.rtt }, age(target.since),
    ...(actions.length === 0 ? [] : [targetButtons(target, actions)]),
  );
  if (message === undefined) return [cells];
  const colspan = COLUMNS.length + (actions.length === 0 ? 0 : 1);
  return [cells, el('tr', { 'data-key': `${name} says`, class: 'says' }, el('td', { colspan }, message))];
}
