// The screens of workloads, each with a bar that says where its pods are, of pods, and of pending ones.
import { addressOf, type Filters } from '../wire/routes.ts';
import type {
  PendingGroup, PendingScreen, PodRow, PodsScreen, WorkloadPart, WorkloadRow, WorkloadsScreen,
} from '../wire/screens.ts';
import { el, svg, type Child } from './elements.ts';
import {
  age, colourOf, count, emptyState, isNarrowed, link, pill, rest, row, table, toneOf, unreadableNotices,
} from './parts.ts';

const HOW_TO_ELECT = 'kubectl label namespace NAME multicluster-scheduler=enabled\n' +
  'kubectl annotate pod NAME multicluster.admiralty.io/elect=';

/** The screen of workloads. */
export function workloadsContent(screen: WorkloadsScreen, filters: Filters): readonly Child[] {
  const { rows, total, targets, unreadable } = screen;
  const notices = unreadableNotices(unreadable);
  if (total === 0) return [...notices, ...(unreadable.length > 0 ? [] : [nothing('workload', filters)])];
  const columns = ['Workload', 'Namespace', { number: 'Running' }, { number: 'Pods' }, 'Where'];
  return [
    ...notices, el('p', { class: 'summary' }, count(total, 'workload')), legend(targets),
    table('Workloads by target', columns, rows.map((workload) => workloadRow(workload, targets))),
    rest(rows.length, total),
  ];
}

/** The screen of pods. */
export function podsContent(screen: PodsScreen, filters: Filters): readonly Child[] {
  const { rows, total, unreadable } = screen;
  const notices = unreadableNotices(unreadable);
  if (total === 0) return [...notices, ...(unreadable.length > 0 ? [] : [nothing('pod', filters)])];
  const columns = ['Pod', 'Namespace', 'Status', 'Target', 'Workload', { number: 'Restarts' }, 'Age'];
  return [
    ...notices, el('p', { class: 'summary' }, count(total, 'pod')), table('Elected pods', columns, rows.map(podRow)),
    rest(rows.length, total),
  ];
}

function nothing(noun: string, filters: Filters): HTMLElement {
  return isNarrowed(filters)
    ? emptyState(`No matching ${noun}s`, 'Change or clear the filters above.')
    : emptyState(
      'No elected pods yet', 'Pods with this annotation, in a namespace with this label, run in a target:',
      HOW_TO_ELECT,
    );
}

function legend(targets: readonly string[]): HTMLElement {
  return el('ul', { class: 'legend', 'aria-label': 'Colours' }, targets.map((target) => (
    el('li', { 'data-key': target }, el('span', { class: `swatch ${colourOf(target, targets)}` }), target)
  )), el('li', { 'data-key': 'waits' }, el('span', { class: 'swatch waits' }), 'not placed yet'));
}

function workloadRow(workload: WorkloadRow, targets: readonly string[]): HTMLElement {
  const { namespace, kind, name, pods, running, parts } = workload;
  const filters = { namespace, workload: `${kind}/${name}` };
  return row(
    `${namespace}/${kind}/${name}`, [link(addressOf({ screen: 'pods', filters }), name), ' ', el('small', {}, kind)],
    namespace, { number: String(running) }, { number: String(pods) }, [bar(parts, pods, targets), inWords(parts)],
  );
}

function bar(parts: readonly WorkloadPart[], total: number, targets: readonly string[]): SVGElement {
  let x = 0;
  const pieces = parts.map(({ target, pods }) => {
    const width = (100 * pods) / total;
    const piece = svg('rect', { class: colourOf(target, targets), x, y: 0, width, height: 10 });
    x += width;
    return piece;
  });
  const attributes = { class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' };
  return svg('svg', attributes, pieces);
}

function inWords(parts: readonly WorkloadPart[]): HTMLElement {
  return el('small', {}, parts.map(({ target, pods, running }) => (
    `${target ?? 'not placed'} ${running === pods ? pods : `${running}/${pods}`}`
  )).join(', '));
}

function podRow(pod: PodRow): HTMLElement {
  const { namespace, name, status, target, workload, restarts, createdAt, problem } = pod;
  return row(
    `${namespace}/${name}`, link(addressOf({ screen: 'pod', namespace, name }), name), namespace,
    [pill(status, toneOf(status)), problem === undefined ? undefined : [' ', el('small', {}, problem)]],
    target, workload, { number: String(restarts) }, age(createdAt),
  );
}

/** The screen of pending pods: one card for each reason, with what would help. */
export function pendingContent(
  { groups, reasons, total, unreadable }: PendingScreen, filters: Filters,
): readonly Child[] {
  const notices = unreadableNotices(unreadable);
  if (total > 0) {
    const summary = `${count(total, 'pod')} pending for ${count(reasons, 'reason')}`;
    return [...notices, el('p', { class: 'summary' }, summary), groups.map(card), rest(groups.length, reasons)];
  }
  if (unreadable.length > 0) return notices;
  return [emptyState(
    'No pending pods',
    isNarrowed(filters) ? 'Change or clear the filters above to see all.' : 'Every elected pod has started.',
  )];
}

function card(group: PendingGroup): HTMLElement {
  const { reason, message, pods, since, workloads, examples } = group;
  return el(
    'section', { class: 'card', 'data-key': `${reason} ${message}` },
    el('h2', {}, el('span', { class: 'big' }, String(pods)), ' ', reason),
    el('p', { class: 'faint' }, 'oldest created ', age(since), ' ago', ` · ${workloads.join(', ')}`),
    el('p', { class: 'message' }, message), help(group),
    el('p', {}, 'See ', examples.map(({ namespace, name }, index) => (
      [index === 0 ? '' : ', ', link(addressOf({ screen: 'pod', namespace, name }), name)]
    )), pods > examples.length ? ` and ${pods - examples.length} more.` : '.'),
  );
}

function help({ change, wouldGoTo }: PendingGroup): HTMLElement | undefined {
  if (wouldGoTo !== undefined) {
    return el('p', { class: 'help' }, `${wouldGoTo} has room for the oldest of them now.`);
  }
  if (change === undefined) return undefined;
  return el(
    'div', { class: 'help' }, el('p', {}, el('strong', {}, `Smallest change that would admit it to ${change.target}:`)),
    el('ul', {}, change.changes.map((text) => el('li', {}, text))),
  );
}
