// Screens for tests of the page and its server: what a test says, and every screen that was opened.
import { startPageServer, type PageServer } from '../../../dashboard/server/page-server.ts';
import type { StreamTimes } from '../../../dashboard/server/event-stream.ts';
import { Session } from '../../../dashboard/server/session.ts';
import type { Action } from '../../../dashboard/wire/actions.ts';
import { addressOf, type Route } from '../../../dashboard/wire/routes.ts';
import type { OpenScreen, ScreenSource } from '../../../dashboard/wire/screen-source.ts';
import type { AnyScreen } from '../../../dashboard/wire/screens.ts';
import { sampleScreens } from './sample-screens.ts';

/** A screen's content by its address without filters. */
export class ScriptedScreens implements ScreenSource {
  readonly screens = new Map<string, AnyScreen>();
  readonly opened: Route[] = [];
  /** Screens that are open now. */
  openNow = 0;
  readonly #counters = new Set<() => void>();
  /** What was done. */
  readonly acted: Action[] = [];
  /** Why nothing is done. */
  actRefusal: Error | undefined;
  readonly #holds: (() => Promise<void>)[] = [];
  logText = 'first line\nlast line';
  readonly #listeners = new Set<() => void>();

  open(route: Route): OpenScreen {
    this.opened.push(route);
    this.#count(1);
    const address = 'filters' in route ? `/${route.screen}` : addressOf(route);
    let mine: (() => void) | undefined;
    return {
      current: () => this.screens.get(address),
      onChange: (listener) => {
        mine = listener;
        this.#listeners.add(listener);
      },
      close: () => {
        this.#count(-1);
        if (mine !== undefined) this.#listeners.delete(mine);
      },
    };
  }

  /** Shows something else. */
  show(address: string, screen: AnyScreen): void {
    this.screens.set(address, screen);
    for (const listener of this.#listeners) listener();
  }

  async log(): Promise<string> {
    return this.logText;
  }

  async act(action: Action): Promise<string> {
    this.acted.push(action);
    await this.#holds.shift()?.();
    if (this.actRefusal !== undefined) throw this.actRefusal;
    const { kind, ...fields } = action;
    return `Done: ${[kind, ...Object.values(fields)].join(' ')}.`;
  }

  /** The next action that nothing holds up yet is done when `end` is called; `begun` resolves when it was asked for. */
  holdAct(): { readonly begun: Promise<void>; readonly end: () => void } {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => void (end = resolve));
    const begun = new Promise<void>((resolve) => void this.#holds.push(() => {
      resolve();
      return ended;
    }));
    return { begun, end };
  }

  /** Resolves when as many screens are open. */
  opens(number: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.openNow !== number) return;
        this.#counters.delete(look);
        resolve();
      };
      this.#counters.add(look);
      look();
    });
  }

  #count(change: number): void {
    this.openNow += change;
    for (const look of this.#counters) look();
  }
}

/** A page server with scripted screens. */
export interface ScriptedPage {
  readonly screens: ScriptedScreens;
  readonly server: PageServer;
  readonly origin: string;
  readonly key: string;
  /** The token, before it was exchanged for the key. */
  readonly token: string;
}

/** Starts the server on any free port. */
export async function startScriptedPage(times?: StreamTimes): Promise<ScriptedPage> {
  const [screens, key, token] = [new ScriptedScreens(), 'one-time-key', 'the-session-token'];
  const server = await startPageServer(
    { port: 0, access: new Session({ key, token }, screens), ...(times !== undefined && { times }) },
  );
  return { screens, server, origin: `http://127.0.0.1:${server.port}`, key, token };
}

/** Exchanges the key, as the page does. */
export async function signIn({ origin, key }: Pick<ScriptedPage, 'origin' | 'key'>): Promise<string> {
  const answer = await fetch(`${origin}/session`, { method: 'POST', body: key, headers: { origin } });
  if (!answer.ok) throw new Error(`the key was refused: ${answer.status}`);
  return ((await answer.json()) as { readonly token: string }).token;
}

/** Starts it with the sample screens, and signs a viewer in: the server and their token. */
export async function startViewedPage(
  times: StreamTimes,
): Promise<{ readonly page: ScriptedPage; readonly token: string }> {
  const page = await startScriptedPage(times);
  for (const [address, screen] of sampleScreens()) page.screens.show(address, screen);
  return { page, token: await signIn(page) };
}

/** A screen that is followed as the page follows it. */
export interface FollowedScreen {
  readonly headers: Headers;
  readonly lastId: string;
  /** Number of snapshots until now. */
  readonly received: number;
  readonly last: AnyScreen | undefined;
  /** Everything that was received, as text. */
  readonly text: string;
  /** Resolves at the end of the stream, however it ends. */
  readonly ended: Promise<void>;
  /** Resolves with the first snapshot, the last one included, that is as wanted. */
  until(isWanted: (screen: AnyScreen) => boolean): Promise<AnyScreen>;
  /** Resolves after so many more comments. */
  heartbeats(number: number): Promise<void>;
  end(): void;
}

/** Follows a screen. Throws when the server refuses. */
export async function openScreen(
  { origin }: Pick<ScriptedPage, 'origin'>, token: string, address: string, more: Readonly<Record<string, string>> = {},
): Promise<FollowedScreen> {
  const ending = new AbortController();
  const headers = { authorization: `Bearer ${token}`, ...more };
  const answer = await fetch(`${origin}/api/screens${address}`, { headers, signal: ending.signal });
  if (!answer.ok || answer.body === null) throw new Error(`refused: ${answer.status} ${await answer.text()}`);
  const waiters = new Set<() => void>();
  const state = {
    headers: answer.headers, lastId: '', received: 0, comments: 0, text: '', isOver: false,
    last: undefined as AnyScreen | undefined,
  };
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      const text = decoder.decode(chunk, { stream: true });
      state.text += text;
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) take(block);
    }
  };
  const take = (block: string): void => {
    const [, id = '', data] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
    if (data === undefined) state.comments += 1;
    else Object.assign(state, { lastId: id, last: JSON.parse(data) as AnyScreen, received: state.received + 1 });
    for (const wake of waiters) wake();
  };
  const ended = read(answer.body).catch(() => undefined).finally(() => {
    state.isOver = true;
    for (const wake of waiters) wake();
  });
  const awaited = (isThere: () => boolean): Promise<void> => new Promise((resolve, reject) => {
    const look = (): void => {
      if (!isThere() && !state.isOver) return;
      waiters.delete(look);
      if (isThere()) resolve();
      else reject(new Error(`the stream ended; the last screen was ${JSON.stringify(state.last)}`));
    };
    waiters.add(look);
    look();
  });
  return Object.assign(state, {
    ended, end: () => ending.abort(),
    until: async (isWanted: (screen: AnyScreen) => boolean) => {
      await awaited(() => state.last !== undefined && isWanted(state.last));
      return state.last as AnyScreen;
    },
    heartbeats: (number: number) => {
      const before = state.comments;
      return awaited(() => state.comments >= before + number);
    },
  });
}
