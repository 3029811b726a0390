// Copies that are written but never read: a source may write its own Secrets in a target and read none (ADR 0024). It
// knows what exists from the target's SecretCopies, and until those arrive from the responses to its writes.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { SECRET_COPIES } from '../../api/resource-types.ts';
import type { SecretCopy, SecretCopySpec } from '../../api/kinds/secret-copy.ts';
import { isAlreadyExists } from '../../kubernetes/flow/api-error.ts';
import { Informer, type ConnectionState } from '../../kubernetes/watch/informer.ts';
import { WatchDemand } from '../../kubernetes/watch/watch-demand.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { Copies, CopiesOptions, CopyWrite, Written } from './copy-writer.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';
import { toReportedCopy } from './followed-copy.ts';
import { unreadableCopy, versionDigest, writtenCopy, type LastWrite } from './unreadable-copy.ts';

/** Copies of Secrets in a target that reports SecretCopies. */
export class UnreadableCopies implements Copies {
  readonly #options: CopiesOptions;
  readonly #demand = new WatchDemand();
  readonly #reports: Informer<SecretCopy, SecretCopySpec>;
  readonly #written = new Map<string, LastWrite>();
  /** Keys where a create conflicted with an object that has no report. */
  readonly #clashes = new Set<string>();

  constructor(options: CopiesOptions) {
    this.#options = options;
    const { client, namespace, sourceId, logger } = options;
    this.#reports = new Informer({
      client, logger, demand: this.#demand, type: SECRET_COPIES,
      selection: { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` }, project: ({ spec }) => spec,
    });
    this.#reports.onChange((key) => {
      this.#written.delete(key);
      this.#clashes.delete(key);
    });
  }

  get hasSynced(): boolean {
    return this.#reports.hasSynced;
  }

  get connection(): ConnectionState {
    return this.#reports.connection;
  }

  keys(): Iterable<string> {
    return new Set([...this.#reports.keys(), ...this.#written.keys()]);
  }

  get(key: string, source: SourceObject | undefined | 'unknown'): CopyObject | undefined {
    const report = this.#reports.get(key);
    const written = this.#written.get(key);
    return written === undefined ? report && unreadableCopy(key, report, source) : writtenCopy(key, written, source);
  }

  onChange(listener: (key: string) => void): void {
    this.#reports.onChange(listener);
  }

  run(signal: AbortSignal): void {
    void this.#reports.run(signal);
  }

  forget(key: string): void {
    this.#written.delete(key);
  }

  /** There are copies whose reports are still to come. */
  expectReports(): void {
    this.#demand.ask();
  }

  onConnection(listener: (state: ConnectionState) => void): void {
    this.#reports.onConnection(listener);
  }

  onListed(listener: () => void): void {
    this.#reports.onListed(listener);
  }

  async write({ object, copy }: CopyWrite, signal: AbortSignal): Promise<Written> {
    this.#demand.ask();
    const { client, kind, sourceId } = this.#options;
    const key = objectKey(object.metadata);
    const desired = toReportedCopy(kind, object, sourceId);
    const stored = copy === undefined ? await this.#create(key, desired, signal) : await client
      .update(kind.type, { ...desired, metadata: { ...desired.metadata, uid: copy.uid } }, signal);
    if (stored === undefined) return this.#clash(key);
    const { uid = '', resourceVersion = '' } = stored.metadata;
    const { uid: parentUid = '', resourceVersion: parentVersion = '' } = object.metadata;
    this.#written.set(key, { uid, parentUid, parentVersion });
    return { kind: 'stored', digest: versionDigest(resourceVersion) };
  }

  async #create(key: string, desired: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    try {
      const stored = await this.#options.client.create(this.#options.kind.type, desired, signal);
      this.#clashes.delete(key);
      return stored;
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** It may be a copy of this source whose report is delayed. An object without a report is never changed. */
  #clash(key: string): Written {
    const isKnown = this.#clashes.has(key) && this.#demand.isWatched;
    this.#clashes.add(key);
    return { kind: isKnown && this.#reports.get(key) === undefined ? 'foreign' : 'stale' };
  }
}
