// Observations that several screens share, alive while a screen uses them and a little longer: a page without viewers
// asks its clusters nothing.

/** How long a thing is kept after its last user went, in ms: going from one screen to another is no reason to begin. */
const KEPT_MS = 20_000;

/** A thing that runs until its signal aborts. */
export interface Running {
  run(signal: AbortSignal): Promise<void>;
}

/** Calls back at each change of what it observes. */
export abstract class Observed {
  readonly #listeners = new Set<() => void>();

  /** Calls back at each change; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A thing in use; `release` it once. */
export interface SharedUse<T> {
  readonly value: T;
  release(): void;
}

interface Entry<T> {
  readonly value: T;
  readonly ended: AbortController;
  readonly running: Promise<void>;
  users: number;
  closing: NodeJS.Timeout | undefined;
}

/** Running things by key. */
export class Shared<T extends Running> {
  readonly #make: (key: string) => T;
  readonly #keptMs: number;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(make: (key: string) => T, keptMs: number = KEPT_MS) {
    [this.#make, this.#keptMs] = [make, keptMs];
  }

  /** The thing of that key; it starts with its first user. */
  use(key: string): SharedUse<T> {
    const entry = this.#entries.get(key) ?? this.#start(key);
    clearTimeout(entry.closing);
    entry.users += 1;
    return { value: entry.value, release: () => this.#release(key, entry) };
  }

  /** Ends all of them, used or not. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    for (const key of this.#entries.keys()) this.#end(key);
    await Promise.all(entries.map(({ running }) => running));
  }

  #start(key: string): Entry<T> {
    const [value, ended] = [this.#make(key), new AbortController()];
    const running = value.run(ended.signal).catch(() => undefined); // it says itself what went wrong
    const entry = { value, ended, running, users: 0, closing: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #release(key: string, entry: Entry<T>): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.closing = setTimeout(() => this.#end(key), this.#keptMs).unref();
  }

  #end(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    clearTimeout(entry.closing);
    this.#entries.delete(key);
    entry.ended.abort();
  }
}
