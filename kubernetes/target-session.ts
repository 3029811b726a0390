// A live connection to one target: its client and the three collections that a source follows there.
import type { Logger } from 'pino';
import { CLUSTER_SUMMARY_NAME, PARENT_CLUSTER_LABEL } from '../api/keys.ts';
import type { Pod } from '../api/core.ts';
import type { ClusterSummary } from '../api/cluster-summary.ts';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import { CLUSTER_SUMMARIES, NAMESPACES, POD_CHAPERONS, PODS } from '../api/resource-types.ts';
import { toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod } from '../model/delegate-pod.ts';
import { ClusterClient } from './cluster-client.ts';
import type { Fence } from './fence.ts';
import { Informer } from './informer.ts';
import type { ClusterConnection } from './kubeconfig.ts';
import { Transport } from './transport.ts';

/** What a session is opened with. */
export interface SessionOptions {
  readonly connection: ClusterConnection;
  readonly userAgent: string;
  /** UID of the source's kube-system Namespace; selects the chaperons and delegates that are ours. */
  readonly sourceId: string;
  /** The only namespace to look at, for a namespaced Target. */
  readonly namespace: string | undefined;
  /** Guards all writes. */
  readonly fence?: Fence | undefined;
  readonly logger: Logger;
}

/** An open session. Everything ends when {@link TargetSession.stop} is called. */
export class TargetSession {
  /** URL of the target's API server. */
  readonly server: string;
  readonly client: ClusterClient;
  readonly summaries: Informer<ClusterSummary, ClusterSummary>;
  /** Indexed by the key of the proxy pod. */
  readonly chaperons: Informer<PodChaperon, Chaperon>;
  /** Indexed by the key of the proxy pod. */
  readonly delegates: Informer<Pod, DelegatePod>;
  readonly #stopped = new AbortController();

  constructor(options: SessionOptions) {
    const { logger, namespace } = options;
    const client = new ClusterClient(new Transport(options.connection, options.userAgent), options.fence === undefined ? {} : { fence: options.fence });
    const ours = { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${options.sourceId}` };
    this.client = client;
    this.server = options.connection.server.href;
    this.summaries = new Informer({
      client, logger, type: CLUSTER_SUMMARIES,
      selection: { fieldSelector: `metadata.name=${CLUSTER_SUMMARY_NAME}` },
      project: (summary) => summary,
    });
    this.chaperons = new Informer({ client, logger, type: POD_CHAPERONS, selection: ours, project: toChaperonRecord, index: parentKey });
    this.delegates = new Informer({ client, logger, type: PODS, selection: ours, project: toDelegatePodRecord, index: parentKey });
  }

  /** Starts to follow the target. */
  run(): void {
    const { signal } = this.#stopped;
    for (const informer of this.#informers()) void informer.run(signal);
  }

  /** Ends the session and its connections. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.client.transport.close();
  }

  /** Aborted when the session has ended. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Whether all collections have been listed once. */
  get hasSynced(): boolean {
    return this.#informers().every((informer) => informer.hasSynced);
  }

  /** Why some collection cannot be followed now; undefined when all watches are open. */
  get failure(): { readonly error: unknown } | undefined {
    for (const informer of this.#informers()) {
      if (informer.connection.kind === 'broken') return { error: informer.connection.error };
    }
    return undefined;
  }

  /** Calls back when a watch opens or breaks. */
  onConnection(listener: () => void): void {
    for (const informer of this.#informers()) informer.onConnection(listener);
  }

  #informers(): (Informer<ClusterSummary, ClusterSummary> | Informer<PodChaperon, Chaperon> | Informer<Pod, DelegatePod>)[] {
    return [this.summaries, this.chaperons, this.delegates];
  }
}

function parentKey(record: Chaperon | DelegatePod): string {
  return record.parentKey;
}

/** Which cluster a client talks to: the UID of its kube-system Namespace, which no two clusters share. */
export async function readClusterId(client: ClusterClient, signal: AbortSignal): Promise<string> {
  const namespace = await client.get(NAMESPACES, { name: 'kube-system' }, signal);
  return namespace.metadata.uid ?? '';
}
