// Controller that maintains a Node, its Lease and the target's status for every target, and deletes the Node of a
// removed target.
import type { Logger } from 'pino';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { Node } from '../../api/objects/core.ts';
import { CLUSTER_TARGETS, LEASES, NODES, TARGETS } from '../../api/resource-types.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import { ignoreStale, isNotFound } from '../../kubernetes/flow/api-error.ts';
import { untilCommonTick } from '../../kubernetes/flow/common-tick.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ObjectRef } from '../../model/objects/plan.ts';
import {
  DONE, startController, type Controller, type ReconcileResult,
} from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { targetEvent } from './node-events.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { whyUnschedulable, type TargetObject } from '../../targets/target-object.ts';
import { setTargetMetrics } from '../../process/placement-metrics.ts';
import { onlyMeasurementsDiffer, toTargetGauges, toTargetStatus, type ObservedTarget } from './target-status.ts';
import { targetQuotas } from './target-quota-reader.ts';
import { targetVersions } from './target-version.ts';
import type { LabelSettings } from './shown-labels.ts';
import {
  NODE_LEASE_SECONDS, REPORT_MS, isMetadataUpToDate, isStatusUpToDate, toNodeLease, toStatusPatch, toVirtualNode,
  toVirtualNodeStatus,
  type KubeletEndpoint, type NodeContext, type VirtualNodeStatus,
} from './virtual-node.ts';

/** What the controller works with. */
export interface VirtualNodeOptions {
  readonly source: ClusterClient;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly targets: TargetClusters;
  /** Sink of Events about nodes. */
  readonly events: EventSink;
  /** Endpoint of the kubelet API in the nodes' status. */
  readonly kubelet?: KubeletEndpoint | undefined;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-virtual-node';
/** Renewal interval of a Lease, in ms: a quarter of it, as kubelet's. */
const LEASE_RENEWAL_MS = NODE_LEASE_SECONDS * 1_000 / 4;
/** Timeout of a renewal, in ms, so that three attempts fit into a Lease. */
const LEASE_TIMEOUT_MS = LEASE_RENEWAL_MS;
/** Leases that are renewed at once: a slow server must not delay those of a thousand targets. */
const LEASES_AT_ONCE = 32;
/** Minimum interval between two writes of a target's free capacity, in ms; it is informational. */
const STATUS_INTERVAL_MS = 10_000;

/** Starts the controller. */
export function startVirtualNodes(options: VirtualNodeOptions, signal: AbortSignal): void {
  const { source, targets } = options;
  const logger = options.logger.child({ component: 'virtual-node' });
  const nodes = fullInformersOf({ client: source, logger })(NODES, VIRTUAL_NODES);
  const control = new VirtualNodes(options, nodes);
  const ready = Promise.all([nodes.synced, targets.untilSynced()]);
  const start = (name: string, reconcile: (key: string) => Promise<ReconcileResult>, concurrency = 8) =>
    startController({ name, reconcile, concurrency, logger, ready }, signal);
  const controllers = {
    node: start('virtual-node', (nodeName) => control.reconcileNode(nodeName, signal)),
    lease: start('node-lease', (nodeName) => control.renewLease(nodeName, signal), LEASES_AT_ONCE),
    status: start('target-status', (key) => control.reconcileStatus(key, signal)),
  };
  control.observe(controllers);
  void nodes.run(signal);
}

class VirtualNodes {
  readonly #source: ClusterClient;
  /** The same cluster; Leases have their own queue and do not wait for writes of pods and nodes. */
  readonly #leases: ClusterClient;
  readonly #context: NodeContext;
  readonly #targets: TargetClusters;
  readonly #events: EventSink;
  readonly #nodes: Informer<Node, Node>;
  readonly #versions = targetVersions();
  readonly #quotas = targetQuotas();
  /** Last write of a target's free capacity, in ms of a monotonic clock. */
  readonly #freeWrittenAt = new Map<string, number>();

  constructor({ source, sourceId, targets, events, kubelet }: VirtualNodeOptions, nodes: Informer<Node, Node>) {
    this.#source = source;
    this.#leases = source.withoutRateLimit(LEASE_TIMEOUT_MS).metadataOnly();
    this.#context = { sourceId, kubelet };
    this.#targets = targets;
    this.#events = events;
    this.#nodes = nodes;
  }

