// Watches the (Cluster)Sources of this cluster for the rules about their pods.
import type { Logger } from 'pino';
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_SOURCES, SOURCES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { rejectionOf, toSourceRule, type SourceRule } from './source-rules.ts';

/** Whether the rules of its source admit a PodChaperon. */
export type SourceAdmission = { readonly kind: 'unknown' } | { readonly kind: 'allowed' }
  | { readonly kind: 'rejected'; readonly message: string };

/** What the rules are read with. */
export interface SourceRulesOptions {
  readonly client: ClusterClient;
  /** UID of this cluster's kube-system Namespace. */
  readonly ownClusterId: string;
  readonly logger: Logger;
}

/** The rules of all sources. */
export class SourceRules {
  readonly #ownClusterId: string;
  readonly #informers: readonly Informer<Source | ClusterSource, SourceRule>[];

  constructor({ client, ownClusterId, logger }: SourceRulesOptions) {
    this.#ownClusterId = ownClusterId;
    this.#informers = [CLUSTER_SOURCES, SOURCES].map((type: ResourceType<Source | ClusterSource>) => new Informer(
      { client, logger, type, selection: {}, project: toSourceRule },
    ));
  }

  /** Starts the watch. */
  run(signal: AbortSignal): void {
    for (const informer of this.#informers) void informer.run(signal);
  }

  /** The rules of all sources; undefined until they are synced. */
  get all(): readonly SourceRule[] | undefined {
    if (!this.#informers.every((informer) => informer.hasSynced)) return undefined;
    return this.#informers.flatMap((informer) => [...informer.records()]);
  }

  /** Calls back when a source is added, changed or removed. */
  onChange(listener: () => void): void {
    for (const informer of this.#informers) informer.onChange(listener);
  }

  /** Whether a delegate may be created; `unknown` until all sources are synced. */
  admit(chaperon: PodChaperon): SourceAdmission {
    const rules = this.all;
    if (rules === undefined) return { kind: 'unknown' };
    const message = rejectionOf(chaperon, { rules, ownClusterId: this.#ownClusterId });
    return message === undefined ? { kind: 'allowed' } : { kind: 'rejected', message };
  }
}
