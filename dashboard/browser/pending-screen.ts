// The screen of pending pods: one card for each reason, with what would help.
import { addressOf } from '../wire/routes.ts';
import type { Filters } from '../wire/routes.ts';
import type { PendingGroup, PendingScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import { age, count, emptyState, gapNotices, link } from './parts.ts';

/** The screen. */
export function pendingContent({ groups, total, gaps }: PendingScreen, filters: Filters): readonly Child[] {
  const notices = gapNotices(gaps);
  if (total > 0) {
    const summary = `${count(total, 'pod')} pending for ${count(groups.length, 'reason')}`;
    return [...notices, el('p', { class: 'summary' }, summary), groups.map(card)];
  }
  if (gaps.length > 0) return notices;
  const isNarrowed = Object.values(filters).some((text) => text !== undefined && text !== '');
  return [emptyState(
    'No pending pods', isNarrowed ? 'Change or clear the filters above to see all.' : 'Every elected pod has started.',
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
