// Reconciles the (Cluster)Sources of a target: creates the account and RBAC of each, keeps them in sync, and deletes
// what garbage collection cannot. No finalizer: a source can always be deleted, whether or not this controller runs.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ClusterSource, Source, SourceStatus } from '../../api/kinds/cluster-source.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { SOURCE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_SOURCES, NAMESPACES, SERVICE_ACCOUNTS, SOURCES } from '../../api/resource-types.ts';
import { ApiError, isAlreadyExists, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { isAllowedIn, takesAllNamespaces, type NamespaceLabels } from '../../model/access/source-grants.ts';
import { allowedToSource, identityStatus, type IdentityOutcome } from './identity-status.ts';
import { DEPENDENT_TYPES, identityTypeOf, requirePolicies } from './establish-identity.ts';
import {
  accountManifest, IDENTITY_LABELS, identityManifests, sourceKey, toSourceIdentity, type SourceIdentity,
} from './source-identity.ts';

/** Field manager of what the controller applies. */
const FIELD_MANAGER = 'isthmus-peering';

/** Dependencies of the controller. */
export interface SourceOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly logger: Logger;
}

interface SeenSource {
  readonly identity: SourceIdentity;
  readonly generation: number;
  readonly status: SourceStatus;
}

/** The outcome for an identity, or that its source is gone. */
type Applied = IdentityOutcome | { readonly kind: 'gone' };

interface Dependent {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly source: string;
}

/** Starts the controller; it runs until `signal` is aborted. */
export function startSources(options: SourceOptions, signal: AbortSignal): void {
  new Sources(options).start(signal);
}

class Sources {
  readonly #options: SourceOptions;
  readonly #sources: readonly Informer<Source | ClusterSource, SeenSource>[];
  readonly #dependents: readonly Informer<KubernetesObject, Dependent>[];
  readonly #namespaces: Informer<KubernetesObject, SeenNamespace>;

