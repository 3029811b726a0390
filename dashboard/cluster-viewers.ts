// The viewers of a page in a cluster: each is whoever the API server takes their token for, and sees what it answers to
// that token. The page has no rights of its own, so there is nothing that it could show to the wrong one.
import { hash } from 'node:crypto';
import { SELF_SUBJECT_REVIEWS } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { isUnauthorized } from '../kubernetes/flow/api-error.ts';
import { messageOf } from '../process/errors.ts';
import { SignInRefused, type PageAccess, type Viewer } from './server/page-access.ts';
import { SignedIn } from './signed-in.ts';

/** Tokens that are checked at the same time: each costs a connection to the API server. */
const MOST_CHECKED = 16;
/** Each viewer follows collections of their own: some MiB for 10,000 pods. */
const MOST_VIEWERS = 32;
const CHECK_MS = 5_000;
/** RFC 6750, section 2.1. */
const TOKEN = /^[\w.~+/-]{1,16000}=*$/;
const ANONYMOUS = 'system:anonymous';

/** Where viewers come from. */
export interface ClusterViewersOptions {
  /** A client of the API server with this token and no other credentials. */
  readonly open: (token: string) => Promise<ClusterClient>;
  readonly signal: AbortSignal;
  /** How often the rights of a viewer are reviewed, in ms; 25 s when missing. */
  readonly reviewMs?: number;
}

/** All viewers, by their tokens. */
export class ClusterViewers implements PageAccess {
  readonly signIn = 'token';
  readonly #options: ClusterViewersOptions;
  /** By the digest of their token. */
  readonly #viewers = new Map<string, SignedIn>();
  readonly #checks = new Map<string, Promise<SignedIn | undefined>>();

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
    const client = await open(token);
    try {
      if (await isSomebodys(client, signal)) {
        this.#makeRoom();
        const viewer = new SignedIn({ client, reviewMs, ended: () => this.#viewers.delete(key) }, signal);
        this.#viewers.set(key, viewer);
        return viewer;
      }
    } catch (error) {
      await client.transport.close();
      throw error instanceof SignInRefused ? error
        : new SignInRefused(503, `The API server cannot check the token: ${messageOf(error)}`, error);
    }
    await client.transport.close();
    return undefined;
  }

  /** Whoever looks at nothing gives way. Throws SignInRefused when all do. */
  #makeRoom(): void {
    if (this.#viewers.size < MOST_VIEWERS) return;
    const idle = [...this.#viewers.values()].find(({ isIdle }) => isIdle);
    if (idle === undefined) {
      throw new SignInRefused(429, `${MOST_VIEWERS} people are looking at this page. Try again later.`);
    }
    void idle.end();
  }
}

/** Whether the API server knows the user of this client. Throws what the call throws. */
async function isSomebodys(client: ClusterClient, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await client.urgent(CHECK_MS).create(SELF_SUBJECT_REVIEWS, { metadata: {} }, signal);
    const { username = '' } = status?.userInfo ?? {};
    return username !== '' && username !== ANONYMOUS;
  } catch (error) {
    if (isUnauthorized(error)) return false;
    throw error;
  }
}