  observe(controllers: Readonly<Record<'node' | 'lease' | 'status', Controller>>): void {
    const changed = (target: TargetCluster) => {
      controllers.status.enqueue(target.key);
      controllers.node.enqueue(target.nodeName);
    };
    this.#nodes.onChange((name, before, after) => {
      controllers.node.enqueue(name);
      if (before === undefined && after !== undefined) controllers.lease.enqueue(name);
      const target = this.#targets.byNode(name);
      const isOther = (before === undefined) !== (after === undefined) || isCordoned(before) !== isCordoned(after);
      if (target !== undefined && isOther) controllers.status.enqueue(target.key);
    });
    this.#targets.listen({
      sessionOpened: (target, session) => {
        const found = () => controllers.node.enqueue(target.nodeName);
        session.onSummary((_summary, isRenewed) => {
          if (!isRenewed) changed(target);
          void this.#quotas.refresh(session, found); // a quota changes without the summary
        });
        session.onConnection(() => {
          void this.#versions.refresh(session, found);
          void this.#quotas.refresh(session, found);
        });
      },
      changed,
      removed: (target) => controllers.node.enqueue(target.nodeName),
    });
  }

  /** Creates, corrects or deletes one virtual node. */
  async reconcileNode(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const target = this.#targets.byNode(name);
    const node = this.#nodes.get(name);
    if (target === undefined) {
      if (node !== undefined) await this.#remove(node, signal);
      return DONE;
    }
    const summary = summaryOf(target);
    // a new node without capacity would be misleading; an existing one keeps its status
    if (summary === undefined && node === undefined) return DONE;
    const wanted = toVirtualNode(target.ref, summary, this.#labelSettings(target), node);
    const differs = node === undefined || !isMetadataUpToDate(node, wanted);
    const stored = differs ? await this.#source.apply(NODES, wanted, FIELD_MANAGER, signal) : node;
    if (node === undefined) await this.#applyLease(stored, signal);
    const status = toVirtualNodeStatus(summary, this.#contextOf(target), node, new Date().toISOString());
    const isReported = node !== undefined && isStatusUpToDate(node, status);
    if (!isReported) await this.#report(name, { before: node, status }, signal);
    return { kind: 'requeue-after', ms: REPORT_MS };
  }

  async #report(
    name: string, { before, status }: { readonly before: Node | undefined; readonly status: VirtualNodeStatus },
    signal: AbortSignal,
  ): Promise<void> {
    const event = before && targetEvent(before, status.conditions);
    if (event !== undefined) this.#events.record(event);
    const patch = { patchType: 'merge', patch: { status: toStatusPatch(before, status) } } as const;
    await this.#source.patchUnread(NODES, { name, subresource: 'status' }, patch, signal);
  }

  #labelSettings({ ref }: TargetCluster): LabelSettings {
    const object = this.#targets.object(ref);
    return { excluded: object?.spec.excludedLabelsRegexp, labels: object?.labels };
  }

  #contextOf(target: TargetCluster): NodeContext {
    const { session } = target;
    const measured = session === undefined
      ? {}
      : { targetVersion: this.#versions.of(session), quota: this.#quotas.of(session) ?? ('unknown' as const) };
    return { ...this.#context, ...measured, problem: problemOf(target) };
  }

  async #remove(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '', uid = '' } = node.metadata;
    await this.#source.delete(NODES, { name }, { preconditions: { uid } }, signal).catch(ignoreStale);
  }

  /** Renews the Lease of a virtual node while it and its target exist; a recreated node enqueues it again. */
  async renewLease(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const node = this.#nodes.get(name);
    if (node === undefined || this.#targets.byNode(name) === undefined) return DONE;
    const { metadata: { namespace, ...metadata }, spec } = leaseOf(node);
    // a merge costs an API server less than an apply, and there is one every few seconds for each target
    const patch = { patchType: 'merge', patch: { metadata, spec } } as const;
    await this.#leases.patchUnread(LEASES, { namespace, name }, patch, signal).catch(async (error: unknown) => {
      if (!isNotFound(error)) throw error;
      await this.#applyLease(node, signal);
    });
    return { kind: 'requeue-after', ms: untilCommonTick(LEASE_RENEWAL_MS, performance.now()) };
  }

  async #applyLease(node: Node, signal: AbortSignal): Promise<void> {
    await this.#leases.apply(LEASES, leaseOf(node), FIELD_MANAGER, signal);
  }

  /** Writes the status of one target when it changed; measurements alone are written less often. */
  async reconcileStatus(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const target = this.#targets.get(key);
    const object = target && this.#targets.object(target.ref);
    if (target === undefined || object === undefined) return DONE;
    const status = toTargetStatus(object.status, this.#observeTarget(target, object), new Date().toISOString());
    setTargetMetrics(key, toTargetGauges(status, summaryOf(target), target.session?.client.transport.rttMs));
    if (status === object.status) return DONE;
    const wait = (this.#freeWrittenAt.get(key) ?? -Infinity) + STATUS_INTERVAL_MS - performance.now();
    if (onlyMeasurementsDiffer(status, object.status) && wait > 0) return { kind: 'requeue-after', ms: wait };
    this.#freeWrittenAt.set(key, performance.now());
    const patch = { metadata: { uid: object.uid }, status };
    const type = target.ref.kind === 'Target' ? TARGETS : CLUSTER_TARGETS;
    await this.#source
      .patchUnread(type, { ...objectOf(target.ref), subresource: 'status' }, { patchType: 'merge', patch }, signal)
      .catch(ignoreStale);
    return DONE;
  }

  #observeTarget(target: TargetCluster, object: TargetObject): ObservedTarget {
    const { availability, clusterId: clusterID, nodeName: virtualNode, session } = target;
    const { generation } = object;
    const problem = availability.kind === 'ready'
      ? whyUnschedulable(object)
      : { reason: availability.reason, message: availability.message };
    const node = this.#nodes.get(virtualNode);
    return {
      problem, summary: summaryOf(target), clusterID, virtualNode, hasNode: node !== undefined,
      isCordoned: isCordoned(node), generation, delegation: session?.mode, rttMs: session?.client.transport.rttMs,
    };
  }
}

function problemOf({ availability }: TargetCluster): NodeContext['problem'] {
  return availability.kind === 'ready' ? undefined : { reason: availability.reason, message: availability.message };
}

function isCordoned(node: Node | undefined): boolean {
  return node?.spec?.unschedulable === true;
}

function summaryOf(target: TargetCluster): ClusterSummary | undefined {
  return target.session?.summary;
}

function objectOf(ref: TargetRef): ObjectRef {
  return ref.kind === 'Target' ? { namespace: ref.namespace, name: ref.name } : { name: ref.name };
}

function leaseOf({ metadata: { name = '', uid = '' } }: Node): ReturnType<typeof toNodeLease> {
  return toNodeLease({ name, uid }, new Date().toISOString().replace('Z', '000Z')); // MicroTime
}
