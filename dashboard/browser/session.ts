// The token of this tab. The address that `isthmus ui` prints has a one-time key in its fragment, which is never sent
// with a request; it is exchanged for a token and taken out of the address at once. Other tabs of this page ask the
// ones that are open.
const STORED = 'isthmus-session';
const CHANNEL = 'isthmus-session';
/** Tabs of the same browser answer at once, in ms. */
const ANSWER_MS = 300;

/** The token, or undefined when this browser has none. */
export async function findToken(): Promise<string | undefined> {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) history.replaceState(null, '', location.pathname + location.search);
  const token = (key === null ? undefined : await exchange(key))
    ?? sessionStorage.getItem(STORED) ?? (await askOtherTabs());
  if (token !== undefined) keepToken(token);
  return token;
}

/** Exchanges a key that was typed or came in the address; undefined when it was used before. */
export async function exchange(key: string): Promise<string | undefined> {
  const answer = await fetch('/session', { method: 'POST', body: key });
  if (!answer.ok) return undefined;
  const { token } = (await answer.json()) as { readonly token: string };
  return token;
}

/** Keeps the token for this tab, and answers other tabs of this page. */
export function keepToken(token: string): void {
  sessionStorage.setItem(STORED, token);
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => {
    if (data === 'who') channel.postMessage({ token });
  });
}

/** Forgets a token that the server does not know. */
export function forgetToken(): void {
  sessionStorage.removeItem(STORED);
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
