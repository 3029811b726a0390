// Checks of the access to registry entries, one by one: an entry that does not answer delays no other. The result
// is kept as long as the access stays as it is.
import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { DONE, startController, type Controller, type ReconcileResult } from '../kubernetes/controller/controller.ts';
import { retryAfterMs, UNCHECKED, type AccessResult } from './access/access-result.ts';
import { checkAccess, type AccessCheck, type CheckOptions, type KubeconfigAccess } from './access/check-access.ts';

/** An entry whose access is checked. */
export interface CheckedEntry extends Pick<AccessCheck, 'member'> {
  readonly entry: string;
  readonly access: KubeconfigAccess;
}

/** Options of all checks. */
export interface EntryChecksOptions extends CheckOptions {
  readonly logger: Logger;
  /** What the target of an entry has, if there is one. */
  readonly knownOf: (discovery: string, entry: string) => AccessCheck['known'];
  /** Called with the TargetDiscovery when a result has changed. */
  readonly changed: (discovery: string) => void;
}

interface Checked extends CheckedEntry {
  readonly digest: string;
  result: AccessResult;
  failures: number;
}

/** Concurrent checks: one that hangs until its deadline occupies one place. */
const CONCURRENCY = 64;

/** All checks of a process. */
export class EntryChecks {
  readonly #options: EntryChecksOptions;
  readonly #checked = new Map<string, Map<string, Checked>>();
  readonly #controller: Controller;

  constructor(options: EntryChecksOptions, signal: AbortSignal) {
    this.#options = options;
    const reconcile = (key: string) => this.#check(key, signal);
    this.#controller =
      startController({ name: 'registry-entry', reconcile, concurrency: CONCURRENCY, logger: options.logger }, signal);
  }

  /** Checks these entries of a TargetDiscovery if their access is new, and forgets all others. */
  want(discovery: string, entries: readonly CheckedEntry[]): void {
    const before = this.#checked.get(discovery);
    const after = new Map<string, Checked>();
    for (const entry of entries) {
      const digest = hash('sha256', JSON.stringify([entry.access, entry.member]), 'hex');
      const known = before?.get(entry.entry);
      const isSame = known?.digest === digest;
      after.set(entry.entry, isSame ? known : { ...entry, digest, result: UNCHECKED, failures: 0 });
    }
    this.#checked.set(discovery, after); // before a check starts, which it may do at once
    for (const [entry, checked] of after) {
      if (checked !== before?.get(entry)) this.#controller.enqueue(`${discovery}${SEPARATOR}${entry}`);
    }
  }

  /** Forgets a TargetDiscovery. */
  forget(discovery: string): void {
    this.#checked.delete(discovery);
  }

  /** What is known of an entry. */
  resultOf(discovery: string, entry: string): AccessResult {
    return this.#checked.get(discovery)?.get(entry)?.result ?? UNCHECKED;
  }

  async #check(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const [discovery = '', entry = ''] = key.split(SEPARATOR);
    const checked = this.#find(discovery, entry);
    if (checked === undefined || ['answered', 'refused'].includes(checked.result.kind)) return DONE;
    const { tenants, userAgent, gateways, knownOf, changed } = this.#options;
    const { access, member } = checked;
    const result = await checkAccess(
      { tenants, userAgent, gateways, access, member, known: knownOf(discovery, entry) }, signal,
    );
    if (this.#find(discovery, entry) !== checked) return DONE; // replaced in the meantime, and enqueued again
    checked.result = result;
    changed(discovery);
    if (result.kind !== 'unanswered') return DONE;
    checked.failures += 1;
    return { kind: 'requeue-after', ms: retryAfterMs(checked.failures) };
  }

  #find(discovery: string, entry: string): Checked | undefined {
    return this.#checked.get(discovery)?.get(entry);
  }
}

/** In no name of an object. */
const SEPARATOR = '\n';
