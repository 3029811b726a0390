// The reflector against a simulated API server that reorders nothing it may not, but cuts, replays, duplicates, forgets
// and refuses as fast-check likes. Time is virtual: back-offs are skipped, and the world moves on only when the server
// is asked.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { CredentialsChangedError } from '../../kubernetes/http/cluster-access.ts';
import type { ClusterClient, ListPage } from '../../kubernetes/client/cluster-client.ts';
import { Informer, keyOf } from '../../kubernetes/watch/informer.ts';
import type { Call } from '../../kubernetes/http/transport.ts';
import { SILENT, skipBackoff } from '../support/doubles/scripted-api-server.ts';

type Change = { readonly kind: 'put' | 'delete'; readonly name: string };
type Fault =
  | { readonly kind: 'refuse' | 'rotate' | 'forget' }
  | { readonly kind: 'cut' | 'end' | 'expire' | 'error' | 'cut inside'; readonly after: number }
  | { readonly kind: 'duplicate' | 'replay' | 'none'; readonly after: number };

interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject & { readonly code?: number };
}

/** A collection with its history. Each request takes the next fault, and moves the world on. */
class SimulatedServer {
  readonly objects = new Map<string, KubernetesObject>();
  readonly stopped = new AbortController();
  readonly #history: Event[] = [];
  readonly #changes: Change[];
  readonly #faults: Fault[];
  #version = 10;
  /** Versions up to here are forgotten. */
  #oldest = 10;
  offersStreamingLists: boolean;

  constructor(changes: readonly Change[], faults: readonly Fault[], streaming: boolean) {
    this.#changes = [...changes];
    this.#faults = [...faults];
    this.offersStreamingLists = streaming;
  }

