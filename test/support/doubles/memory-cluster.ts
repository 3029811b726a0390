// The objects of one cluster in memory, behind a real client: for commands that read and write many kinds. It has the
// API server's rules on names, preconditions, finalizers, selectors and pages. A test may refuse calls, and act before
// them.
import type { Binding, KubernetesObject, ObjectMeta } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { ClusterClient, pathOf } from '../../../kubernetes/client/cluster-client.ts';
import { ServerClock } from '../../../kubernetes/connect/server-clock.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import type { Call, Transport } from '../../../kubernetes/http/transport.ts';
import { isRecord } from '../../../model/objects/json-values.ts';
import { afterMergePatch, frozen } from '../objects/builders.ts';

/** A kind and an object of it. */
export type Stored = readonly [type: ResourceType, object: KubernetesObject];

/** An object as a test looks at it: any field may be there. */
export type Found = KubernetesObject & Readonly<Record<string, unknown>>;

interface Address {
  /** Path of the collection, without its namespace. */
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

const PATH = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

/** One cluster. */
export class MemoryCluster {
  readonly client: ClusterClient;
  /** Method and path of each write that was done, a dry run excepted. */
  readonly writes: string[] = [];
  /** Called with each call before it is done; what it returns is thrown instead. */
  before: (call: Call) => Error | undefined = () => undefined;
  /** Called with each call after it was done; what it returns is thrown instead of the answer, which is lost. */
  after: (call: Call) => Error | undefined = () => undefined;
  /** Most objects of a page; as many as are asked for when it is greater. */
  pageSize = Infinity;
  /** Whether its client was closed. */
  isClosed = false;
  readonly #objects = new Map<string, Found>();
  readonly #unserved = new Set<string>();
  /** What was applied last, by object and field manager. */
  readonly #applied = new Map<string, unknown>();
  #version = 0;

  constructor(...objects: readonly Stored[]) {
    for (const [type, object] of objects) this.put(type, object);
    this.client = new ClusterClient({
      call: async (call: Call, signal?: AbortSignal) => {
        signal?.throwIfAborted();
        const refusal = this.before(call);
        if (refusal !== undefined) throw refusal;
        const answer = this.#answer(call);
        const loss = this.after(call);
        if (loss !== undefined) throw loss;
        return answer;
      },
      clock: new ServerClock(),
      close: async () => void (this.isClosed = true),
    } as unknown as Transport);
  }

  /** Stores an object as its own controller would; the same UID when it is there. */
  put(type: ResourceType, object: KubernetesObject): void {
    const { namespace, name = '' } = object.metadata;
    this.#store(addressIn(pathOf(type, { namespace, name })), { kind: type.kind, ...object });
  }

  /** Takes an object away, whatever holds it. */
  drop(type: ResourceType, at: { readonly namespace?: string; readonly name: string }): void {
    this.#objects.delete(keyOf(addressIn(pathOf(type, at))));
  }

  /** No object of these kinds is served. */
  withoutKinds(...types: readonly ResourceType[]): this {
    for (const type of types) this.#unserved.add(addressIn(pathOf(type, {})).collection);
    return this;
  }

  /** An object; undefined when it is not there. */
  find(type: ResourceType, name: string, namespace?: string): Found | undefined {
    return this.#objects.get(keyOf(addressIn(pathOf(type, { namespace, name }))));
  }

  /** All objects by collection, namespace and name. */
  contents(): ReadonlyMap<string, Found> {
    return this.#objects;
  }

  /** Names of all objects of a kind, with their namespaces. */
  names(type: ResourceType): readonly string[] {
    const { collection } = addressIn(pathOf(type, {}));
    return [...this.#objects.keys()].filter((key) => key.startsWith(`${collection} `))
      .map((key) => key.slice(collection.length + 1).replace(/^\//, '')).toSorted();
  }

  #answer(call: Call): unknown {
    if (call.path === '/api' || call.path === '/apis') return this.#discovery(call.path);
    const address = addressIn(call.path);
    if (this.#unserved.has(address.collection)) throw new ApiError(404, '', '404 page not found');
    if (call.method === 'GET') return address.name === undefined ? this.#list(address, call) : this.#get(address);
    if (call.query?.['dryRun'] === 'All') return call.body;
    const answer = this.#write(address, call);
    this.writes.push(`${call.method} ${call.path}`);
    return answer;
  }

  /** Aggregated discovery of the kinds that there are objects of; each kind is a group of its own. */
  #discovery(root: string): object {
    const kinds = new Map<string, object>();
    for (const [key, { kind, metadata }] of this.#objects) {
      const [collection = ''] = key.split(' ');
      const [resource, version, group = ''] = collection.slice(root.length + 1).split('/').toReversed();
      const scope = metadata.namespace === undefined ? 'Cluster' : 'Namespaced';
      const resources = [{ resource, responseKind: { kind }, scope, verbs: ['delete', 'list'] }];
      if (collection.startsWith(`${root}/`)) {
        kinds.set(collection, { metadata: { name: group }, versions: [{ version, resources }] });
      }
    }
    return { items: [...kinds.values()] };
  }

  #write(address: Address, call: Call): unknown {
    const { method, body } = call;
    if (method === 'PUT') return this.#replace(address, body as Found);
    if (method === 'PATCH') return this.#patch(address, call);
    if (method === 'DELETE') return this.#delete(address, body as { readonly preconditions?: ObjectMeta });
    return address.name === undefined ? this.#create(address, body as Found) : this.#act(address, body);
  }

  #get(address: Address): Found {
    const found = this.#objects.get(keyOf(address));
    if (found === undefined) throw new ApiError(404, 'NotFound', `${address.name} not found`);
    return found;
  }

