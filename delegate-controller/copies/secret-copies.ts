// Copies of Secrets in any target: reported where the target supports SecretCopies, now or after its next update;
// otherwise listed and read.
import { forwardAbort, onAbort } from '../../kubernetes/flow/abort.ts';
import { isUnreadable } from '../../kubernetes/flow/api-error.ts';
import type { ConnectionState } from '../../kubernetes/watch/informer.ts';
import type { Copies, CopiesOptions, CopyWrite, Written } from './copy-writer.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';
import { ReadableCopies } from './readable-copies.ts';
import { UnreadableCopies } from './unreadable-copies.ts';

/** Copies of Secrets in a target of any version, including a Pod-mode target. */
export class SecretCopies implements Copies {
  readonly #options: CopiesOptions;
  readonly #reported: UnreadableCopies;
  readonly #listeners: ((key: string) => void)[] = [];
  #read: { readonly copies: ReadableCopies; readonly stop: AbortController } | undefined;

  constructor(options: CopiesOptions) {
    this.#options = options;
    this.#reported = new UnreadableCopies(options);
  }

  get #current(): Copies {
    return this.#reported.hasSynced ? this.#reported : (this.#read?.copies ?? this.#reported);
  }

  get hasSynced(): boolean {
    return this.#current.hasSynced;
  }

  get connection(): ConnectionState {
    return this.#current.connection;
  }

  keys(): Iterable<string> {
    return this.#current.keys();
  }

  get(key: string, source: SourceObject | undefined | 'unknown'): CopyObject | undefined {
    return this.#current.get(key, source);
  }

  onChange(listener: (key: string) => void): void {
    this.#listeners.push(listener);
    this.#reported.onChange(listener);
  }

  run(signal: AbortSignal): void {
    this.#reported.onConnection((state) => {
      // the kind is not served there, or its permissions were not granted
      if (state.kind === 'broken' && isUnreadable(state.error) && !this.#reported.hasSynced) this.#startReading(signal);
    });
    this.#reported.onListed(() => {
      // the target serves SecretCopies now, and its controller may not have written one yet
      if ([...(this.#read?.copies.keys() ?? [])].length > 0) this.#reported.expectReports();
      this.#read?.stop.abort();
      this.#read = undefined;
    });
    this.#reported.run(signal);
  }

  forget(key: string): void {
    this.#current.forget(key);
  }

  write(write: CopyWrite, signal: AbortSignal): Promise<Written> {
    return this.#current.write(write, signal);
  }

  #startReading(signal: AbortSignal): void {
    if (this.#read !== undefined) return;
    const stop = new AbortController();
    this.#read = { copies: new ReadableCopies(this.#options), stop };
    for (const listener of this.#listeners) this.#read.copies.onChange(listener);
    onAbort(stop.signal, forwardAbort([signal], stop));
    this.#read.copies.run(stop.signal);
  }
}
