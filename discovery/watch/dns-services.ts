// The services that a domain announces, looked up again and again: PTR, then SRV and TXT of each. c-ares, the resolver
// of Node.js, parses the answers, with limits of its own on names and sizes.
import { Resolver } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import PQueue from 'p-queue';
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
    /** Set while something cannot be looked up: of that, this is what was known before. */
    readonly isStale?: true
  }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Pause between two looks in ms, whatever the records' TTL is. */
const INTERVAL_MS = 30_000;
/** Of one query, in ms. */
const TIMEOUTS = { timeout: 5_000, tries: 3, maxTimeout: 10_000 };
const A_PORT = 'a port from 1 to 65535';
/** Services that are looked up at once. */
const AT_ONCE = 8;
/** There is no such name, or it has no records of the type: an answer, not a failure. */
const NOTHING: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Whether a text is an address, and a port from 1 to 65535 unless that is left out. The resolver ends the process for
 * some that are not.
 */
export function isDnsServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const cut = text.lastIndexOf(':');
  const [host, port] = [text.slice(0, cut), text.slice(cut + 1)];
  const isHost = isIPv4(host) || (host.startsWith('[') && host.endsWith(']') && isIP(host.slice(1, -1)) === 6);
  return isHost && /^[1-9]\d{0,4}$/.test(port) && Number(port) < 65_536;
}

/** Looks a domain up. */
export class DnsServices {
  readonly #choice: DnsChoice;
  readonly #pauseMs: number;
  readonly #resolver = new Resolver(TIMEOUTS);
  #reading: DnsReading = { kind: 'reading' };

  constructor(choice: DnsChoice, pauseMs = INTERVAL_MS) {
    this.#choice = choice;
    this.#pauseMs = pauseMs;
    const { server } = choice;
    if (server === undefined) return;
    if (isDnsServer(server)) this.#resolver.setServers([server]);
    else this.#reading = { kind: 'unreadable', message: `server ${server} is no IP address with ${A_PORT}` };
  }

  /** The last answer. */
  get reading(): DnsReading {
    return this.#reading;
  }

  /** Looks until `signal` is aborted; `changed` is called when {@link reading} has changed. Never throws. */
  async run(changed: () => void, signal: AbortSignal): Promise<void> {
    if (this.#reading.kind === 'unreadable') return changed();
    onAbort(signal, () => this.#resolver.cancel());
    while (!signal.aborted) {
      const before = JSON.stringify(this.#reading);
      this.#reading = await this.#look();
      if (signal.aborted) return;
      if (JSON.stringify(this.#reading) !== before) changed();
      await delay(this.#pauseMs, signal).catch(() => undefined);
    }
  }

  /** What cannot be looked up stays as it was known: it is not gone. */
  async #look(): Promise<DnsReading> {
    const { domain } = this.#choice;
    try {
      const names = await this.#records(this.#resolver.resolvePtr(`${SERVICE_TYPE}.${domain}`));
      return await this.#lookUp(instancesOf(domain, names));
    } catch (error) {
      if (this.#reading.kind === 'read') return { ...this.#reading, isStale: true };
      return { kind: 'unreadable', message: `${SERVICE_TYPE}.${domain} cannot be looked up: ${messageOf(error)}` };
    }
  }

  /** Throws the first failure when nothing is known of any. */
  async #lookUp(instances: readonly string[]): Promise<DnsReading> {
    const known = new Map(this.#reading.kind === 'read' ? this.#reading.services.map((one) => [one.name, one]) : []);
    const failures: unknown[] = [];
    const queue = new PQueue({ concurrency: AT_ONCE });
    const lookUp = (instance: string) => this.#service(instance).catch((error: unknown) => {
      failures.push(error);
      return known.get(instance);
    });
    const found = await queue.addAll(instances.map((instance) => () => lookUp(instance)));
    const services = found.filter((service) => service !== undefined);
    if (failures.length > 0 && services.length === 0) throw failures[0];
    return { kind: 'read', services, ...(failures.length > 0 && { isStale: true }) };
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
