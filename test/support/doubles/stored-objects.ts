// Objects that a scripted API server stores, lists and watches, for tests of controllers that write and then wait for
// the watch. It knows merge patches and applies, which merge lists by the names of their entries.
import { EventEmitter, once } from 'node:events';
import type { TestContext } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { ScriptedApiServer, status, type Exchange } from './scripted-api-server.ts';

/** A write that arrived: its method, path, field manager and body. */
export interface ArrivedWrite {
  readonly method: string;
  readonly path: string;
  readonly manager: string;
  readonly body: KubernetesObject & Readonly<Record<string, unknown>>;
}

/** What a write is answered with instead of being stored: a status code and the reason that goes with it. */
export type Refusal = readonly [code: number, reason: string];

/** The objects, by their paths in the API. */
export class StoredObjects {
  readonly client: ClusterClient;
  readonly writes: ArrivedWrite[] = [];
  /** Paths of the deletes that arrived. */
  readonly deletes: string[] = [];
  /** Asked about each write before it is stored. */
  refuse: (write: ArrivedWrite) => Refusal | undefined = () => undefined;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #watches = new Set<Exchange>();
  /** All that happened, for watches that begin later. */
  readonly #events: { readonly path: string; readonly type: string; readonly object: KubernetesObject }[] = [];
  readonly #written = new EventEmitter();
  #version = 1;

  private constructor(client: ClusterClient) {
    this.client = client;
  }

  /** A server of these objects, which ends with the test. */
  static async start(t: TestContext, objects: Readonly<Record<string, KubernetesObject>> = {}): Promise<StoredObjects> {
    const server = await ScriptedApiServer.start();
    const stored = new StoredObjects(server.client);
    for (const [path, object] of Object.entries(objects)) stored.put(path, object);
    const over = new AbortController();
    t.after(() => {
      over.abort();
      return server.stop();
    });
    const serve = async (): Promise<void> => {
      const exchange = await server.next().catch(() => undefined); // nobody asked for a while
      if (over.signal.aborted) return undefined;
      if (exchange !== undefined) stored.#answer(exchange);
      return serve();
    };
    void serve();
    return stored;
  }

  /** The object at a path. */
  get(path: string): KubernetesObject & Readonly<Record<string, unknown>> | undefined {
    return this.#objects.get(path) as (KubernetesObject & Readonly<Record<string, unknown>>) | undefined;
  }

  /** Stores an object as somebody else does: watches hear of it. */
  put(path: string, object: KubernetesObject): KubernetesObject {
    const type = this.#objects.has(path) ? 'MODIFIED' : 'ADDED';
    const metadata = { uid: path, ...object.metadata, resourceVersion: String(this.#version += 1) };
    const stored = { ...object, metadata };
    this.#objects.set(path, stored);
    this.#tell(path, type, stored);
    return stored;
  }

  /** Deletes an object as somebody else does. */
  remove(path: string): void {
    const object = this.#objects.get(path);
    this.#objects.delete(path);
    const resourceVersion = String(this.#version += 1);
    if (object) this.#tell(path, 'DELETED', { ...object, metadata: { ...object.metadata, resourceVersion } });
  }

  /** Waits until what was written satisfies `isDone`, from the first write on. */
  async until(isDone: (writes: readonly ArrivedWrite[]) => boolean): Promise<void> {
    while (!isDone(this.writes)) await once(this.#written, 'write');
  }

  #answer(exchange: Exchange): void {
    const { method, path, query } = exchange;
    if (method === 'DELETE') return this.#delete(exchange);
    if (method !== 'GET') return this.#write(exchange);
    const [, wanted] = /metadata\.name=(.*)/.exec(query.get('fieldSelector') ?? '') ?? [];
    const found = [...this.#objects].filter(([at, { metadata }]) =>
      collectionOf(at) === path && (wanted === undefined || metadata.name === wanted));
    if (query.get('watch') === 'true') {
      exchange.open();
      this.#watches.add(exchange);
      const since = Number(query.get('resourceVersion'));
      for (const { path: at, type, object } of this.#events) {
        const isNews = collectionOf(at) === path && Number(object.metadata.resourceVersion) > since;
        if (isNews) exchange.send(type, object);
      }
    } else if (this.#objects.has(path)) exchange.answer(200, this.#objects.get(path));
    else if (isObject(path)) exchange.answer(404, status(404, 'NotFound', `${path} not found`));
    else {
      exchange.answer(200, {
        kind: 'List', metadata: { resourceVersion: String(this.#version) }, items: found.map(([, object]) => object),
      });
    }
  }

  #write(exchange: Exchange): void {
    const body = JSON.parse(exchange.body) as ArrivedWrite['body'];
    const path = exchange.method === 'POST' ? `${exchange.path}/${body.metadata.name}` : exchange.path;
    const write = { method: exchange.method, path, manager: exchange.query.get('fieldManager') ?? '', body };
    const before = this.#objects.get(path);
    const stale = exchange.method !== 'POST' && body.metadata.resourceVersion !== undefined
      && body.metadata.resourceVersion !== before?.metadata.resourceVersion;
    const [code, reason] = this.refuse(write)
      ?? (exchange.method === 'POST' && before ? [409, 'AlreadyExists'] : stale ? [409, 'Conflict'] : [200, '']);
    this.writes.push(write);
    if (code === 200) exchange.answer(200, this.put(path, merged(before ?? {}, body) as KubernetesObject));
    else exchange.answer(code, status(code, reason, `${path}: ${reason}`));
    this.#written.emit('write');
  }

  #delete(exchange: Exchange): void {
    const { path } = exchange;
    const isThere = this.#objects.has(path);
    this.deletes.push(path);
    this.remove(path);
    if (isThere) exchange.answer(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    else exchange.answer(404, status(404, 'NotFound', `${path} not found`));
    this.#written.emit('write');
  }

  #tell(path: string, type: string, object: KubernetesObject): void {
    this.#events.push({ path, type, object });
    for (const watch of this.#watches) if (watch.path === collectionOf(path)) watch.send(type, object);
  }
}

function collectionOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Whether a path names one object of a namespace: /api/v1/namespaces/NAMESPACE/KIND/NAME. */
function isObject(path: string): boolean {
  return /\/namespaces\/[^/]+\/[^/]+\/[^/]+$/.test(path);
}

function merged(value: unknown, patch: unknown): unknown {
  if (Array.isArray(patch) && Array.isArray(value)) {
    const named = new Map(value.map((entry: { readonly name?: string }) => [entry.name, entry as unknown]));
    for (const entry of patch as { readonly name?: string }[]) {
      named.set(entry.name, merged(named.get(entry.name), entry));
    }
    return [...named.values()];
  }
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const before = typeof value === 'object' && value !== null ? value : {};
  const entries = Object.entries(patch).map(
    ([field, change]) => [field, merged((before as Readonly<Record<string, unknown>>)[field], change)] as const,
  );
  return { ...before, ...Object.fromEntries(entries) };
}
