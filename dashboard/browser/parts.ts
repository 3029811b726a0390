// Parts that screens share: pills, times, notices, tables.
import { ageOf } from '../../cli/output/text-table.ts';
import type { Filters } from '../wire/routes.ts';
import type { UnreadablePart } from '../wire/screens.ts';
import { el, type Attributes, type Child } from './elements.ts';

/** What a pill says at a glance; its text says it as well. */
export type Tone = 'good' | 'bad' | 'warn' | 'calm';

/** A word with a colour. */
export function pill(text: string, tone: Tone): HTMLElement {
  return el('span', { class: `pill ${tone}` }, text);
}

/** The tone of a pod's status. */
export function toneOf(status: string): Tone {
  if (status === 'Running' || status === 'Succeeded') return 'good';
  return status === 'Failed' || status === 'Unknown' ? 'bad' : status === 'Pending' ? 'warn' : 'calm';
}

/** How long ago something was; {@link tick} keeps it current. */
export function age(at: string | undefined): HTMLElement {
  if (at === undefined || at === '') return el('span', { class: 'faint' }, '–');
  const time = el('time', { datetime: at, title: new Date(at).toLocaleString(), 'data-age': true });
  time.textContent = ageOf(at, Date.now());
  return time;
}

/** Brings all ages up to date. */
export function tick(): void {
  for (const time of document.querySelectorAll('time[data-age]')) {
    time.textContent = ageOf(time.getAttribute('datetime') ?? '', Date.now());
  }
}

/** The time of day. */
export function clock(at: string): HTMLElement {
  const time = new Date(at);
  return el('time', { datetime: at, class: 'at', title: time.toLocaleString() }, time.toLocaleTimeString());
}

/** A link within the page. */
export function link(href: string, ...children: readonly Child[]): HTMLElement {
  return el('a', { href }, ...children);
}

/** What could not be read, why, and what to do. */
export function unreadableNotices(unreadable: readonly UnreadablePart[]): readonly HTMLElement[] {
  return unreadable.map(({ what, why, advice }) => el(
    'section', { class: 'notice', role: 'note', 'data-key': what },
    el('strong', {}, `Cannot show ${what}.`), ' ', why, ' ', el('em', {}, advice),
  ));
}

/** Says that there is nothing, and what would change that. */
export function emptyState(title: string, advice: string, command?: string): HTMLElement {
  return el(
    'section', { class: 'empty' }, el('h2', {}, title), el('p', {}, advice),
    command === undefined ? undefined : el('pre', { tabindex: 0 }, command),
  );
}

/** Whether the viewer has set a filter. */
export function isNarrowed(filters: Filters): boolean {
  return Object.values(filters).some((text) => text !== undefined && text !== '');
}

/** Below a list that is longer than what is shown. */
export function rest(shown: number, total: number): HTMLElement | undefined {
  return shown >= total ? undefined
    : el('p', { class: 'faint' }, `Showing ${shown} of ${total}. Use the filters above to narrow the list.`);
}

/** A column's title, and whether it holds numbers. */
export type Column = string | { readonly number: string };

/** A table in a box that scrolls sideways on narrow screens. */
export function table(caption: string, columns: readonly Column[], rows: readonly HTMLElement[]): HTMLElement {
  const head = columns.map((column) => (
    typeof column === 'string' ? el('th', { scope: 'col' }, column)
      : el('th', { scope: 'col', class: 'number' }, column.number)
  ));
  return el(
    'div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, head)), el('tbody', {}, rows)),
  );
}

/** A row; its first cell names it. */
export function row(key: string, first: Child, ...cells: readonly (Child | { readonly number: Child })[]): HTMLElement {
  return el('tr', { 'data-key': key }, el('th', { scope: 'row' }, first), cells.map(cell));
}

function cell(content: Child | { readonly number: Child }): HTMLElement {
  const isNumber = typeof content === 'object' && 'number' in content;
  const attributes: Attributes = isNumber ? { class: 'number' } : {};
  const child = isNumber ? content.number : content;
  return el('td', attributes, child === undefined || child === '' ? el('span', { class: 'faint' }, '–') : child);
}

/** `1 pod`, `2 pods`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString()} ${noun}${number === 1 ? '' : 's'}`;
}

/** The class of a target's colour. */
export function colourOf(target: string | undefined, targets: readonly string[]): string {
  return target === undefined ? 'waits' : `c${Math.max(0, targets.indexOf(target)) % 8}`;
}
