// Watches the inputs of placement other than pods and targets: virtual nodes, placement policies, namespace labels.
import type { Logger } from 'pino';
import type { KubernetesObject, Namespace, Node, StringMap } from '../../api/objects/core.ts';
import { TARGET_LABELS_ANNOTATION } from '../../api/objects/keys.ts';
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { CLUSTER_PLACEMENT_POLICIES, NAMESPACES, NODES, PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import { VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { toKnownPolicy, type KnownPolicy, type PolicyIndex } from '../snapshot/placement-rules.ts';

/** The fields of a virtual node that placement reads. */
type NodeRecord = Pick<Node, 'metadata' | 'spec'>;

/** Is notified of changes. */
export interface PlacementInputsListener {
  nodeChanged(nodeName: string): void;
  /** A policy or the labels of a namespace changed. */
  rulesChanged(): void;
}

/** A policy and its stored object. */
export type PolicyRecord = KnownPolicy & { readonly object: PlacementPolicy | ClusterPlacementPolicy };

/** Caches of the inputs. */
export class PlacementInputs {
  readonly nodes: Informer<Node, NodeRecord>;
  readonly policies: readonly Informer<PlacementPolicy | ClusterPlacementPolicy, PolicyRecord>[];
  readonly namespaces: Informer<Namespace, StringMap>;
  #policyIndex: PolicyIndex | undefined;

  constructor(client: ClusterClient, logger: Logger) {
    const shared = { client, logger, selection: {} };
    this.nodes = new Informer({
      ...shared, type: NODES, selection: VIRTUAL_NODES, project: toNodeRecord,
    });
    this.namespaces =
      new Informer({ ...shared, type: NAMESPACES, project: ({ metadata }: Namespace) => metadata.labels ?? {} });
    this.policies = [PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES].map((type) => (
      new Informer<PlacementPolicy | ClusterPlacementPolicy, PolicyRecord>(
        { ...shared, type, project: (object) => ({ ...toKnownPolicy(object), object }) },
      )
    ));
  }

  /** Adds a listener; call before {@link run}. */
  listen(listener: PlacementInputsListener): void {
    this.nodes.onChange((name, before, after) => {
      if (JSON.stringify(before) !== JSON.stringify(after)) listener.nodeChanged(name);
    });
    const changed = () => {
      this.#policyIndex = undefined;
      listener.rulesChanged();
    };
    // the policies may have been read before the last list was complete, and then says so until something changes
    this.namespaces.onListed(changed);
    this.namespaces.onChange((_name, before, after) => {
      if (JSON.stringify(before) !== JSON.stringify(after)) changed();
    });
    for (const informer of this.policies) {
      informer.onListed(changed);
      informer.onChange((_key, before, after) => {
        if (JSON.stringify(before?.spec) !== JSON.stringify(after?.spec)) changed();
      });
    }
  }

  /** Watches until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.run(signal)));
  }

  /** Resolves when each collection is synced, or is known to be unreadable for now. */
  async untilReadOrBroken(): Promise<void> {
    await Promise.all(this.#informers().map((informer) => Promise.race([informer.synced, untilBroken(informer)])));
  }

  /** All policies as currently cached. */
  get policyIndex(): PolicyIndex {
    this.#policyIndex ??= {
      isComplete: this.policies.every((informer) => informer.hasSynced) && this.namespaces.hasSynced,
      policies: this.policies.flatMap((informer) => [...informer.records()]),
      namespaces: new Map([...this.namespaces.keys()].map((name) => [name, this.namespaces.get(name) ?? {}])),
    };
    return this.#policyIndex;
  }

  #informers(): readonly Pick<Informer<KubernetesObject, unknown>, 'run' | 'synced' | 'onConnection'>[] {
    return [this.nodes, this.namespaces, ...this.policies];
  }
}

function untilBroken(informer: Pick<Informer<KubernetesObject, unknown>, 'onConnection'>): Promise<void> {
  return new Promise((resolve) => informer.onConnection(({ kind }) => {
    if (kind === 'broken') resolve();
  }));
}

/** Heartbeats change a node constantly; only the fields that placement reads are stored. */
function toNodeRecord({ metadata: { name = '', labels = {}, annotations }, spec }: Node): NodeRecord {
  const listed = annotations?.[TARGET_LABELS_ANNOTATION];
  const { unschedulable, taints } = spec ?? {};
  return {
    metadata: { name, labels, ...(listed !== undefined && { annotations: { [TARGET_LABELS_ANNOTATION]: listed } }) },
    spec: { ...(unschedulable !== undefined && { unschedulable }), ...(taints && { taints }) },
  };
}
