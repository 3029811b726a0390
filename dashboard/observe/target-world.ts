// The scheduler's state as a viewer may rebuild it: it needs the right to list all elected pods and to read the
// kubeconfigs of targets. Where they lack it, the screens say so and show what the source alone says.
import { failureText } from '../../cli/output/error-text.ts';
import { withLiveWorld, type LiveWorld, type LiveWorldFlags } from '../../cli/placement/live-world.ts';
import { isForbidden } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { aborted } from '../../process/lifecycle.ts';
import type { Gap } from '../wire/screens.ts';
import type { Running } from './shared.ts';

/** Time in ms after which a world that could not be opened is tried again. */
const RETRY_MS = 30_000;
/** A snapshot is used for this long, in ms. */
const FRESH_MS = 2_000;
const WHAT = 'the evaluation of targets';

/** The world, opened while somebody looks. */
export class TargetWorld implements Running {
  readonly #flags: LiveWorldFlags;
  readonly #listeners = new Set<() => void>();
  #live: LiveWorld | undefined;
  #gap: Gap | undefined;
  #look: Promise<LiveWorld> | undefined;

  constructor(flags: LiveWorldFlags) {
    this.#flags = flags;
  }

  /** Keeps it open until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await withLiveWorld(this.#flags, (live) => this.#use(live, signal), signal)
        .catch((error: unknown) => this.#failed(error));
      this.#live = undefined;
      if (!signal.aborted) await delay(RETRY_MS, signal).catch(() => undefined);
    }
  }

  /** The world as it is now, why there is none, or undefined while it is being opened. */
  async look(): Promise<LiveWorld | Gap | undefined> {
    if (this.#live === undefined) return this.#gap;
    this.#look ??= this.#live.again().finally(() => setTimeout(() => (this.#look = undefined), FRESH_MS).unref());
    return this.#look.catch((error: unknown) => gapOf(error));
  }

  /** Calls back when the world is there, and when targets or delegates change; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #use(live: LiveWorld, signal: AbortSignal): Promise<void> {
    [this.#live, this.#gap, this.#look] = [live, undefined, undefined];
    const changed = () => this.#changed();
    live.sessions.listen({
      changed, removed: changed, sessionOpened: (_target, session) => session.delegates.onChange(changed),
    });
    this.#changed();
    await aborted(signal);
  }

  #failed(error: unknown): void {
    this.#gap = gapOf(error);
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function gapOf(error: unknown): Gap {
  const advice = isForbidden(error)
    ? 'It needs the right to list all pods and to read the Secrets with the kubeconfigs of targets. Without it, see ' +
      'the last message of the scheduler on the pod.'
    : 'Retrying every 30 seconds.';
  return { what: WHAT, why: failureText(error), advice };
}
