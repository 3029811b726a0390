// What stays while screens change: the menu, the filters, the state of the connection, and the place of the screen.
import { addressOf, LISTS, type Filters, type ListRoute, type Route } from '../wire/routes.ts';
import { el, update, type Child } from './elements.ts';
import type { StreamState } from './screen-stream.ts';
import { link } from './parts.ts';

const TITLES = {
  targets: 'Targets', workloads: 'Workloads', pods: 'Pods', pending: 'Pending', policies: 'Policies',
  decisions: 'Decisions', moves: 'Moves',
} as const;
const FILTERS: Readonly<Record<ListRoute['screen'], readonly (keyof Filters)[]>> = {
  targets: ['namespace'], workloads: ['namespace', 'target', 'text'],
  pods: ['namespace', 'target', 'status', 'workload', 'text'], pending: ['namespace', 'text'],
  policies: ['namespace', 'text'], decisions: ['namespace', 'target', 'workload', 'text'], moves: ['namespace'],
};
/** The list that something single is one of. */
const LIST_OF: Readonly<Partial<Record<Route['screen'], ListRoute['screen']>>> = { pod: 'pods', decision: 'decisions' };
const LABELS: Readonly<Record<keyof Filters, string>> = {
  namespace: 'Namespace', target: 'Target', status: 'Status', workload: 'Workload', text: 'Name contains',
};
const STATUSES = ['Running', 'Pending', 'Succeeded', 'Failed', 'Terminating'];

/** What the viewer does in the frame. */
export interface FrameActions {
  /** Filters were typed. */
  filter(filters: Filters): void;
  /** The viewer wants the page to forget their token. */
  signOut(): void;
}

/** The frame; made once. */
export class PageFrame {
  readonly #menu = el('ul', {});
  readonly #signOut = el('button', { type: 'button' }, 'Sign out');
  readonly #state = el('span', { class: 'connection', role: 'status' });
  readonly #form = el('form', { class: 'filters', role: 'search', 'aria-label': 'Filters' });
  readonly #heading = el('h1', { tabindex: -1 });
  /** Exists before it has text, so that screen readers announce the text. */
  readonly #told = el('div', { id: 'told', role: 'status' });
  readonly #content = el('div', { class: 'content' });
  readonly #actions: FrameActions;
  #route: Route | undefined;

  constructor(actions: FrameActions) {
    this.#actions = actions;
    document.body.replaceChildren(
      el('a', { class: 'skip', href: '/', 'data-skip': true }, 'Skip to the content'),
      el(
        'header', {}, el('strong', { class: 'brand' }, 'Isthmus'),
        el('nav', { 'aria-label': 'Screens' }, this.#menu), this.#state,
        this.#signOut,
      ),
      el('main', { id: 'main', tabindex: -1 }, this.#heading, this.#form, this.#told, this.#content),
    );
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#typed();
    });
    this.#signOut.hidden = true;
    this.#signOut.addEventListener('click', () => actions.signOut());
    this.#form.addEventListener('change', () => this.#typed());
  }

  /** Shows another screen, or the same one with other filters, before its data is there. */
  go(route: Route): void {
    const [before, isOther] = [this.#route, this.#route?.screen !== route.screen || !('filters' in route)];
    this.#route = route;
    const title = titleOf(route);
    document.title = `${title} · Isthmus`;
    this.#heading.textContent = title;
    update(this.#menu, LISTS.map((list) => this.#menuItem(list, route)));
    this.#showFilters(route);
    if (!isOther) return;
    this.tell([]);
    update(this.#content, [el('p', { class: 'faint' }, 'Loading…')]);
    if (before === undefined) return; // a page that was loaded begins at its top
    this.#heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /** Shows what there is. */
  show(content: readonly Child[]): void {
    update(this.#content, content);
  }

  /** Tells what came of something that the viewer did, until they go to another screen. */
  tell(content: readonly Child[]): void {
    update(this.#told, content);
  }

  /** Says whether what is shown is current. */
  say(state: StreamState): void {
    const [text, kind] = stateText(state);
    this.#state.textContent = text;
    this.#state.className = `connection ${kind}`;
  }

  /** Shows or hides the button to sign out. */
  offerSignOut(isOffered: boolean): void {
    this.#signOut.hidden = !isOffered;
  }

  /** Moves the focus to the content. */
  skip(): void {
    this.#heading.focus();
  }

  #menuItem(list: (typeof LISTS)[number], route: Route): HTMLElement {
    const isHere = list === route.screen || list === LIST_OF[route.screen];
    const filters = 'filters' in route && route.filters.namespace !== undefined
      ? { namespace: route.filters.namespace } : {};
    const item = link(addressOf({ screen: list, filters }), TITLES[list]);
    if (isHere) item.setAttribute('aria-current', 'page');
    return el('li', { 'data-key': list }, item);
  }

  #showFilters(route: Route): void {
    this.#form.hidden = !('filters' in route);
    if (!('filters' in route)) return;
    const { screen, filters } = route;
    update(this.#form, [
      FILTERS[screen].map((name) => field(name)),
      el('datalist', { id: 'statuses' }, STATUSES.map((value) => el('option', { value }))),
      el('button', { type: 'submit' }, 'Filter'),
      link(addressOf({ screen, filters: {} }), 'Clear'),
    ]);
    for (const name of FILTERS[screen]) {
      const input = this.#form.querySelector<HTMLInputElement>(`input[name="${name}"]`);
      if (input !== null && input !== document.activeElement) input.value = filters[name] ?? '';
    }
  }

  #typed(): void {
    const entries = [...this.#form.querySelectorAll('input')].map(({ name, value }) => [name, value.trim()] as const);
    this.#actions.filter(Object.fromEntries(entries.filter(([, value]) => value !== '')));
  }
}

function field(name: keyof Filters): HTMLElement {
  return el(
    'label', { 'data-key': name }, LABELS[name],
    el('input', {
      name, type: 'text', autocomplete: 'off', spellcheck: 'false', list: name === 'status' ? 'statuses' : undefined,
    }),
  );
}

function stateText(state: StreamState): readonly [text: string, kind: string] {
  if (typeof state === 'object') return [state.refused, 'lost'];
  switch (state) {
    case 'opening':
      return ['Loading…', 'calm'];
    case 'live':
      return ['Live', 'live'];
    case 'lost':
      return ['Connection lost, retrying. This data may be out of date.', 'lost'];
    case 'paused':
      return ['Paused', 'calm'];
    case 'signed-out':
      return ['No session', 'lost'];
  }
}

function titleOf(route: Route): string {
  if ('filters' in route) return TITLES[route.screen];
  const { namespace, name } = route;
  if (route.screen === 'decision') return `Decision about ${namespace}/${name}`;
  const { without, replicas, policy, spec } = route;
  const whatIf = [
    ...(without === undefined ? [] : [` without ${without}`]),
    ...(replicas === undefined ? [] : [`, ${replicas} more`]),
    ...(policy === undefined && spec === undefined ? [] : [`, with ${policy ?? 'another policy'}`]),
  ];
  return `${namespace}/${name}${whatIf.join('')}`;
}