  constructor(options: SourceOptions) {
    this.#options = options;
    const { client, logger } = options;
    this.#sources = [CLUSTER_SOURCES, SOURCES].map((type: ResourceType<Source | ClusterSource>) => new Informer(
      { client, logger, type, selection: {}, project: toSeenSource },
    ));
    const labelSelector = Object.entries(IDENTITY_LABELS).map(([key, value]) => `${key}=${value}`).join(',');
    this.#namespaces = new Informer({ client, logger, type: NAMESPACES, selection: {}, project: toNamespaceLabels });
    this.#dependents = DEPENDENT_TYPES.map((type) => new Informer(
      { client, logger, type, selection: { labelSelector }, project: (object) => toDependent(type, object) },
    ));
  }

  start(signal: AbortSignal): void {
    const informers = [...this.#sources, ...this.#dependents, this.#namespaces];
    const reconcile = (key: string) => this.#reconcile(key, signal);
    const ready = Promise.all(informers.map(({ synced }) => synced));
    const controller =
      startController({ name: 'source', reconcile, concurrency: 4, logger: this.#options.logger, ready }, signal);
    for (const informer of this.#sources) informer.onChange((key) => controller.enqueue(key));
    for (const informer of this.#dependents) {
      informer.onChange((_key, before, after) => {
        // it may have been given to another source, or to none
        for (const source of new Set([before?.source, after?.source])) {
          if (source !== undefined && source !== '') controller.enqueue(source);
        }
        if (after === undefined && before?.type === SERVICE_ACCOUNTS) {
          for (const { identity } of this.#sourcesNaming(before)) controller.enqueue(sourceKey(identity));
        }
      });
    }
    this.#namespaces.onChange((_key, before, after) => {
      if (isDeepStrictEqual(before?.labels, after?.labels)) return;
      for (const informer of this.#sources) {
        for (const { identity } of informer.records()) if (isLimited(identity)) controller.enqueue(sourceKey(identity));
      }
    });
    for (const informer of informers) void informer.run(signal);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const seen = this.#sources.map((informer) => informer.get(key)).find((source) => source !== undefined);
    if (seen === undefined) await this.#removeDependents(key, new Set(), signal);
    else await this.#establish(key, seen, signal);
    return DONE;
  }

  async #establish(key: string, seen: SeenSource, signal: AbortSignal): Promise<void> {
    const outcome = await this.#apply(key, seen.identity, signal).catch((error: unknown): Applied => {
      if (error instanceof ApiError) return { kind: 'failed', error };
      throw error;
    });
    if (outcome.kind === 'gone') return; // the watch delivers its deletion; leftovers are deleted then
    await this.#showStatus(seen, outcome, signal);
    if (outcome.kind === 'failed') throw outcome.error;
  }

  async #apply(key: string, identity: SourceIdentity, signal: AbortSignal): Promise<Applied> {
    const account = accountManifest(identity);
    if (account === undefined && identity.userName === undefined) return { kind: 'nobody' };
    const { client, installNamespace } = this.#options;
    const wanted = identityManifests(identity, installNamespace, this.#allowed(identity));
    if (this.#lacksAny(account === undefined ? wanted : [account, ...wanted]) && !(
      await this.#isStillThere(identity, signal)
    )) return { kind: 'gone' };
    await requirePolicies(client, signal);
    if (account !== undefined) await this.#ensureAccount(key, account, signal);
    for (const object of wanted) await client.apply(identityTypeOf(object), object, FIELD_MANAGER, signal);
    await this.#removeDependents(
      key, new Set([...wanted, ...(account === undefined ? [] : [account])].map(idOf)), signal,
    );
    return { kind: 'established' };
  }

  /** Names of the namespaces that accept pods of a source, when not all do. */
  #allowed({ name, namespace, grants = {} }: SourceIdentity): readonly string[] {
    const asking = { name, grants, installNamespace: this.#options.installNamespace };
    if (namespace !== undefined || takesAllNamespaces(grants)) return [];
    return [...this.#namespaces.records()].filter((one) => !one.isBeingDeleted && isAllowedIn(one, asking))
      .map((one) => one.name);
  }

  #lacksAny(objects: readonly KubernetesObject[]): boolean {
    const present = new Set(this.#all().map(({ type, namespace, name }) => `${type.kind} ${namespace ?? ''}/${name}`));
    return objects.some((object) => !present.has(idOf(object)));
  }

  /**
   * An uncached read before anything is created: when a source is deleted, the watch of its dependents may be ahead of
   * the watch of sources, and recreated dependents would briefly be left behind.
   */
  async #isStillThere({ namespace, name, uid }: SourceIdentity, signal: AbortSignal): Promise<boolean> {
    const type: ResourceType = namespace === undefined ? CLUSTER_SOURCES : SOURCES;
    const live = await this.#options.client.get(type, { namespace, name }, signal).catch(unless(isNotFound));
    return live !== undefined && live.metadata.uid === uid && live.metadata.deletionTimestamp === undefined;
  }

  /** An existing account that is not ours is used, and never changed. */
  async #ensureAccount(key: string, account: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { namespace, name = '' } = account.metadata;
    // two sources may name one account: it stays with the first
    const isOurs = this.#all().some((dependent) => (
      dependent.type === SERVICE_ACCOUNTS && dependent.namespace === namespace && dependent.name === name
        && [key, ''].includes(dependent.source)
    ));
    if (isOurs) await client.apply(SERVICE_ACCOUNTS, account, FIELD_MANAGER, signal);
    else await client.create(SERVICE_ACCOUNTS, account, signal).catch(unless(isAlreadyExists));
  }

  /** The sources that name an account: it may have belonged to another one. */
  #sourcesNaming({ namespace, name }: Dependent): readonly SeenSource[] {
    return this.#sources.flatMap((informer) => [...informer.records()].filter(
      ({ identity: { account } }) => account?.namespace === namespace && account?.name === name,
    ));
  }

  #all(): readonly Dependent[] {
    return this.#dependents.flatMap((informer) => [...informer.records()]);
  }

  async #removeDependents(key: string, wanted: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    for (const { type, namespace, name, uid, source } of this.#all()) {
      if (source !== key || wanted.has(`${type.kind} ${namespace ?? ''}/${name}`)) continue;
      await this.#options.client.delete(type, { namespace, name }, { preconditions: { uid } }, signal)
        .catch(unless(isNotFound));
    }
  }

  async #showStatus(
    { identity, generation, status }: SeenSource, outcome: IdentityOutcome, signal: AbortSignal,
  ): Promise<void> {
    const allows = allowedToSource(identity, this.#options.installNamespace, this.#allowed(identity));
    const next = identityStatus(status, { identity, outcome, allows }, { generation, now: new Date().toISOString() });
    if (next === status) return;
    const { namespace, name, uid } = identity;
    const type: ResourceType = namespace === undefined ? CLUSTER_SOURCES : SOURCES;
    const patch = { metadata: { uid }, status: next };
    await this.#options.client
      .patch(type, { namespace, name, subresource: 'status' }, { patchType: 'merge', patch }, signal)
      .catch(unless(isNotFound));
  }
}

function idOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

function toSeenSource(source: Source | ClusterSource): SeenSource {
  return {
    identity: toSourceIdentity(source), generation: source.metadata.generation ?? 0, status: source.status ?? {},
  };
}

interface SeenNamespace extends NamespaceLabels {
  readonly isBeingDeleted: boolean;
}

function toNamespaceLabels({ metadata }: KubernetesObject): SeenNamespace {
  return {
    name: metadata.name ?? '', labels: metadata.labels ?? {}, isBeingDeleted: metadata.deletionTimestamp !== undefined,
  };
}

function isLimited({ namespace, grants = {} }: SourceIdentity): boolean {
  return namespace === undefined && !takesAllNamespaces(grants);
}

function toDependent(type: ResourceType, { metadata }: KubernetesObject): Dependent {
  const { namespace, name = '', uid = '', annotations = {} } = metadata;
  return { type, namespace, name, uid, source: annotations[SOURCE_ANNOTATION] ?? '' };
}
