// Controller of ResourceShares in a target: feeds the ledger with them, chaperons and delegates, and publishes usage in
// the status.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceShare, ResourceShareStatus } from '../../api/kinds/resource-share.ts';
import { RESOURCE_SHARES } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { ResourceShareLedger, type ResourceShareRecord, type ResourceShareAdmission } from './resource-share-ledger.ts';
import { resourceShareStatusPatch, toResourceShareStatus } from './resource-share-status.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** What the controller works with. */
export interface ResourceShareOptions {
  readonly client: ClusterClient;
  /** All pods of the target. */
  readonly pods: Informer<Pod, TargetPod>;
  readonly logger: Logger;
}

/** Minimum interval between two writes of a share's status, in ms; it is informational. */
const STATUS_INTERVAL_MS = 5_000;

interface ObservedResourceShare extends ResourceShareRecord {
  readonly uid: string;
  readonly generation: number;
  readonly status: ResourceShareStatus;
}

/** The ResourceShares of this cluster. */
export class ResourceShares {
  readonly ledger = new ResourceShareLedger();
  readonly #options: ResourceShareOptions;
  readonly #shares: Informer<ResourceShare, ObservedResourceShare>;
  readonly #listeners: (() => void)[] = [];
  /** When the status of a share was written last, by its name, in ms of a monotonic clock. */
  readonly #writtenAt = new Map<string, number>();

  constructor(options: ResourceShareOptions) {
    this.#options = options;
    const { client, logger } = options;
    this.#shares =
      new Informer({ client, logger, type: RESOURCE_SHARES, selection: {}, project: toObservedResourceShare });
  }

  /** Starts the watch. A cluster that does not serve the kind has no ResourceShares. */
  run(signal: AbortSignal): void {
    const { pods, logger } = this.#options;
    const reconcile = (name: string) => this.#showStatus(name, signal);
    const controller = startController(
      {
        name: 'resource-share', reconcile, concurrency: 1, logger,
        ready: Promise.all([this.#shares.synced, pods.synced]),
      },
      signal,
    );
    const refresh = () => {
      for (const name of this.#shares.keys()) controller.enqueue(name);
    };
    this.#shares.onChange((name, before, after) => {
      this.ledger.set(name, after);
      if (after !== undefined) controller.enqueue(name);
      else this.#writtenAt.delete(name);
      if (JSON.stringify(before?.spec) !== JSON.stringify(after?.spec)) {
        for (const listener of this.#listeners) listener();
      }
    });
    pods.onChange((_key, before, after) => {
      if (before?.phase !== after?.phase && (after ?? before)?.chaperonUid !== undefined) refresh();
    });
    void this.#shares.run(signal);
  }

  /** Adds a listener for what is published to sources. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Counts a delegate while it exists and has not terminated, or is being created: then there is only its chaperon. */
  observe(key: string, chaperon: PodChaperon | undefined, pod: TargetPod | undefined): void {
    if (pod === undefined ? chaperon === undefined : isTerminal(pod.phase)) this.ledger.release(key);
    else if (chaperon !== undefined && chaperon.metadata.uid === pod?.chaperonUid) this.ledger.charge(
      key, sourceOf(chaperon), chaperon.spec,
    );
  }

  /** Whether the delegate of a chaperon may be created; if so it is counted. `unknown` before the shares are synced. */
  admit(key: string, chaperon: PodChaperon): ResourceShareAdmission | 'unknown' {
    if (!this.#isKnown()) return 'unknown';
    return this.ledger.admit(key, sourceOf(chaperon), chaperon.spec);
  }

  #isKnown(): boolean {
    const { connection, hasSynced } = this.#shares;
    if (!hasSynced && connection.kind === 'broken') return isNotFound(connection.error);
    return hasSynced && this.ledger.isReady;
  }

  async #showStatus(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const share = this.#shares.get(name);
    if (share === undefined) return DONE;
    const { uid, generation, spec, status: before } = share;
    const status =
      toResourceShareStatus(before, spec, this.ledger.statusOf(share), { generation, now: new Date().toISOString() });
    if (status === before) return DONE;
    const ms = (this.#writtenAt.get(name) ?? -Infinity) + STATUS_INTERVAL_MS - performance.now();
    if (ms > 0) return { kind: 'requeue-after', ms };
    const patch = { metadata: { uid }, status: resourceShareStatusPatch(before, status) };
    await this.#options.client
      .patch(RESOURCE_SHARES, { name, subresource: 'status' }, { patchType: 'merge', patch }, signal)
      .catch(unless(isNotFound));
    if (this.#shares.get(name) !== undefined) this.#writtenAt.set(name, performance.now());
    return { kind: 'requeue-after', ms: STATUS_INTERVAL_MS };
  }
}

function toObservedResourceShare(
  { metadata: { name = '', uid = '', generation = 0 }, spec, status = {} }: ResourceShare,
): ObservedResourceShare {
  return { name, uid, generation, spec, status };
}

function sourceOf({ metadata }: PodChaperon): string {
  return metadata.labels?.[PARENT_CLUSTER_LABEL] ?? '';
}
