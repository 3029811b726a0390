// `isthmus get -w`: prints what is there, then each line that changes.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { createLogger } from '../../process/logger.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { collectionsOf, selected, withType, type Wanted } from './kinds.ts';
import type { Printed } from './outputs.ts';

/** Changes within this time are printed together, in ms. */
const GATHER_MS = 200;

/** Renders the objects that are there now. */
export type Show = (objects: readonly KubernetesObject[]) => Promise<Printed>;

/** What is watched: objects of the source and, where given, the delegates that targets show. */
export interface Watched {
  readonly client: ClusterClient;
  readonly sessions?: TargetClusters;
}

/**
 * Prints until the signal aborts.
 * @throws the error of the first list when it fails: what may not be read is not awaited.
 */
export async function watchObjects(
  { client, sessions }: Watched, wanted: Wanted, show: Show, signal: AbortSignal,
): Promise<void> {
  const changes = new Changes(signal);
  const logger = createLogger('silent');
  const informers = collectionsOf(wanted).map(([type, selection]) =>
    new Informer<KubernetesObject, KubernetesObject>(
      { client, logger, type, selection, project: (object) => withType(type, object) },
    ));
  const following = informers.map((informer) => {
    informer.onChange(() => changes.note());
    informer.onListed(() => changes.note());
    informer.onConnection((state) => state.kind === 'broken' && !informer.hasSynced && changes.fail(state.error));
    return informer.run(changes.signal);
  });
  sessions?.listen({ sessionOpened: (_target, session) => session.delegates.onChange(() => changes.note()) });
  try {
    const printed = new ChangedLines();
    while (await changes.next()) {
      if (!informers.every(({ hasSynced }) => hasSynced)) continue;
      printed.print(await show(selected(informers.flatMap((informer) => [...informer.records()]), wanted)));
      await delay(GATHER_MS, signal);
    }
  } finally {
    changes.end();
    await Promise.all(following);
  }
  signal.throwIfAborted();
}

/** Wakes one waiter. */
class Changes {
  readonly #ended = new AbortController();
  #isNew = false;
  #error: unknown;
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    onAbort(signal, () => this.end());
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  note(): void {
    this.#isNew = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#error ??= error;
    this.#wake();
  }

  end(): void {
    this.#ended.abort();
    this.#wake();
  }

  /** Resolves with true after a change, with false at the end. Throws what {@link fail} was given. */
  async next(): Promise<boolean> {
    while (!this.#isNew && this.#error === undefined && !this.#ended.signal.aborted) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    this.#isNew = false;
    if (this.#error !== undefined) throw this.#error;
    return !this.#ended.signal.aborted;
  }
}

/** An age that grows, and the spaces around it: a line is the same without them. */
const AGE = /\s+(?:\d+[smhd]){1,2}(?=\s|$)|\s+/g;

/** Prints a title once, and each line when it is new. */
export class ChangedLines {
  readonly #print: (line: string) => void;
  #title: string | undefined;
  #before = new Set<string>();

  constructor(print: (line: string) => void = (line) => console.log(line)) {
    this.#print = print;
  }

  /** Prints what differs from the last call. */
  print({ title, lines }: Printed): void {
    if (title !== undefined && this.#title === undefined) this.#print((this.#title = title));
    const now = new Set(lines.map((line) => line.replaceAll(AGE, ' ')));
    for (const line of lines) if (!this.#before.has(line.replaceAll(AGE, ' '))) this.#print(line);
    this.#before = now;
  }
}
