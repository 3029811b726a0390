// Who may view the page: what its server checks before it sends any data.
import type { ScreenSource } from '../wire/screen-source.ts';

/** A viewer who has signed in. */
export interface Viewer {
  readonly screens: ScreenSource;
  /** Calls back when they are not signed in any more; the returned function stops that. */
  onEnd(listener: () => void): () => void;
}

/** How viewers sign in. */
export interface PageAccess {
  /** With the one-time key of a command, or with a token of the cluster. */
  readonly signIn: 'key' | 'token';
  /** The token to send from now on; undefined for a wrong text. May reject with {@link SignInRefused}. */
  redeem(text: string): string | undefined | Promise<string | undefined>;
  /** The viewer whose token it is; undefined for an invalid one. May reject with {@link SignInRefused}. */
  viewerOf(token: string): Viewer | undefined | Promise<Viewer | undefined>;
}

/** No viewer can sign in at the moment. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
  /** Of the answer: too many requests, or an API server that does not answer. */
  readonly statusCode: 429 | 503;

  constructor(statusCode: 429 | 503, message: string, cause?: unknown) {
    super(message, { cause });
    this.statusCode = statusCode;
  }
}
