// The verbs of the Kubernetes API over a transport, typed by resource.
import type { ResourceType } from '../../api/objects/group-version.ts';
import { apiVersionOf } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ObjectRef, PatchType, Preconditions } from '../../model/objects/plan.ts';
import { isExpired } from '../flow/api-error.ts';
import type { Fence } from '../flow/fence.ts';
import { readSlim } from '../json/managed-fields.ts';
import type { ConnectTimeout } from '../http/pending-call.ts';
import type { Call, Transport } from '../http/transport.ts';

/** What a list or watch selects. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** One page of a list (`meta/v1` List). */
export interface ListPage<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Which page of a list to read. */
export interface PageRequest {
  readonly limit: number;
  /** Continue token of the page before; the first page when missing. */
  readonly continue?: string | undefined;
}

interface PageCall {
  readonly type: ResourceType;
  readonly selection: Selection;
  readonly page: PageRequest;
  readonly read: (answer: Buffer) => unknown;
}

/** How to delete (`meta/v1` DeleteOptions). */
export interface DeleteOptions {
  readonly preconditions?: Preconditions;
  readonly propagation?: Propagation;
  /** Grace period in seconds. */
  readonly gracePeriodSeconds?: number;
}

/** How a delete propagates to dependents (`meta/v1` DeleteOptions). */
export type Propagation = 'Background' | 'Foreground' | 'Orphan';

const PATCH_CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};
const APPLY_CONTENT_TYPE = 'application/apply-patch+yaml';
/**
 * The metadata of the written object alone (Kubernetes API concepts, "Metadata-only fetches"); the whole object from a
 * server that does not know that form.
 */
const METADATA_ALONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';

/** A patch and its type. */
export interface Patch {
  readonly patchType: PatchType;
  readonly patch: object;
}

/** Options for all calls of a client. */
export interface CallOptions {
  readonly fence?: Fence;
  readonly bypassesRateLimit?: boolean;
  readonly timeoutMs?: number;
  readonly connectTimeout?: ConnectTimeout;
  /** Of written objects only the metadata is answered. */
  readonly isMetadataOnly?: boolean;
}

/** Upper bound in ms for a fenced write, as for any other call. */
const MAX_WRITE_MS = 15_000;

function withType(type: ResourceType, object: KubernetesObject): KubernetesObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...object };
}

/** Typed access to one cluster. All methods throw what {@link Transport.call} throws. */
export class ClusterClient {
  readonly transport: Transport;
  readonly #options: CallOptions;
  /** Options that every call uses. */
  readonly #common: Pick<CallOptions, 'bypassesRateLimit' | 'timeoutMs' | 'connectTimeout'>;

  constructor(transport: Transport, options: CallOptions = {}) {
    this.transport = transport;
    this.#options = options;
    const { fence: _fence, isMetadataOnly: _isMetadataOnly, ...common } = options;
    this.#common = common;
  }

  /** The same cluster, with every write fenced: a write throws NotLeaderError while the fence does not hold. */
  fencedBy(fence: Fence): ClusterClient {
    return new ClusterClient(this.transport, { ...this.#options, fence });
  }

  /** The same cluster, for calls that bypass the rate limit and its queues, and time out after `timeoutMs`. */
  withoutRateLimit(timeoutMs: number): ClusterClient {
    return new ClusterClient(this.transport, { ...this.#options, bypassesRateLimit: true, timeoutMs });
  }

  /**
   * The same cluster, for calls that may be abandoned before they are sent: an UnreachableError then says that nothing
   * was sent.
   */
  withConnectTimeout(connectTimeout: ConnectTimeout): ClusterClient {
    return new ClusterClient(this.transport, { ...this.#options, connectTimeout });
  }

  /**
   * The same cluster, for writes whose answer is read for its metadata at most: creates, updates and patches answer no
   * more than that. It spares the API server printing the object, and us reading it.
   */
  metadataOnly(): ClusterClient {
    return new ClusterClient(this.transport, { ...this.#options, isMetadataOnly: true });
  }

  /** Reads one object, uncached. */
  get<T extends KubernetesObject>(type: ResourceType<T>, at: ObjectRef, signal?: AbortSignal): Promise<T> {
    return this.#call<T>({ method: 'GET', path: pathOf(type, at) }, signal);
  }

  /** Reads one page, without managedFields. */
  listPage<T extends KubernetesObject>(
    type: ResourceType<T>, selection: Selection, page: PageRequest, signal?: AbortSignal,
  ): Promise<ListPage<T>> {
    return this.#page<ListPage<T>>({ type, selection, page, read: readSlim }, signal);
  }

  /** Reads one page as the raw bytes of the response. */
  listPageBytes(type: ResourceType, selection: Selection, page: PageRequest, signal?: AbortSignal): Promise<Buffer> {
    return this.#page<Buffer>({ type, selection, page, read: (answer) => answer }, signal);
  }

  #page<A>({ type, selection, page, read }: PageCall, signal: AbortSignal | undefined): Promise<A> {
    const query = { ...selectors(selection), limit: String(page.limit), continue: page.continue };
    return this.#call<A>(
      { method: 'GET', path: pathOf(type, { namespace: selection.namespace }), query, read }, signal,
    );
  }

  /** Reads all objects, page by page; at once where the pages before have expired meanwhile, as client-go does. */
  async list<T extends KubernetesObject>(
    type: ResourceType<T>, selection: Selection = {}, signal?: AbortSignal,
  ): Promise<T[]> {
    return this.#pages(type, selection, signal).catch(async (error: unknown) => {
      if (!isExpired(error)) throw error;
      return [...(await this.listPage(type, selection, { limit: 0 }, signal)).items];
    });
  }

  async #pages<T extends KubernetesObject>(
    type: ResourceType<T>, selection: Selection, signal: AbortSignal | undefined,
  ): Promise<T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page = await this.listPage(type, selection, { limit: 500, continue: next }, signal);
      for (const item of page.items) items.push(item);
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
    return items;
  }

  /** Creates an object. */
  create<T extends KubernetesObject>(
    type: ResourceType<T>, object: KubernetesObject, signal?: AbortSignal,
  ): Promise<T> {
    const path = pathOf(type, { namespace: object.metadata.namespace });
    return this.#write<T>({ method: 'POST', path, body: withType(type, object) }, signal);
  }

  /** Dry run: what the API server would store after admission; nothing is stored (API concepts, "Dry-run"). */
  dryRunCreate<T extends KubernetesObject>(
    type: ResourceType<T>, object: KubernetesObject, signal?: AbortSignal,
  ): Promise<T> {
    const path = pathOf(type, { namespace: object.metadata.namespace });
    const body = withType(type, object);
    return this.#call<T>({ method: 'POST', path, query: { dryRun: 'All' }, body }, signal);
  }

  /** Replaces an object. `metadata.uid` and `metadata.resourceVersion`, where given, are preconditions. */
  update<T extends KubernetesObject>(
    type: ResourceType<T>, object: KubernetesObject, signal?: AbortSignal,
  ): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    const body = withType(type, object);
    return this.#write<T>({ method: 'PUT', path: pathOf(type, { namespace, name }), body }, signal);
  }

  /** Posts to a subresource that is an action, such as a pod's `binding` or a ServiceAccount's `token`. */
  post<T>(type: ResourceType, at: ObjectRef, body: object, signal?: AbortSignal): Promise<T> {
    return this.#call<T>({ method: 'POST', path: pathOf(type, at), body }, signal);
  }

  /** Patches an object, or its status when `at` says so. */
  patch<T extends KubernetesObject>(
    type: ResourceType<T>, at: ObjectRef, { patchType, patch }: Patch, signal?: AbortSignal,
  ): Promise<T> {
    return this.#write<T>(
      { method: 'PATCH', path: pathOf(type, at), body: patch, contentType: PATCH_CONTENT_TYPES[patchType] }, signal,
    );
  }

