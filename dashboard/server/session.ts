// The one session of a running page. The key that the command prints is good for one exchange; the token that it is
// exchanged for is sent as a header by the page's own script. A cookie would be sent to every port of this machine.
import { hash, timingSafeEqual } from 'node:crypto';
import type { ScreenSource } from '../wire/screen-source.ts';
import type { PageAccess, Viewer } from './page-access.ts';

/** Secrets of a session; both are random texts of at least 128 bits. */
export interface SessionSecrets {
  readonly key: string;
  readonly token: string;
}

/** Knows the digests of both; the token itself until it was given away. */
export class Session implements PageAccess {
  readonly signIn = 'key';
  readonly #viewer: Viewer;
  #key: Buffer | undefined;
  #token: string | undefined;
  readonly #admitted: Buffer;

  /** `screens` are those of the viewer who has the token. */
  constructor({ key, token }: SessionSecrets, screens: ScreenSource) {
    this.#viewer = { screens, onEnd: () => () => undefined };
    this.#key = digest(key);
    this.#token = token;
    this.#admitted = digest(token);
  }

  /** The token for the key, the first time. */
  redeem(key: string): string | undefined {
    if (this.#key === undefined || !timingSafeEqual(this.#key, digest(key))) return undefined;
    const token = this.#token;
    [this.#key, this.#token] = [undefined, undefined];
    return token;
  }

  /** The viewer, once the token was given away. */
  viewerOf(token: string): Viewer | undefined {
    return this.#key === undefined && timingSafeEqual(this.#admitted, digest(token)) ? this.#viewer : undefined;
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