  get client(): ClusterClient {
    const transport = this as unknown as ClusterClient['transport'];
    return {
      transport,
      listPageBytes: async (_type: unknown, _selection: unknown, page: { readonly continue?: string }) =>
        Buffer.from(JSON.stringify(await this.#page(page.continue))),
    } as unknown as ClusterClient;
  }

  async stream({ query = {} }: Call): Promise<{ body: Readable; silenceMs: number }> {
    const fault = this.#faults.shift() ?? { kind: 'none', after: 0 };
    if (fault.kind === 'refuse') throw new Error('refused');
    if (fault.kind === 'rotate') throw new CredentialsChangedError();
    if (fault.kind === 'forget') this.#oldest = this.#version;
    const from = query['sendInitialEvents'] === 'true' ? undefined : Number(query['resourceVersion']);
    if (from !== undefined && from < this.#oldest) throw new ApiError(410, 'Expired', 'too old');
    return {
      body: Readable.from(this.#bytes(from, fault), { objectMode: false, highWaterMark: 1 }), silenceMs: 60_000,
    };
  }

  async *#bytes(from: number | undefined, fault: Fault): AsyncGenerator<Buffer> {
    const sent: string[] = [];
    for await (const line of this.#lines(from, fault)) {
      if ('after' in fault && sent.length === fault.after) {
        if (fault.kind === 'cut') throw new Error('cut');
        if (fault.kind === 'end') return;
        if (fault.kind === 'cut inside') return yield Buffer.from(line).subarray(0, line.length / 2);
        if (fault.kind === 'expire' || fault.kind === 'error') {
          yield lineOf({ type: 'ERROR', object: { metadata: {}, code: fault.kind === 'expire' ? 410 : 500 } });
        }
      }
      // Cut into chunks anywhere, also inside a character.
      yield Buffer.from(line).subarray(0, -3);
      yield Buffer.from(line).subarray(-3);
      yield* repetitions(fault, line, from === undefined ? [] : sent).filter((old) => !old.includes('BOOKMARK'))
        .map((old) => Buffer.from(old));
      sent.push(line);
    }
  }

  async *#lines(from: number | undefined, fault: Fault): AsyncGenerator<string> {
    let version = from ?? this.#version;
    if (from === undefined) {
      for (const object of this.objects.values()) yield String(lineOf({ type: 'ADDED', object }));
      const metadata = { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } };
      yield String(lineOf({ type: 'BOOKMARK', object: { metadata } }));
    }
    for (;;) {
      const next = this.#history.find(({ object }) => Number(object.metadata.resourceVersion) > version);
      if (next !== undefined) {
        version = Number(next.object.metadata.resourceVersion);
        yield String(lineOf(next));
      } else if (!this.#moveOn()) {
        const isLast = this.#faults.length === 0 && ['none', 'duplicate', 'replay', 'forget'].includes(fault.kind);
        if (isLast) setImmediate(() => this.stopped.abort());
        yield String(lineOf({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version) } } }));
        return;
      }
    }
  }

  async #page(next: string | undefined): Promise<ListPage<KubernetesObject>> {
    if (next === undefined && this.#faults[0]?.kind === 'refuse') {
      this.#faults.shift();
      throw new Error('refused');
    }
    const names = [...this.objects.keys()].toSorted();
    const [version, from] = next === undefined ? [this.#version, 0] : next.split(':').map(Number) as [number, number];
    if (version < this.#oldest) throw new ApiError(410, 'Expired', 'the continue token is too old');
    if (next !== undefined && version !== this.#version) {
      throw new ApiError(410, 'Expired', 'the simulation keeps no old lists');
    }
    const items = names.slice(from, from + 2).map((name) => this.objects.get(name)!);
    const more = from + 2 < names.length ? { continue: `${version}:${from + 2}` } : {};
    return { metadata: { resourceVersion: String(version), ...more }, items };
  }

  #moveOn(): boolean {
    const change = this.#changes.shift();
    if (change === undefined) return false;
    const before = this.objects.get(change.name);
    if (change.kind === 'delete' && before === undefined) return true;
    this.#version += 1;
    const object = { metadata: { namespace: 'ä', name: change.name, resourceVersion: String(this.#version) } };
    this.#history.push(
      { type: change.kind === 'delete' ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED', object },
    );
    if (change.kind === 'delete') this.objects.delete(change.name);
    else this.objects.set(change.name, object);
    return true;
  }
}

/** What comes once more: the same line, or old ones of a watch (a list holds what exists). */
function repetitions(fault: Fault, line: string, sent: readonly string[]): string[] {
  if (fault.kind === 'duplicate') return [line];
  return fault.kind === 'replay' ? sent.slice(-3) : [];
}

function lineOf(event: Event): Buffer {
  return Buffer.from(`${JSON.stringify(event)}\n`);
}

const changes = fc.array(
  fc.record({
    kind: fc.constantFrom('put' as const, 'put' as const, 'delete' as const),
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  }),
  { maxLength: 40 },
);
const faults = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('refuse' as const, 'rotate' as const, 'forget' as const) }),
    fc.record({
      kind: fc.constantFrom(
        'cut' as const, 'end' as const, 'expire' as const, 'error' as const, 'cut inside' as const,
        'duplicate' as const, 'replay' as const,
      ),
      after: fc.nat(8),
    }),
  ),
  { maxLength: 12 },
);

describe('the reflector under any faults', () => {
  it('ends with what the server holds, having told every key in the order of its versions', async (t) => {
    skipBackoff(t);
    await fc.assert(
      fc.asyncProperty(changes, faults, fc.boolean(), async (someChanges, someFaults, streaming) => {
        const server = new SimulatedServer(someChanges, someFaults, streaming);
        const informer = new Informer<KubernetesObject, string>({
          client: server.client, type: PODS, selection: {}, logger: SILENT,
          project: ({ metadata }) => metadata.resourceVersion,
        });
        const last = new Map<string, number>();
        const known = new Set<string>();
        informer.onChange((key, before, after) => {
          assert.equal(before !== undefined, known.has(key), 'what was there before is what was told');
          if (after === undefined) return void known.delete(key);
          known.add(key);
          assert(Number(after) > (last.get(key) ?? 0), `${key} goes from ${last.get(key)} to ${after}`);
          last.set(key, Number(after));
        });
        const failed: unknown[] = [];
        informer.onListed(() => undefined);
        await Promise.race(
          [informer.run(server.stopped.signal), new Promise(
            (_resolve, reject) => setTimeout(() => reject(new Error('it never came to rest')), 4_000).unref(),
          )],
        ).catch((error: unknown) => failed.push(error));
        assert.deepEqual(failed, []);
        const held = Object.fromEntries([...informer.keys()].map((key) => [key, informer.get(key)]));
        assert.deepEqual(held, Object.fromEntries(
          [...server.objects.values()].map((object) => [keyOf(object), object.metadata.resourceVersion]),
        ));
      }),
      { numRuns: 150 },
    );
  });
});
