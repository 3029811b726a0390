// The screen of targets: the map, and the same as a table.
import { addressOf } from '../wire/routes.ts';
import { TARGET_ACTIONS, type ActionKind } from '../wire/actions.ts';
import type { TargetCard, TargetsScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import { age, count, emptyState, unreadableNotices, link, pill, row, table, type Column } from './parts.ts';
import { approveButton, targetButtons } from './actions.ts';
import { targetMap } from './target-map.ts';

const COLUMNS: readonly Column[] = [
  'Target', 'Status', { number: 'Running' }, { number: 'Pods' }, { number: 'Free CPU' }, { number: 'Free memory' },
  { number: 'Free GPUs' }, { number: 'RTT' }, 'Reported',
];
/** Columns that are there only where they hold something. */
interface More {
  readonly hasPrices: boolean;
  readonly actions: readonly ActionKind[];
}

/** The screen. */
export function targetsContent(screen: TargetsScreen): readonly Child[] {
  const { targets, unreadable, actions } = screen;
  const before = [...unreadableNotices(unreadable), proposedPart(screen)];
  if (targets.length === 0 && (unreadable.length > 0 || screen.proposedTotal > 0)) return before;
  if (targets.length === 0) return [emptyState(
    'No targets yet', 'A target is another cluster that your pods can run in. Connect one with:',
    'isthmus peer --source-kubeconfig source.yaml --target-kubeconfig target.yaml --name eu-west',
  )];
  const more = {
    hasPrices: targets.some(({ prices }) => prices !== undefined),
    actions: TARGET_ACTIONS.filter((kind) => actions.includes(kind)),
  };
  return [
    ...before, summary(screen), targetMap(screen),
    table('Targets', columnsWith(more), targets.flatMap((target) => rowsOf(target, more))),
  ];
}

function columnsWith({ hasPrices, actions }: More): readonly Column[] {
  return [...COLUMNS, ...(hasPrices ? ['Prices'] : []), ...(actions.length > 0 ? ['Actions'] : [])];
}

/** Clusters that wait for an approval, before everything else. */
function proposedPart({ proposed, proposedTotal, actions }: TargetsScreen): Child {
  if (proposedTotal === 0) return undefined;
  const mayApprove = actions.includes('approve');
  const columns =
    ['Cluster', 'Entry of the registry', 'TargetDiscovery', 'Cluster ID', ...(mayApprove ? ['Actions'] : [])];
  const rows = proposed.flatMap((one) => {
    const key = `${one.discovery} ${one.entry} ${one.cluster}`;
    const cells = row(
      key, one.cluster, one.entry, one.discovery, one.clusterId, ...(mayApprove ? [approveButton(one)] : []),
    );
    return withMessage(cells, { key, message: one.message, colspan: columns.length });
  });
  return el(
    'section', { class: 'proposed', 'data-key': 'proposed' }, el('h2', {}, 'Proposed clusters'),
    table('Proposed clusters', columns, rows),
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

/** Its round trip, and the gateway that calls go through. */
function connectionCell({ rtt, gateway }: TargetCard): Child {
  return gateway === undefined ? rtt : [rtt ?? '', ' ', el('small', {}, `gateway ${gateway}`)];
}

function rowsOf(target: TargetCard, more: More): readonly HTMLElement[] {
  const { name, state, isReady, isCordoned, message, pods, running } = target;
  const status = [
    pill(state, isReady ? 'good' : 'bad'), ...(isCordoned ? [' ', pill('Cordoned', 'warn')] : []),
    ...(target.since === undefined ? [] : [' ', el('small', {}, 'for ', age(target.since))]),
  ];
  const unknown = pods === undefined ? 'unknown' : undefined;
  const cells = row(
    name, link(addressOf({ screen: 'pods', filters: { target: name } }), name), status,
    { number: unknown ?? String(running) }, { number: unknown ?? String(pods) }, { number: target.freeCpu },
    { number: target.freeMemory }, { number: target.freeGpus }, { number: connectionCell(target) },
    age(target.reportedAt), ...(more.hasPrices ? [target.prices] : []),
    ...(more.actions.length === 0 ? [] : [el('div', { class: 'buttons' }, targetButtons(target, more.actions))]),
  );
  return withMessage(cells, { key: name, message, colspan: columnsWith(more).length });
}

/** A row, and below it what there is to say about it. */
function withMessage(
  cells: HTMLElement,
  { key, message, colspan }: { readonly key: string; readonly message?: string | undefined; readonly colspan: number },
): readonly HTMLElement[] {
  if (message === undefined) return [cells];
  return [cells, el('tr', { 'data-key': `${key} says`, class: 'says' }, el('td', { colspan }, message))];
}
