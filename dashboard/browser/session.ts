// The token of this tab. The address that `isthmus ui` prints has a one-time key in its fragment, which is never sent
// with a request; it is exchanged for a token and taken out of the address at once. In a cluster the viewer enters a
// token of the cluster, which is never part of an address. Other tabs of this page ask the ones that are open.
import { el, type Child } from './elements.ts';
import { emptyState } from './parts.ts';

const STORED = 'isthmus-session';
const CHANNEL = 'isthmus-session';
/** Tabs of the same browser answer at once, in ms. */
const ANSWER_MS = 300;

/** Whether viewers sign in with a token of the cluster, and not with the key of a command. */
export const HAS_OWN_TOKEN = document.documentElement.dataset['signIn'] === 'token';

const WORDS = HAS_OWN_TOKEN
  ? {
    title: 'Sign in',
    advice: 'This page shows what you may see with kubectl. Enter a token of this cluster: that of your login, or ' +
      'one of a ServiceAccount.',
    command: 'kubectl create token SERVICEACCOUNT --namespace NAMESPACE', label: 'Token', button: 'Sign in',
  }
  : {
    title: 'Not signed in',
    advice: 'Open the address that "isthmus ui" printed, or enter the key at its end. Each key works once: run the ' +
      'command again to get a new one.',
    command: undefined, label: 'One-time key', button: 'Open',
  };

let others: BroadcastChannel | undefined;

/** The token, or undefined when this browser has none. */
export async function findToken(): Promise<string | undefined> {
  const key = HAS_OWN_TOKEN ? null : new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname + location.search);
  const given = key === null ? undefined : await exchange(key);
  const token = (given?.kind === 'token' ? given.token : undefined)
    ?? sessionStorage.getItem(STORED) ?? (await askOtherTabs());
  return token;
}

/** What came of an exchange; `message` says why not. */
export type Exchanged =
  { readonly kind: 'token'; readonly token: string } | { readonly kind: 'refused'; readonly message: string };

/** Exchanges a key that was typed or came in the address, or has a token of the cluster checked. */
async function exchange(secret: string): Promise<Exchanged> {
  try {
    const answer = await fetch('/session', { method: 'POST', body: secret });
    const { token, message } = (await answer.json()) as { readonly token?: string; readonly message?: string };
    if (token !== undefined) return { kind: 'token', token };
    return { kind: 'refused', message: message ?? `The server answers with status ${answer.status}.` };
  } catch {
    return { kind: 'refused', message: 'No connection to the server of this page.' };
  }
}

/** Asks for a key or token; `signedIn` is called with what it is good for. */
export function signInForm(signedIn: (token: string) => void): readonly Child[] {
  const { title, advice, command, label, button } = WORDS;
  const input = el('input', {
    name: 'key', type: HAS_OWN_TOKEN ? 'password' : 'text', autocomplete: 'off', spellcheck: 'false',
  });
  const problem = el('p', { class: 'notice', role: 'alert' });
  const form = el(
    'form', { class: 'filters' }, el('label', {}, label, input), el('button', { type: 'submit' }, button),
  );
  problem.hidden = true;
  const submit = async (): Promise<void> => {
    const exchanged = await exchange((input as HTMLInputElement).value.trim());
    problem.hidden = exchanged.kind === 'token';
    if (exchanged.kind === 'token') return signedIn(exchanged.token);
    problem.textContent = exchanged.message;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });
  return [emptyState(title, advice, command), form, problem];
}

/** Keeps the token for this tab, and answers other tabs of this page until it is forgotten. */
export function keepToken(token: string, signedOut: () => void): void {
  sessionStorage.setItem(STORED, token);
  others?.close();
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => {
    if (data === 'who') channel.postMessage({ token });
    if (data === 'sign-out') signedOut();
  });
  others = channel;
}

/** Forgets a token that the server does not know, or that the viewer has given up: then in other tabs, too. */
export function forgetToken(isEverywhere = false): void {
  sessionStorage.removeItem(STORED);
  if (isEverywhere) others?.postMessage('sign-out');
  others?.close();
  others = undefined;
}

function askOtherTabs(): Promise<string | undefined> {
  const channel = new BroadcastChannel(CHANNEL);
  return new Promise((resolve) => {
    const end = (token?: string): void => {
      channel.close();
      resolve(token);
    };
    const timer = setTimeout(end, ANSWER_MS);
    channel.addEventListener('message', ({ data }: MessageEvent<{ readonly token?: unknown }>) => {
      if (typeof data.token !== 'string') return;
      clearTimeout(timer);
      end(data.token);
    });
    channel.postMessage('who');
  });
}
