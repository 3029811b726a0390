// A fake cluster: its client lists and watches what the test has put there, without a server or a socket, and records
// writes. For controllers whose events arrive in an order that the test chooses.
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../../kubernetes/client/cluster-client.ts';
import type { ObjectRef } from '../../../model/objects/plan.ts';
import { pathOf } from '../../../kubernetes/client/cluster-client.ts';
import { ServerClock } from '../../../kubernetes/connect/server-clock.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { keyOf } from '../../../kubernetes/watch/informer.ts';

/** A write that was recorded; it changes nothing by itself. */
export interface RecordedWrite {
  readonly verb: 'apply' | 'create' | 'patch' | 'delete';
  readonly plural: string;
  readonly at: ObjectRef;
  /** The object, the patch, or the options of a delete. */
  readonly body: unknown;
}

type Collection = Map<string, KubernetesObject>;

interface RequestedWatch {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

interface WatchEvent {
  readonly plural: string;
  readonly version: number;
  readonly type: string;
  readonly object: KubernetesObject;
}

/** The cluster. */
export class FakeCluster {
  readonly client: ClusterClient;
  readonly writes: RecordedWrite[] = [];
  /** What the next writes are answered with instead of success. */
  readonly failures: Error[] = [];
  /** Plurals whose lists are refused. */
  readonly refused = new Map<string, Error>();
  /** Paths and field selectors of the watches that are open. */
  readonly watched = new Map<PassThrough, string>();
  readonly #collections = new Map<string, Collection>();
  /** All events; a watch begins with those after its version. */
  readonly #events: WatchEvent[] = [];
  #version = 1;

  constructor() {
    const held = {
      transport: {
        offersStreamingLists: false, clock: new ServerClock(),
        stream: async (call: RequestedWatch, signal: AbortSignal) => this.#watch(call, signal),
      },
      metadataOnly: () => held, fencedBy: () => held,
      listPageBytes: async (type: ResourceType, selection: Selection) => this.#list(type, selection),
      list: async (type: ResourceType, selection: Selection) =>
        (JSON.parse(this.#list(type, selection).toString('utf8')) as { readonly items: unknown }).items,
      get: async (type: ResourceType, at: ObjectRef) => this.#get(type, at),
      apply: async (type: ResourceType, object: KubernetesObject) => this.#write(
        { verb: 'apply', plural: type.plural, at: nameOf(object), body: object }),
      create: async (type: ResourceType, object: KubernetesObject) => this.#write(
        { verb: 'create', plural: type.plural, at: nameOf(object), body: object }),
      patch: async ({ plural }: ResourceType, at: ObjectRef, { patch }: { readonly patch: object }) =>
        this.#write({ verb: 'patch', plural, at, body: patch }),
      delete: async ({ plural }: ResourceType, at: ObjectRef, options: object) =>
        this.#write({ verb: 'delete', plural, at, body: options }),
    };
    this.client = held as unknown as ClusterClient;
  }

  /** Adds or changes an object, and tells every watch. */
  put({ plural }: ResourceType, object: KubernetesObject): void {
    const key = keyOf(object);
    const collection = this.#collection(plural);
    const type = collection.has(key) ? 'MODIFIED' : 'ADDED';
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String((this.#version += 1)) } };
    collection.set(key, stored);
    this.#tell(plural, { type, object: stored });
  }

  /** Removes an object, and tells every watch. */
  remove({ plural }: ResourceType, key: string): void {
    const object = this.#collection(plural).get(key);
    this.#collection(plural).delete(key);
    const version = String((this.#version += 1));
    this.#tell(plural, { type: 'DELETED', object: { ...object, metadata: { ...object?.metadata,
      resourceVersion: version } } });
  }

  /** Removes an object that no watch tells of: it went while none was open. */
  lose({ plural }: ResourceType, key: string): void {
    this.#collection(plural).delete(key);
    this.#version += 1;
  }

  /** Ends the open watches of a kind, as a server does whose time is up, or with what else they say. */
  endWatches({ plural }: ResourceType, status?: object): void {
    for (const [body, path] of this.watched) {
      if (path.split(' ')[0]?.split('/').at(-1) !== plural) continue;
      if (status !== undefined) body.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
      body.end();
    }
  }

