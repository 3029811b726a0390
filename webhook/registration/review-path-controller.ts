// Manages the secret webhook path: generates the secret, passes it to the server, and writes it into the webhook
// configurations, again when these are re-applied. API servers and other replicas see a new path with a delay, so the
// previous one is accepted a while longer.
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { SECRETS, type WebhookConfiguration } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import {
  isSegmentDue, missingAddresses, namedSegments, newSegment,
  segmentData, storedSegment, writableAt, type NewAddress, type OpenSegments, type PathTimes, type StoredSegment,
} from './review-path.ts';
import { keySecretSelection, logUnreadable, writeKeySecret } from './key-secret.ts';
import { PATH_FIELD_MANAGER, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_CONFIGURATION_TYPES } from './webhook-address.ts';

const KEY = 'path';
const MIN_WAIT_MS = 100;

const TIMES: PathTimes = { rollout: 60_000, spread: 3_000, overlap: 60_000, renew: 3_600_000 };

/** Dependencies of the controller. */
export interface ReviewPathOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly logger: Logger;
  /** The defaults when omitted. */
  readonly times?: PathTimes | undefined;
}

interface Stored {
  readonly known: StoredSegment | undefined;
  readonly resourceVersion: string;
}

/** The accepted paths, and their controller. It waits for configurations that are not installed yet. */
export class ReviewPaths {
  /** Resolves when segment and configurations are known; it does not wait for what is not installed. */
  readonly ready: Promise<void>;
  readonly #options: ReviewPathOptions;
  readonly #signal: AbortSignal;
  readonly #secrets: Informer<Secret, Stored>;
  readonly #configurations: ReadonlyMap<
    ResourceType<WebhookConfiguration>, Informer<WebhookConfiguration, WebhookConfiguration>
  >;
  readonly #startedAt = Date.now();
  /** When a configuration last named each segment, in ms since the epoch. */
  readonly #named = new Map<string, number>();
  /** The segments named now. */
  #naming: ReadonlySet<string> = new Set();
  #open: OpenSegments = [];
  #isReady: () => void = () => undefined;

  /** Starts the controller. */
  constructor(options: ReviewPathOptions, signal: AbortSignal) {
    const { client, installNamespace, logger } = options;
    this.#options = options;
    this.#signal = signal;
    this.ready = new Promise((resolve, reject) => {
      this.#isReady = resolve;
      onAbort(signal, () => reject(signal.reason as Error)); // perhaps it is stopped already
    });
    this.ready.catch(() => undefined); // reported to the caller that awaits it
    this.#secrets = new Informer({
      client, logger, type: SECRETS,
      selection: keySecretSelection(installNamespace),
      project: (secret) => ({ known: storedSegment(secret), resourceVersion: secret.metadata.resourceVersion ?? '' }),
    });
    const inform = fullInformersOf({ client, logger });
    this.#configurations = new Map(WEBHOOK_CONFIGURATION_TYPES.map(
      (type) => [type, inform(type, { name: WEBHOOK_CONFIGURATION_NAME })],
    ));
    const controller =
      startController({ name: 'webhook-path', reconcile: () => this.#reconcile(), concurrency: 1, logger }, signal);
    const informers = [this.#secrets, ...this.#configurations.values()];
    this.#secrets.onConnection(logUnreadable(installNamespace, logger));
    this.#secrets.onChange(() => controller.enqueue(KEY));
    for (const informer of this.#configurations.values()) {
      informer.onChange(() => {
        this.#look(); // at once: API servers use the new path from now on
        controller.enqueue(KEY);
      });
    }
    for (const informer of informers) void informer.run(signal);
    void Promise.all(informers.map((informer) => informer.synced)).then(() => controller.enqueue(KEY));
  }

  /** The paths accepted now. */
  open(): OpenSegments {
    return this.#open;
  }

  get #times(): PathTimes {
    return this.#options.times ?? TIMES;
  }

  async #reconcile(): Promise<ReconcileResult> {
    if (![this.#secrets, ...this.#configurations.values()].every(({ hasSynced }) => hasSynced)) return DONE;
    const now = Date.now();
    const [{ known, resourceVersion } = { known: undefined, resourceVersion: '' }] = this.#secrets.records();
    this.#look();
    if (known === undefined || isSegmentDue(known, this.#times, this.#startedAt, now)) {
      await this.#write({ segment: newSegment(randomBytes), since: now }, resourceVersion);
      return DONE; // the watch delivers what was written
    }
    this.#isReady();
    const later = [
      known.since + this.#times.renew,
      ...[...this.#named].filter(([segment]) => !this.#naming.has(segment)).map(([, at]) => at + this.#times.overlap),
    ];
    for (const [type, informer] of this.#configurations) {
      const configuration = informer.get(WEBHOOK_CONFIGURATION_NAME);
      const webhooks = configuration === undefined ? [] : missingAddresses(configuration, known.segment);
      if (configuration === undefined || webhooks.length === 0) continue;
      const at = writableAt(configuration, known, this.#times, this.#startedAt);
      if (at > now) later.push(at);
      else await this.#apply(type, webhooks);
    }
    return { kind: 'requeue-after', ms: Math.max(MIN_WAIT_MS, Math.min(...later) - now) };
  }

  /** Accepted paths follow from the segment and from the configurations, now and a while ago. */
  #look(): void {
    const now = Date.now();
    const configurations = [...this.#configurations.values()].flatMap((informer) => [...informer.records()]);
    const before = this.#naming;
    this.#naming = new Set(configurations.flatMap(namedSegments));
    for (const segment of [...before, ...this.#naming]) this.#named.set(segment, now);
    for (const [segment, at] of this.#named) if (now >= at + this.#times.overlap) this.#named.delete(segment);
    const newest = [...this.#secrets.records()].flatMap(({ known }) => (known === undefined ? [] : [known.segment]));
    this.#open = [...new Set([...newest, ...this.#named.keys()])];
  }

  async #apply(type: ResourceType<WebhookConfiguration>, webhooks: readonly NewAddress[]): Promise<void> {
    await this.#options.client.apply(
      type, { metadata: { name: WEBHOOK_CONFIGURATION_NAME }, webhooks } as KubernetesObject, PATH_FIELD_MANAGER,
      this.#signal,
    );
    this.#options.logger.info({ kind: type.kind }, 'webhook configuration has the path of this webhook');
  }

  async #write(stored: StoredSegment, resourceVersion: string): Promise<void> {
    const isWritten =
      await writeKeySecret(this.#options, { data: segmentData(stored), resourceVersion }, this.#signal);
    if (isWritten) this.#options.logger.info({}, 'the webhook has a new path');
  }
}
