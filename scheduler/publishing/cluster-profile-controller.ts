// Controller that publishes ClusterTargets as ClusterProfiles, in the namespaces that the installation names. Targets
// of tenants are not published.
import type { Logger } from 'pino';
import type { ClusterProperty } from '../../api/placement/cluster-inventory.ts';
import { CLUSTER_PROPERTIES } from '../../api/resource-types.ts';
import { targetKey } from '../../model/naming/target-ref.ts';
import { splitKey } from '../../model/pod/pod.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import { ignoreStale, isAlreadyExists, isForbidden, isNotFound } from '../../kubernetes/flow/api-error.ts';
import { kubeconfigSecretRef } from '../../targets/access/target-kubeconfig.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { ClusterInventory } from './cluster-inventory.ts';
import { MOST_PROPERTIES, type PublishedTarget } from './cluster-profile.ts';
import { planProfile } from './plan-profile.ts';
import { toPropertiesRead, toPublishedTarget, type Listed } from './published-target.ts';

/** What the controller works with. */
export interface ClusterProfileOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly inventory: ClusterInventory;
  readonly installNamespace: string;
  readonly logger: Logger;
}

/** Pause in ms until a profile that was just created is delivered. */
const DELIVERY_MS = 2_000;

/** Starts it; call before the inventory runs. Where nothing is published nothing is asked of targets. */
export function startClusterProfiles(options: ClusterProfileOptions, signal: AbortSignal): void {
  if (options.inventory.isEmpty) return;
  new ProfileController(options).run(signal);
}

class ProfileController {
  readonly #options: ClusterProfileOptions;
  /** By names of ClusterTargets; those that were read since the process started. */
  readonly #properties = new Map<string, readonly ClusterProperty[]>();

  constructor(options: ClusterProfileOptions) {
    this.#options = options;
  }

  run(signal: AbortSignal): void {
    const { targets, inventory, logger } = this.#options;
    const ready = targets.untilSynced();
    const profiles = startController(
      { name: 'cluster-profiles', reconcile: (key) => this.#reconcile(key, signal), concurrency: 4, logger, ready },
      signal,
    );
    const enqueue = (name: string): void => {
      for (const namespace of inventory.namespaces) profiles.enqueue(`${namespace}/${name}`);
    };
    const properties = startController({
      name: 'cluster-properties', concurrency: 16, logger,
      reconcile: (name) => this.#readProperties(name, () => enqueue(name), signal),
    }, signal);
    inventory.onProfiles((key) => profiles.enqueue(key), (namespace) => {
      for (const { ref } of targets.all()) {
        if (ref.kind === 'ClusterTarget') profiles.enqueue(`${namespace}/${ref.name}`);
      }
    });
    targets.listen({
      sessionOpened: ({ ref }) => ref.kind === 'ClusterTarget' && properties.enqueue(ref.name),
      changed: ({ ref }) => ref.kind === 'ClusterTarget' && enqueue(ref.name),
      removed: ({ ref }) => {
        if (ref.kind !== 'ClusterTarget') return;
        this.#properties.delete(ref.name);
        enqueue(ref.name);
      },
    });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { namespace, name } = splitKey(key);
    const { inventory, source } = this.#options;
    if (!inventory.knowsProfiles(namespace)) return DONE; // not served, or not allowed; enqueued once it is
    const existing = inventory.profile(key);
    const plan = planProfile({ namespace, target: this.#target(name), existing, now: new Date().toISOString() });
    try {
      await executePlan(source, plan, signal);
    } catch (error) {
      if (isAlreadyExists(error)) return { kind: 'requeue-after', ms: DELIVERY_MS };
      ignoreStale(error);
    }
    return DONE;
  }

  #target(name: string): PublishedTarget | undefined {
    const { targets, installNamespace } = this.#options;
    const ref = { kind: 'ClusterTarget', name } as const;
    const object = targets.object(ref);
    const target = targets.get(targetKey(ref));
    if (object === undefined || target === undefined) return undefined;
    const secretRef = kubeconfigSecretRef(ref, object.spec, installNamespace);
    return toPublishedTarget({ object, target, secretRef, properties: this.#properties.get(name) });
  }

  /** Properties that cannot be read now stay what they were. */
  async #readProperties(name: string, changed: () => void, signal: AbortSignal): Promise<ReconcileResult> {
    const session = this.#options.targets.get(targetKey({ kind: 'ClusterTarget', name }))?.session;
    if (session === undefined) return DONE; // looked again when the next one opens
    const ended = new AbortController();
    const forget = forwardAbort([signal, session.signal], ended);
    const listed = await session.client.listPage(CLUSTER_PROPERTIES, {}, { limit: MOST_PROPERTIES }, ended.signal).then(
      ({ items }): Listed => ({ kind: 'listed', items }), (error: unknown): Listed => ({ kind: failureOf(error) }),
    ).finally(forget);
    signal.throwIfAborted();
    const { properties, againMs } = toPropertiesRead(listed);
    if (properties !== undefined) {
      this.#properties.set(name, properties);
      changed();
    }
    return { kind: 'requeue-after', ms: againMs };
  }
}

function failureOf(error: unknown): 'absent' | 'forbidden' | 'failed' {
  if (isNotFound(error)) return 'absent';
  return isForbidden(error) ? 'forbidden' : 'failed';
}