  /** As {@link patch}, for callers that do not read the response: only metadata is requested, and it is not parsed. */
  patchUnread(
    type: ResourceType, at: ObjectRef, { patchType, patch }: Patch, signal?: AbortSignal,
  ): Promise<void> {
    const call = { path: pathOf(type, at), body: patch, contentType: PATCH_CONTENT_TYPES[patchType] };
    return this.#call<void>({ method: 'PATCH', ...call, accept: METADATA_ALONE, read: unread }, signal);
  }

  /** Server-side apply with force: takes over fields that other managers own. */
  apply<T extends KubernetesObject>(
    type: ResourceType<T>, object: KubernetesObject, fieldManager: string, signal?: AbortSignal,
  ): Promise<T> {
    const { namespace, name } = object.metadata;
    return this.#write<T>(
      {
        method: 'PATCH',
        path: pathOf(type, { namespace, name: name ?? '' }),
        query: { fieldManager, force: 'true' },
        body: withType(type, object),
        contentType: APPLY_CONTENT_TYPE,
      },
      signal,
    );
  }

  /** Deletes an object under preconditions; throws a conflict error when they do not hold. */
  async delete(
    type: ResourceType, at: ObjectRef, options: DeleteOptions = {}, signal?: AbortSignal,
  ): Promise<void> {
    const { preconditions, propagation, gracePeriodSeconds } = options;
    const body =
      { kind: 'DeleteOptions', apiVersion: 'v1', preconditions, propagationPolicy: propagation, gracePeriodSeconds };
    await this.#call({ method: 'DELETE', path: pathOf(type, at), body, read: unread }, signal);
  }

  /** A write that answers the written object, and not a Status, which has no metadata of its own. */
  #write<T>(call: Call, signal: AbortSignal | undefined): Promise<T> {
    const isMetadataOnly = this.#options.isMetadataOnly === true;
    return this.#call<T>(isMetadataOnly ? { ...call, accept: METADATA_ALONE, read: readSlim } : call, signal);
  }

  #call<T>(call: Call, signal: AbortSignal | undefined): Promise<T> {
    const { fence, timeoutMs = MAX_WRITE_MS } = this.#options;
    const isFenced = fence !== undefined && call.method !== 'GET';
    const bounds = isFenced ? { fence, timeoutMs: Math.min(timeoutMs, MAX_WRITE_MS) } : undefined;
    return this.transport.call<T>({ ...this.#common, ...call, ...bounds }, signal);
  }
}

/**
 * Path of a collection, an object or a subresource (Kubernetes API concepts, "Resource URIs").
 * @throws Error for an empty name or namespace: that would be the path of the collection, and a delete would empty it.
 */
export function pathOf(type: ResourceType, at: Partial<ObjectRef>): string {
  const parts = [type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`];
  if (type.namespaced && at.namespace !== undefined) parts.push('namespaces', segment(at.namespace));
  parts.push(type.plural);
  if (at.name !== undefined) parts.push(segment(at.name));
  if (at.subresource !== undefined) parts.push(at.subresource);
  return parts.join('/');
}

const OPENS_OBJECT = 0x7b;

/**
 * Reads nothing of an answer but that it is an object: what stands before an API server may answer with a page of its
 * own. Throws SyntaxError.
 */
function unread(answer: Buffer): undefined {
  if (answer[0] !== OPENS_OBJECT) throw new SyntaxError('the answer is no JSON object');
}

function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`"${name}" is not a valid object name`);
  return encodeURIComponent(name);
}

/** Query parameters of a selection. */
export function selectors(selection: Selection): Record<string, string | undefined> {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}
