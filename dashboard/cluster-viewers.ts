// The viewers of a page in a cluster: each is the user that the API server authenticates by a token, and sees what it
// answers to that token. The page has no permissions of its own, so there is nothing that it could show to the wrong
// one.
import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { SELF_SUBJECT_REVIEWS } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { isUnauthorized } from '../kubernetes/flow/api-error.ts';
import { Simulations } from './observe/simulations.ts';
import { SignInRefused, type PageAccess, type Viewer } from './server/page-access.ts';
import { SignedIn } from './signed-in.ts';

/** Tokens that are checked at the same time: each costs a connection to the API server. */
const MOST_CHECKED = 16;
/** Each viewer follows collections of their own: some MiB for 10,000 pods. */
const MOST_VIEWERS = 32;
/** Tokens of one user, and of the ServiceAccounts of one namespace: anyone who may make these takes no more places. */
const MOST_OF = { user: 4, namespace: 16 };
const CHECK_MS = 5_000;
/** RFC 6750, section 2.1. */
const TOKEN = /^[\w.~+/-]{1,16000}=*$/;
const ANONYMOUS = 'system:anonymous';
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):/;

/** Where viewers come from. */
export interface ClusterViewersOptions {
  /** A client of the API server with this token and no other credentials. */
  readonly open: (token: string) => Promise<ClusterClient>;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** How often the permissions of a viewer are reviewed, in ms; 25 s when missing. */
  readonly reviewMs?: number;
}

/** All viewers, by their tokens. */
export class ClusterViewers implements PageAccess {
  readonly signIn = 'token';
  readonly #options: ClusterViewersOptions;
  /** Of all viewers: they share one thread. */
  readonly #simulations = new Simulations();
  /** By the digest of their token. */
  readonly #viewers = new Map<string, SignedIn>();
  readonly #checks = new Map<string, Promise<SignedIn | undefined>>();
  /** Whether the API server has not answered the last check. */
  #isFailing = false;

  constructor(options: ClusterViewersOptions) {
    this.#options = options;
  }

  async redeem(text: string): Promise<string | undefined> {
    return (await this.viewerOf(text)) === undefined ? undefined : text;
  }

  async viewerOf(token: string): Promise<Viewer | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const key = hash('sha256', token, 'base64url');
    const viewer = this.#viewers.get(key) ?? (await (this.#checks.get(key) ?? this.#begin(key, token)));
    viewer?.touch();
    return viewer;
  }

  /** Signs all out. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#checks.values());
    await Promise.all([...this.#viewers.values()].map((viewer) => viewer.end()));
  }

  #begin(key: string, token: string): Promise<SignedIn | undefined> {
    if (this.#checks.size >= MOST_CHECKED) {
      throw new SignInRefused(429, 'Too many tokens are being checked. Try again in a moment.');
    }
    const check = this.#check(key, token).finally(() => this.#checks.delete(key));
    this.#checks.set(key, check);
    return check;
  }

  async #check(key: string, token: string): Promise<SignedIn | undefined> {
    const { open, signal, reviewMs } = this.#options;
    let client: ClusterClient | undefined;
    try {
      client = await open(token);
      const user = await userOf(client, signal);
      if (user === undefined) {
        await client.transport.close();
        return undefined;
      }
      this.#makeRoom(user);
      const [simulate, ended] = [this.#simulations.of(user), () => void this.#viewers.delete(key)];
      const viewer = new SignedIn({ client, user, simulate, reviewMs, ended }, signal);
      this.#viewers.set(key, viewer);
      this.#isFailing = false;
      return viewer;
    } catch (error) {
      await client?.transport.close();
      throw error instanceof SignInRefused ? error : this.#unanswered(error);
    }
  }

  /** Anybody may ask, so what went wrong, which names addresses, is for the log: once until one is checked again. */
  #unanswered(error: unknown): SignInRefused {
    if (!this.#isFailing) this.#options.logger.warn({ err: error }, 'tokens of viewers cannot be checked');
    this.#isFailing = true;
    return new SignInRefused(503, 'Tokens cannot be checked now. Try again in a moment.', error);
  }

  /** Removes a viewer who has no open screen. Throws SignInRefused when all have one. */
  #makeRoom(user: string): void {
    const all = [...this.#viewers.values()];
    const namespace = namespaceOf(user);
    this.#limit(all.filter((viewer) => viewer.user === user), MOST_OF.user, 'you');
    if (namespace !== undefined) this.#limit(
      all.filter((viewer) => namespaceOf(viewer.user) === namespace), MOST_OF.namespace,
      `ServiceAccounts of namespace ${namespace}`,
    );
    this.#limit(all, MOST_VIEWERS, 'others');
  }

  #limit(viewers: readonly SignedIn[], most: number, who: string): void {
    const looking = viewers.filter(({ hasEnded }) => !hasEnded);
    if (looking.length < most) return;
    const idle = looking.find(({ isIdle }) => isIdle);
    if (idle === undefined) throw new SignInRefused(
      429, `${most} places of this page are taken by ${who}, each with a token of its own. Close some, or try again ` +
        'later.',
    );
    void idle.end();
  }
}

/** The name of this client's user; undefined if it is not authenticated. Throws what the call throws. */
async function userOf(client: ClusterClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await client.withoutRateLimit(CHECK_MS).create(SELF_SUBJECT_REVIEWS, { metadata: {} }, signal);
    const { username = '' } = status?.userInfo ?? {};
    return username === '' || username === ANONYMOUS ? undefined : username;
  } catch (error) {
    if (isUnauthorized(error)) return undefined;
    throw error;
  }
}

function namespaceOf(user: string): string | undefined {
  return SERVICE_ACCOUNT.exec(user)?.[1];
}
