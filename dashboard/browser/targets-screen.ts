// The screen of targets: the map, and the same as a table.
import { addressOf } from '../wire/routes.ts';
import type { ActionKind } from '../wire/actions.ts';
import type { TargetCard, TargetsScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import { age, count, emptyState, gapNotices, link, pill, row, table } from './parts.ts';
import { actionButtons, actionResult } from './target-actions.ts';
import { targetMap } from './target-map.ts';

const COLUMNS = [
  'Target', 'Status', { number: 'Running' }, { number: 'Pods' }, { number: 'Free CPU' }, { number: 'Free memory' },
  { number: 'Free GPUs' }, { number: 'RTT' }, 'Since',
];

/** The screen. */
export function targetsContent(screen: TargetsScreen): readonly Child[] {
  const { targets, gaps, actions } = screen;
  const notices = gapNotices(gaps);
  if (targets.length === 0 && gaps.length > 0) return notices;
  if (targets.length === 0) return [emptyState(
    'No targets yet', 'A target is another cluster that your pods can run in. Connect one with:',
    'isthmus peer --source-kubeconfig source.yaml --target-kubeconfig target.yaml --name eu-west',
  )];
  const columns = actions.length === 0 ? COLUMNS : [...COLUMNS, 'Actions'];
  return [
    ...notices, summary(screen), actionResult(), targetMap(screen),
    table('Targets', columns, targets.flatMap((target) => rowsOf(target, actions))),
  ];
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
    ...(actions.length === 0 ? [] : [actionButtons(target, actions)]),
  );
  if (message === undefined) return [cells];
  const colspan = COLUMNS.length + (actions.length === 0 ? 0 : 1);
  return [cells, el('tr', { 'data-key': `${name} says`, class: 'says' }, el('td', { colspan }, message))];
}