  /** The writes since the last call, a line each: `apply roles a/x`. */
  takeWrites(): string[] {
    return this.writes.splice(0).map(({ verb, plural, at: { namespace, name } }) =>
      `${verb} ${plural} ${namespace === undefined ? '' : `${namespace}/`}${name}`);
  }

  /** Resolves once all that was told has been taken, and what follows from it at once. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 8; turn += 1) await nextTurn();
  }

  #collection(plural: string): Collection {
    const known = this.#collections.get(plural) ?? new Map<string, KubernetesObject>();
    this.#collections.set(plural, known);
    return known;
  }

  #list({ plural }: ResourceType, selection: Selection): Buffer {
    const refused = this.refused.get(plural);
    if (refused !== undefined) throw refused;
    const items = [...this.#collection(plural).values()].filter((object) => isSelected(object, selection));
    return Buffer.from(JSON.stringify({ metadata: { resourceVersion: String(this.#version) }, items }));
  }

  #get({ plural }: ResourceType, at: ObjectRef): KubernetesObject {
    const found = this.#collection(plural).get(keyOf({ metadata: at } as KubernetesObject));
    if (found === undefined) throw new ApiError(404, 'NotFound', `${plural} ${at.name} is not there`);
    return found;
  }

  #write(write: RecordedWrite): KubernetesObject {
    this.writes.push(write);
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    return { metadata: { name: write.at.name } };
  }

  #watch({ path, query: { fieldSelector, resourceVersion } }: RequestedWatch, signal: AbortSignal) {
    if (signal.aborted) throw signal.reason;
    const body = new PassThrough();
    this.watched.set(body, fieldSelector === undefined ? path : `${path} ${fieldSelector}`);
    body.once('close', () => this.watched.delete(body)).on('error', () => undefined);
    signal.addEventListener('abort', () => body.destroy());
    for (const event of this.#events) if (event.version > Number(resourceVersion)) this.#send(body, event);
    return { body, silenceMs: 1e9 };
  }

  #tell(plural: string, event: Pick<WatchEvent, 'type' | 'object'>): void {
    const told = { ...event, plural, version: this.#version };
    this.#events.push(told);
    for (const body of this.watched.keys()) this.#send(body, told);
  }

  #send(body: PassThrough, { plural, type, object }: WatchEvent): void {
    const [path = '', fieldSelector] = this.watched.get(body)?.split(' ') ?? [];
    const namespace = /\/namespaces\/([^/]+)\/[^/]+$/.exec(path)?.[1];
    if (path.split('/').at(-1) === plural && isSelected(object, { namespace, fieldSelector })) {
      body.write(`${JSON.stringify({ type, object })}\n`);
    }
  }
}

function isSelected({ metadata }: KubernetesObject, { namespace, fieldSelector }: Selection): boolean {
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? '')?.[1];
  return (namespace === undefined || metadata.namespace === namespace)
    && (name === undefined || metadata.name === name);
}

function nameOf({ metadata: { namespace, name = '' } }: KubernetesObject): ObjectRef {
  return { namespace, name };
}

/** The path of a kind's collection, as {@link FakeCluster.watched} has it. */
export function watchedPath(type: ResourceType, namespace?: string): string {
  return pathOf(type, { namespace });
}

/** What a test works with. */
export interface FakeWorld {
  readonly cluster: FakeCluster;
  /** Ends what the test has started. */
  readonly stop: AbortController;
  /** In place of `performance.now()`, in ms. */
  readonly now?: () => number;
}

/** To be called in a suite: `begin` runs before each of its tests, with `setTimeout` held still until the test ends. */
export function startEachTest(begin: () => FakeWorld): void {
  let world: FakeWorld;
  beforeEach(async () => {
    await nextTurn(); // the real timers of the test before are cleared by then
    world = begin();
    mock.timers.enable({ apis: ['setTimeout'] });
    if (world.now !== undefined) mock.method(performance, 'now', world.now);
  });
  afterEach(async () => {
    world.stop.abort();
    mock.reset();
    mock.timers.reset();
    await world.cluster.settled();
  });
}
