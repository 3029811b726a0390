// The page: finds its token, follows the screen that the address names, and shows each snapshot.
import { addressOf, parseRoute, specProblem, type Filters, type Route } from '../wire/routes.ts';
import type { AnyScreen } from '../wire/screens.ts';
import { closeQuestion, confirmAction } from './actions.ts';
import { el, update, type Child } from './elements.ts';
import { PageFrame } from './page-frame.ts';
import { emptyState, tick } from './parts.ts';
import { decisionContent, decisionsContent, movesContent, policiesContent } from './placement-screens.ts';
import { pendingContent, podsContent, workloadsContent } from './pod-lists.ts';
import { podContent } from './pod-screen.ts';
import { followScreen } from './screen-stream.ts';
import { findToken, forgetToken, HAS_OWN_TOKEN, keepToken, signInForm } from './session.ts';
import { targetsContent } from './targets-screen.ts';

const TICK_MS = 5_000;

class Page {
  readonly #frame = new PageFrame({
    filter: (filters) => this.#filter(filters),
    signOut: () => {
      forgetToken(true);
      this.#askForKey();
    },
  });
  #route: Route | undefined;
  #token: string | undefined;
  #following = new AbortController();

  async start(): Promise<void> {
    document.addEventListener('click', (event) => this.#clicked(event));
    document.addEventListener('visibilitychange', () => this.#follow());
    document.addEventListener('submit', (event) => this.#submitted(event));
    addEventListener('popstate', () => this.#goHere());
    setInterval(tick, TICK_MS);
    const token = await findToken();
    if (token === undefined) this.#goHere();
    else this.#signIn(token);
  }

  #goHere(): void {
    const query = new Map(new URLSearchParams(location.search));
    const route = parseRoute(location.pathname, query);
    this.#route = route;
    if (route !== undefined) this.#frame.go(route);
    else this.#frame.show([emptyState('Page not found', 'Choose a screen in the menu above.')]);
    this.#follow();
  }

  /** A browser has six connections to a host for all its tabs: a hidden one holds none. */
  #follow(): void {
    const [route, token] = [this.#route, this.#token];
    this.#following.abort();
    if (route === undefined) return;
    if (token === undefined) return this.#askForKey();
    if (document.hidden) return this.#frame.say('paused');
    this.#following = new AbortController();
    void followScreen(addressOf(route), token, {
      screen: (screen) => this.#frame.show(contentOf(screen, route)),
      state: (state) => {
        this.#frame.say(state);
        if (state === 'signed-out') this.#askForKey();
      },
    }, this.#following.signal);
  }

  #go(address: string): void {
    history.pushState(null, '', address);
    this.#goHere();
  }

  #filter(filters: Filters): void {
    if (this.#route === undefined || !('filters' in this.#route)) return;
    const address = addressOf({ screen: this.#route.screen, filters });
    if (address !== addressOf(this.#route)) this.#go(address);
  }

  #clicked(event: MouseEvent): void {
    if (!(event.target instanceof Element)) return;
    const button = event.target.closest('button[data-log], button[data-action]');
    if (button === null) this.#followLink(event, event.target.closest('a'));
    else if (button.hasAttribute('data-log')) void this.#showLog(button.getAttribute('data-log') ?? '');
    else this.#ask(button);
  }

  #submitted(event: SubmitEvent): void {
    if (!(event.target instanceof Element)) return;
    const { target } = event;
    const whatIf = target.getAttribute('data-what-if');
    if (whatIf === null && !target.hasAttribute('data-move')) return;
    event.preventDefault();
    if (whatIf === null) this.#ask(target);
    else this.#suppose(whatIf, target);
  }

  /** Goes to the same pod as the form supposes it; what was not entered, and a number that is none, is left out. */
  #suppose(address: string, form: Element): void {
    const { pathname, searchParams } = new URL(address, location.origin);
    const entered = enteredIn(form);
    const tooLong = specProblem(entered.get('spec') ?? '');
    if (tooLong !== undefined) return this.#frame.tell([el('p', { class: 'notice' }, `${tooLong} Shorten it.`)]);
    const route = parseRoute(pathname, new Map([...searchParams, ...entered]));
    if (route !== undefined) this.#go(addressOf(route));
  }

  #ask(element: Element): void {
    if (this.#token === undefined) return;
    confirmAction(element, this.#token, (...content) => this.#frame.tell(content));
  }

  /** Links within the page change the screen without loading it again; those with a modifier open as usual. */
  #followLink(event: MouseEvent, anchor: Element | null): void {
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (anchor === null || !isPlain) return;
    event.preventDefault();
    if (anchor.hasAttribute('data-skip')) this.#frame.skip();
    else this.#go(anchor.getAttribute('href') ?? '/');
  }

  async #showLog(path: string): Promise<void> {
    const place = document.getElementById('log');
    if (place === null || this.#token === undefined) return;
    const name = path.split('/').at(-1) ?? '';
    update(place, [el('p', { class: 'faint' }, `Loading the log of ${name}…`)]);
    update(place, await logContent(path, name, this.#token));
  }

  #signIn(token: string): void {
    this.#token = token;
    keepToken(token, () => this.#askForKey());
    this.#frame.offerSignOut(HAS_OWN_TOKEN);
    this.#goHere();
  }

  #askForKey(): void {
    forgetToken();
    closeQuestion();
    this.#token = undefined;
    this.#following.abort();
    this.#frame.offerSignOut(false);
    this.#frame.say('signed-out');
    this.#frame.show(signInForm((token) => this.#signIn(token)));
  }
}

function contentOf(screen: AnyScreen, route: Route): readonly Child[] {
  const filters = 'filters' in route ? route.filters : {};
  switch (screen.screen) {
    case 'targets':
      return targetsContent(screen);
    case 'workloads':
      return workloadsContent(screen, filters);
    case 'pods':
      return podsContent(screen, filters);
    case 'pending':
      return pendingContent(screen, filters);
    case 'policies':
      return policiesContent(screen, filters);
    case 'decisions':
      return decisionsContent(screen, filters);
    case 'decision':
      return decisionContent(screen);
    case 'moves':
      return movesContent(screen);
    case 'pod':
      return podContent(screen, route);
  }
}

/** What was entered, by field. The spec of a policy is left out while it is the one that is stored. */
function enteredIn(form: Element): ReadonlyMap<string, string> {
  const inputs = [...form.querySelectorAll('input')];
  const entered = new Map(inputs.map(({ name, value }) => [name, value]));
  const isOther = inputs.some(({ value, defaultValue }) => value !== defaultValue);
  for (const { name, value, defaultValue, dataset } of form.querySelectorAll('textarea')) {
    const isWritten = value !== defaultValue || (dataset['written'] !== undefined && !isOther);
    if (isWritten) entered.set(name, value);
  }
  return entered;
}

async function logContent(path: string, name: string, token: string): Promise<readonly Child[]> {
  try {
    const address = path.split('/').map(encodeURIComponent).join('/');
    const answer = await fetch(`/api/logs/${address}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.ok) return [
      el('h3', {}, `Log of ${name}, last 500 lines`),
      el('pre', { tabindex: 0, class: 'log' }, text === '' ? 'The log is empty.' : text),
    ];
    const { message } = JSON.parse(text) as { readonly message: string };
    return [el('p', { class: 'notice' }, `The log of ${name} cannot be read: ${message}`)];
  } catch {
    return [el('p', { class: 'notice' }, 'No connection to the server of this page. Is it still running?')];
  }
}

void new Page().start();
