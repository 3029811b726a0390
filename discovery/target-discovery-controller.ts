// The controller of TargetDiscoveries: follows their registries, has the access to each entry checked, and keeps the
// ClusterTargets and the Secrets with their kubeconfigs.
import type { Logger } from 'pino';
import type { TargetDiscovery } from '../api/registry/target-discovery.ts';
import { chosenRegistry, REGISTRIES } from './registries/registry-table.ts';
import { DEFAULT_KUBECONFIG_KEY, type ClusterTarget } from '../api/kinds/cluster-target.ts';
import type { Secret } from '../api/objects/core.ts';
import { DISCOVERED_BY_LABEL } from '../api/objects/keys.ts';
import { CLUSTER_TARGETS, SECRETS, TARGET_DISCOVERIES } from '../api/resource-types.ts';
import { discoveredNamespace } from '../model/access/key-namespace.ts';
import { toLabelValue } from '../model/naming/names.ts';
import { onAbort } from '../kubernetes/flow/abort.ts';
import { ignoreStale } from '../kubernetes/flow/api-error.ts';
import { DONE, startController, type Controller, type ReconcileResult } from '../kubernetes/controller/controller.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../kubernetes/watch/full-objects.ts';
import type { TenantRules } from '../targets/access/tenant-rules.ts';
import { EntryChecks, type CheckedEntry } from './entry-checks.ts';
import type { RegistryReading } from './entry/registry-reading.ts';
import { toDiscoveryStatus } from './plan/discovery-status.ts';
import { isSameTarget, toKnownTarget, type KnownTarget } from './plan/known-target.ts';
import { isTried } from './plan/place-entries.ts';
import { planDiscovery, type DiscoveryPlan } from './plan/plan-discovery.ts';
import { targetNameOf } from './plan/target-names.ts';
import { TargetWriter } from './target-writer.ts';
import { RegistryFollower } from './watch/registry-follower.ts';

/** Dependencies and options. */
export interface DiscoveryOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  /** UID of this cluster's kube-system Namespace. */
  readonly clusterId: string;
  readonly tenants: TenantRules;
  /** CONNECT endpoints of the gateways of this cluster. */
  readonly gateways: readonly URL[];
  readonly userAgent: string;
  readonly logger: Logger;
}

interface Followed {
  /** What it was started with. */
  readonly key: string;
  readonly follower: RegistryFollower;
  /** When targets were first seen without their entries, in ms since the epoch. */
  readonly seenAt: Map<string, number>;
}

/** Pause in ms before a write that failed, or met an object that was just made, is tried again. */
const RETRY_MS = 2_000;

/** Starts it; it runs until `signal` is aborted. */
export function startTargetDiscovery(options: DiscoveryOptions, signal: AbortSignal): void {
  new DiscoveryController(options).run(signal);
}

class DiscoveryController {
  readonly #options: DiscoveryOptions;
  readonly #namespace: string;
  readonly #discoveries: Informer<TargetDiscovery, TargetDiscovery>;
  readonly #targets: Informer<ClusterTarget, KnownTarget>;
  readonly #kubeconfigs: Informer<Secret, string>;
  readonly #followed = new Map<string, Followed>();
  readonly #writer: TargetWriter;

