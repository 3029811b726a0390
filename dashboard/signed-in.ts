// A viewer of a page in a cluster, from the time that the API server has accepted their token until it no longer does,
// or no screen was open for a while.
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { forwardAbort } from '../kubernetes/flow/abort.ts';
import type { Viewer } from './server/page-access.ts';
import type { Simulate } from './observe/simulations.ts';
import { Screens } from './screens.ts';

/** A viewer without an open screen is forgotten after this, in ms. */
const IDLE_MS = 60_000;

/** What a viewer is made of. */
export interface SignedInOptions {
  /** With the viewer's token; closed at the end. */
  readonly client: ClusterClient;
  /** The name that the API server knows them by. */
  readonly user: string;
  /** Runs their simulations. */
  readonly simulate: Simulate;
  /** How often the permissions of the viewer are reviewed, in ms; 25 s when missing. */
  readonly reviewMs: number | undefined;
  /** Called once, at the end. */
  readonly ended: () => void;
}

/** One token. */
export class SignedIn implements Viewer {
  readonly screens: Screens;
  readonly #options: SignedInOptions;
  readonly #stopped = new AbortController();
  readonly #forget: () => void;
  readonly #listeners = new Set<() => void>();
  #idle: NodeJS.Timeout | undefined;
  #ending: Promise<void> | undefined;

  constructor(options: SignedInOptions, signal: AbortSignal) {
    const { client, simulate, reviewMs } = options;
    this.#options = options;
    this.#forget = forwardAbort([signal], this.#stopped);
    const [{ signal: stopped }, unauthorized] = [this.#stopped, () => void this.end()];
    this.screens = new Screens({ client, signal: stopped, simulate, reviewMs, unauthorized });
    this.touch();
  }

  /** The name that the API server knows them by. */
  get user(): string {
    return this.#options.user;
  }

  /** Whether they have been signed out. */
  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether no screen is open. */
  get isIdle(): boolean {
    return this.#listeners.size === 0;
  }

  /** Something was asked for: the time without an open screen begins again. */
  touch(): void {
    clearTimeout(this.#idle);
    if (this.isIdle && this.#ending === undefined) this.#idle = setTimeout(() => void this.end(), IDLE_MS).unref();
  }

  onEnd(listener: () => void): () => void {
    if (this.#ending !== undefined) listener();
    this.#listeners.add(listener);
    this.touch();
    return () => {
      this.#listeners.delete(listener);
      this.touch();
    };
  }

  /** Ends what is observed, and notifies open screens. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#options.ended();
    for (const listener of this.#listeners) listener();
    this.#stopped.abort();
    this.#forget();
    await this.screens.close();
    await this.#options.client.transport.close();
  }
}
