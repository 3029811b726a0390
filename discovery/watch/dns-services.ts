// The services that a domain announces, looked up again and again: PTR, then SRV and TXT of each. c-ares, the resolver
// of Node.js, parses the answers, with limits of its own on names and sizes.
import { Resolver } from 'node:dns/promises';
import { messageOf } from '../../process/errors.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { DnsChoice } from '../../api/registry/registry-choice.ts';
import { instancesOf, SERVICE_TYPE, toDnsService, type DnsService } from '../entry/dns-service.ts';

/** What is known of a domain. */
export type DnsReading =
  | { readonly kind: 'reading' }
  | {
    readonly kind: 'read'; readonly services: readonly DnsService[];
    /** Set while DNS cannot be asked: this is what it said before. */
    readonly isStale?: true
  }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Pause between two looks in ms, whatever the records' TTL is. */
const LOOK_MS = 30_000;
/** Of one query, in ms. */
const TIMEOUTS = { timeout: 5_000, tries: 3, maxTimeout: 10_000 };
/** There is no such name, or it has no records of the type: an answer, not a failure. */
const NOTHING: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/** Looks a domain up. */
export class DnsServices {
  readonly #choice: DnsChoice;
  readonly #pauseMs: number;
  readonly #resolver = new Resolver(TIMEOUTS);
  #reading: DnsReading = { kind: 'reading' };

  constructor(choice: DnsChoice, pauseMs = LOOK_MS) {
    this.#choice = choice;
    this.#pauseMs = pauseMs;
    if (choice.server !== undefined) this.#resolver.setServers([choice.server]);
  }

  /** The last answer. */
  get reading(): DnsReading {
    return this.#reading;
  }

  /** Looks until `signal` is aborted; `changed` is called when {@link reading} has changed. Never throws. */
  async run(changed: () => void, signal: AbortSignal): Promise<void> {
    onAbort(signal, () => this.#resolver.cancel());
    while (!signal.aborted) {
      const before = JSON.stringify(this.#reading);
      this.#reading = await this.#look();
      if (signal.aborted) return;
      if (JSON.stringify(this.#reading) !== before) changed();
      await delay(this.#pauseMs, signal).catch(() => undefined);
    }
  }

  /** One lookup that fails leaves all as it was: half an answer would be another one. */
  async #look(): Promise<DnsReading> {
    const { domain } = this.#choice;
    try {
      const names = await this.#records(this.#resolver.resolvePtr(`${SERVICE_TYPE}.${domain}`));
      const services: DnsService[] = [];
      for (const instance of instancesOf(domain, names)) services.push(await this.#service(instance));
      return { kind: 'read', services };
    } catch (error) {
      if (this.#reading.kind === 'read') return { ...this.#reading, isStale: true };
      return { kind: 'unreadable', message: `${SERVICE_TYPE}.${domain} cannot be looked up: ${messageOf(error)}` };
    }
  }

  async #service(instance: string): Promise<DnsService> {
    const name = `${instance}.${SERVICE_TYPE}.${this.#choice.domain}`;
    const [addresses, texts] = await Promise.all([
      this.#records(this.#resolver.resolveSrv(name)), this.#records(this.#resolver.resolveTxt(name)),
    ]);
    return toDnsService(instance, addresses, texts.flat());
  }

  async #records<T>(asked: Promise<T[]>): Promise<readonly T[]> {
    return asked.catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && NOTHING.has(error.code)) return [];
      throw error;
    });
  }
}