  constructor(options: DiscoveryOptions) {
    const { client, logger, installNamespace } = options;
    this.#options = options;
    this.#namespace = discoveredNamespace(installNamespace);
    this.#discoveries = fullInformersOf({ client, logger })(TARGET_DISCOVERIES);
    this.#targets =
      new Informer({ client, logger, type: CLUSTER_TARGETS, selection: {}, project: toKnownTarget });
    this.#kubeconfigs = new Informer<Secret, string>({
      client, logger, type: SECRETS, selection: { namespace: this.#namespace, labelSelector: DISCOVERED_BY_LABEL },
      project: ({ data }) => Buffer.from(data?.[DEFAULT_KUBECONFIG_KEY] ?? '', 'base64').toString('utf8'),
    });
    this.#writer = new TargetWriter({ client, logger });
  }

  run(signal: AbortSignal): void {
    const { tenants, gateways, userAgent, logger } = this.#options;
    const informers = [this.#discoveries, this.#targets, this.#kubeconfigs] as const;
    const ready = Promise.all(informers.map(({ synced }) => synced));
    const controller: Controller = startController({
      name: 'target-discovery', concurrency: 1, logger, ready,
      reconcile: (name) => this.#reconcile(name, { checks, changed: () => controller.enqueue(name) }, signal),
    }, signal);
    const checks = new EntryChecks({
      tenants, gateways, userAgent, logger, knownOf: (discovery, entry) => this.#knownOf(discovery, entry),
      changed: (discovery) => controller.enqueue(discovery),
    }, signal);
    const all = () => {
      for (const name of this.#discoveries.keys()) controller.enqueue(name);
    };
    this.#discoveries.onChange((name) => controller.enqueue(name));
    this.#targets.onChange((_name, before, after) => !isSameTarget(before, after) && all());
    this.#kubeconfigs.onChange(all);
    for (const informer of informers) void informer.run(signal);
    onAbort(signal, () => this.#followed.forEach(({ follower }) => follower.stop()));
  }

  async #reconcile(
    name: string, { checks, changed }: { readonly checks: EntryChecks; readonly changed: () => void },
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const discovery = this.#discoveries.get(name);
    if (discovery === undefined || discovery.metadata.deletionTimestamp !== undefined) {
      this.#followed.get(name)?.follower.stop();
      this.#followed.delete(name);
      checks.forget(name);
      return DONE;
    }
    const registry = chosenRegistry(discovery.spec.from);
    if (registry === undefined) return DONE; // the schema requires one; a newer version may know more
    const followed = this.#follow(discovery, changed);
    followed.follower.approve(discovery.spec.approved ?? []);
    const reading = followed.follower.reading();
    checks.want(name, this.#toCheck(discovery, reading));
    const now = Date.now();
    const plan = planDiscovery({
      discovery, reading, resultOf: (entry) => checks.resultOf(name, entry), targets: this.#knownTargets(),
      kubeconfigOf: (target) => this.#kubeconfigs.get(`${this.#namespace}/${target}`), seenAt: followed.seenAt,
      ownClusterId: this.#options.clusterId, namespace: this.#namespace, now,
    });
    noteSeen(followed.seenAt, plan, now);
    const failures = await this.#writer.write(plan.writes, signal);
    const facts = { discovery, registry, reading, plan, failures, now: new Date(now).toISOString() };
    await this.#writeStatus(discovery, toDiscoveryStatus(facts), signal);
    if (failures.size > 0) return { kind: 'requeue-after', ms: RETRY_MS };
    return plan.againMs === undefined ? DONE : { kind: 'requeue-after', ms: plan.againMs };
  }

  /** A registry's watches are restarted when their selection has changed. */
  #follow({ metadata: { name = '' }, spec }: TargetDiscovery, changed: () => void): Followed {
    const { from, namespaces, selector } = spec;
    const key = JSON.stringify([from, namespaces, selector]);
    const before = this.#followed.get(name);
    if (before?.key === key) return before;
    before?.follower.stop();
    const { client, logger } = this.#options;
    const registry = REGISTRIES[chosenRegistry(from) ?? 'kubeconfigSecrets'];
    const follower = new RegistryFollower(
      { client, logger: logger.child({ discovery: name }), changed }, { registry, spec: { ...spec, from } },
    );
    const followed = { key, follower, seenAt: new Map<string, number>() };
    this.#followed.set(name, followed);
    return followed;
  }

  #toCheck(discovery: TargetDiscovery, reading: RegistryReading): readonly CheckedEntry[] {
    if (reading.kind === 'unread') return [];
    const { throughGateway = false, namePrefix = '' } = discovery.spec.target ?? {};
    return reading.clusters.flatMap((cluster) => {
      const { entry, access } = cluster;
      if (access.kind !== 'kubeconfig' || !isTried(cluster, discovery.spec)) return [];
      const member = throughGateway
        ? (this.#targetOf(discovery.metadata.name ?? '', entry)?.name ?? targetNameOf(cluster, namePrefix, () => false))
        : undefined;
      return [{ entry, access, member }];
    });
  }

  /** What the informer has, with targets that it does not have yet. */
  #knownTargets(): readonly KnownTarget[] {
    const known = [...this.#targets.records()];
    return [...known, ...this.#writer.madeBeside(new Set(known.map(({ name }) => name)))];
  }

  #targetOf(discovery: string, entry: string): KnownTarget | undefined {
    const label = toLabelValue(discovery);
    return this.#knownTargets().find((target) => target.discoveredBy === label && target.entry === entry);
  }

  #knownOf(discovery: string, entry: string): { readonly kubeconfig: string; readonly clusterId: string } | undefined {
    const target = this.#targetOf(discovery, entry);
    const kubeconfig = this.#kubeconfigs.get(`${this.#namespace}/${target?.name ?? ''}`);
    return target?.clusterId === undefined || kubeconfig === undefined
      ? undefined
      : { kubeconfig, clusterId: target.clusterId };
  }

  async #writeStatus(
    { metadata: { name = '', uid }, status: before }: TargetDiscovery, status: TargetDiscovery['status'],
    signal: AbortSignal,
  ): Promise<void> {
    if (status === before) return;
    const patch = { metadata: { uid }, status };
    await this.#options.client
      .patch(TARGET_DISCOVERIES, { name, subresource: 'status' }, { patchType: 'merge', patch }, signal)
      .catch(ignoreStale);
  }
}

function noteSeen(seenAt: Map<string, number>, { departures }: DiscoveryPlan, now: number): void {
  const gone = new Set(departures.map(({ target }) => target.name));
  for (const name of seenAt.keys()) if (!gone.has(name)) seenAt.delete(name);
  for (const name of gone) if (!seenAt.has(name)) seenAt.set(name, now);
}
