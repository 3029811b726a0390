// The screen of targets: the map, and the same as a table.
import { addressOf } from '../wire/routes.ts';
import type { TargetCard, TargetsScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import { age, count, emptyState, gapNotices, link, pill, row, table } from './parts.ts';
import { targetMap } from './target-map.ts';

const COLUMNS = [
  'Target', 'Status', { number: 'Running' }, { number: 'Pods' }, { number: 'Free CPU' }, { number: 'Free memory' },
  { number: 'Free GPUs' }, { number: 'RTT' }, 'Since',
];

/** The screen. */
export function targetsContent(screen: TargetsScreen): readonly Child[] {
  const { targets, gaps } = screen;
  const notices = gapNotices(gaps);
  if (targets.length === 0 && gaps.length > 0) return notices;
  if (targets.length === 0) return [emptyState(
    'No targets yet', 'A target is another cluster that your pods can run in. Connect one with:',
    'isthmus peer --source-kubeconfig source.yaml --target-kubeconfig target.yaml --name eu-west',
  )];
  return [...notices, summary(screen), targetMap(screen), table('Targets', COLUMNS, targets.flatMap(rowsOf))];
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

function rowsOf(target: TargetCard): readonly HTMLElement[] {
  const { name, state, isReady, isCordoned, message, pods, running } = target;
  const status = [
    pill(state, isReady ? 'good' : 'bad'), ...(isCordoned ? [' ', pill('Cordoned', 'warn')] : []),
  ];
  const unknown = pods === undefined ? 'unknown' : undefined;
  const cells = row(
    name, link(addressOf({ screen: 'pods', filters: { target: name } }), name), status,
    { number: unknown ?? String(running) }, { number: unknown ?? String(pods) }, { number: target.freeCpu },
    { number: target.freeMemory }, { number: target.freeGpus }, { number: target.rtt }, age(target.since),
  );
  if (message === undefined) return [cells];
  return [cells, el(
    'tr', { 'data-key': `${name} says`, class: 'says' }, el('td', { colspan: COLUMNS.length }, message),
  )];
}