  #list({ collection, namespace }: Address, { query = {} }: Call): object {
    const selected = [...this.#objects].filter(([key, object]) =>
      key.startsWith(`${collection} `) && (namespace === undefined || object.metadata.namespace === namespace)
      && isSelected(object, query)).map(([, object]) => object);
    const from = Number(query['continue'] ?? 0);
    const end = from + Math.min(this.pageSize, Number(query['limit'] ?? Infinity));
    const more = end < selected.length ? { continue: String(end) } : {};
    return { metadata: { resourceVersion: String(this.#version), ...more }, items: selected.slice(from, end) };
  }

  #create(address: Address, object: Found): Found {
    const { name = `${object.metadata.generateName}x1` } = object.metadata;
    const at = { ...address, name };
    if (this.#objects.has(keyOf(at))) throw new ApiError(409, 'AlreadyExists', `${name} already exists`);
    return this.#store(at, { ...object, metadata: { ...object.metadata, name } });
  }

  /** A subresource that is an action. */
  #act(address: Address, body: unknown): unknown {
    const found = this.#get(address);
    if (address.subresource === 'eviction') {
      const { deleteOptions } = body as { readonly deleteOptions: { readonly preconditions: ObjectMeta } };
      requireSame(found, deleteOptions.preconditions);
      this.#objects.delete(keyOf(address));
    }
    if (address.subresource === 'binding') {
      const { name: nodeName } = (body as Binding).target;
      this.#store(address, afterMergePatch(found, { spec: { nodeName } }) as Found);
    }
    const token = `token of ${found.metadata.namespace}/${found.metadata.name}`;
    return { status: { token, expirationTimestamp: '2026-02-01T00:00:00Z' } };
  }

  #replace(address: Address, object: Found): Found {
    requireSame(this.#get(address), object.metadata);
    return this.#store(address, object);
  }

  #patch(address: Address, call: Call): Found {
    const { body, contentType } = call;
    const isApply = contentType === 'application/apply-patch+yaml';
    const live = this.#objects.get(keyOf(address));
    if (live === undefined && !isApply) return this.#get(address);
    const patch = isApply ? this.#applying(address, call) as Found : body as Found;
    if (live !== undefined && patch.metadata !== undefined) requireSame(live, patch.metadata);
    const next = afterMergePatch(live ?? {}, patch) as Found;
    if (live?.['roleRef'] !== undefined && JSON.stringify(live['roleRef']) !== JSON.stringify(next['roleRef'])) {
      throw new ApiError(422, 'Invalid', 'cannot change roleRef');
    }
    return this.#store(address, next);
  }

  /** An apply takes away what its manager has applied before and applies no more. */
  #applying(address: Address, { body, query = {} }: Call): unknown {
    const key = `${query['fieldManager']} ${keyOf(address)}`;
    const before = this.#applied.get(key);
    this.#applied.set(key, body);
    return withRemovals(before, body);
  }

  #delete(address: Address, { preconditions }: { readonly preconditions?: ObjectMeta }): object {
    const live = this.#get(address);
    requireSame(live, preconditions ?? {});
    if ((live.metadata.finalizers ?? []).length === 0) this.#objects.delete(keyOf(address));
    else this.#store(address, { ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    return {};
  }

  #store(address: Address, object: Found): Found {
    this.#version += 1;
    const { uid = `uid-${address.name}` } = this.#objects.get(keyOf(address))?.metadata ?? object.metadata;
    const stored =
      frozen({ ...object, metadata: { ...object.metadata, uid, resourceVersion: String(this.#version) } });
    const isOver = stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0;
    if (isOver) this.#objects.delete(keyOf(address));
    else this.#objects.set(keyOf(address), stored);
    return stored;
  }
}

function withRemovals(before: unknown, now: unknown): unknown {
  if (!isRecord(before) || !isRecord(now)) return now;
  const gone = Object.keys(before).filter((field) => !Object.hasOwn(now, field)).map((field) => [field, null] as const);
  const kept = Object.entries(now).map(([field, value]) => [field, withRemovals(before[field], value)] as const);
  return Object.fromEntries([...gone, ...kept]);
}

function addressIn(path: string): Address {
  const [, prefix, namespace, plural, name, subresource] = PATH.exec(path) ?? [];
  if (prefix === undefined) throw new Error(`${path} is not a path of the API`);
  const decoded = (part: string | undefined) => (part === undefined ? undefined : decodeURIComponent(part));
  return {
    collection: `${prefix}/${plural}`, namespace: decoded(namespace), name: decoded(name), subresource,
  };
}

function keyOf({ collection, namespace = '', name }: Address): string {
  return `${collection} ${namespace}/${name}`;
}

function requireSame({ metadata }: KubernetesObject, { uid, resourceVersion }: ObjectMeta): void {
  const isSame = (uid === undefined || uid === metadata.uid)
    && (resourceVersion === undefined || resourceVersion === metadata.resourceVersion);
  if (!isSame) throw new ApiError(409, 'Conflict', `${metadata.name} was changed`);
}

function isSelected(object: Found, { labelSelector = '', fieldSelector = '' }: NonNullable<Call['query']>): boolean {
  const { labels = {} } = object.metadata;
  const parts = (text: string) => text.split(',').filter((part) => part !== '').map((part) => part.split(/==?/));
  return parts(labelSelector).every(([key = '', value]) => (
    value === undefined ? Object.hasOwn(labels, key) : labels[key] === value
  )) && parts(fieldSelector).every(([path = '', value]) => {
    const isNot = path.endsWith('!');
    const keys = path.replace('!', '').split('.');
    const at = keys.reduce<unknown>((inner, key) => (inner as Found | undefined)?.[key], object);
    return ((at ?? '') === value) !== isNot;
  });
}
