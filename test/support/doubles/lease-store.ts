// Leases of one API server in memory, for elections in virtual time: calls take as long, and fail, as the test says.
import type { Lease } from '../../../api/objects/core.ts';
import { ApiError, UnreachableError } from '../../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';

/** What becomes of a call: its way there and back in ms; where it is lost, if it is. */
export interface CallFate {
  readonly thereMs: number;
  readonly backMs: number;
  readonly lost?: 'there' | 'back';
  /** What the server answers instead of doing it. */
  readonly refusal?: Error;
}

/** One Lease by name, with the API server's rules on versions. */
export class LeaseStore {
  readonly leases = new Map<string, Lease>();
  /** Names of the replicas whose writes were done, in order. */
  readonly writers: string[] = [];
  /** Told of each Lease that was written. */
  readonly watchers = new Set<(lease: Lease) => void>();
  #version = 0;

  /**
   * A client of this store under a name. Calls are given up after the deadline that the election asks for; `fate` is
   * told what is written.
   */
  client(writer: string, fate: (written?: Lease) => CallFate): ClusterClient {
    const of = (timeoutMs: number) => ({
      withoutRateLimit: (ms: number) => of(ms),
      get: (_type: unknown, { name }: { readonly name: string }) => travel(fate(), timeoutMs, () => this.#read(name)),
      create: (_type: unknown, lease: Lease) => travel(fate(lease), timeoutMs, () => this.#create(writer, lease)),
      patch: (_type: unknown, { name }: { readonly name: string }, { patch }: { readonly patch: Lease }) =>
        travel(fate(patch), timeoutMs, () => this.#patch(writer, name, patch)),
    });
    return of(Infinity) as unknown as ClusterClient;
  }

  #read(name: string): Lease {
    const lease = this.leases.get(name);
    if (lease === undefined) throw new ApiError(404, 'NotFound', `no lease ${name}`);
    return lease;
  }

  #create(writer: string, lease: Lease): Lease {
    const { name = '' } = lease.metadata;
    if (this.leases.has(name)) throw new ApiError(409, 'AlreadyExists', 'it exists');
    return this.#write(writer, name, lease);
  }

  #patch(writer: string, name: string, patch: Lease): Lease {
    const lease = this.#read(name);
    if (patch.metadata.resourceVersion !== lease.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', 'another version');
    }
    return this.#write(writer, name, { metadata: lease.metadata, spec: { ...lease.spec, ...patch.spec } });
  }

  #write(writer: string, name: string, lease: Lease): Lease {
    this.#version += 1;
    const written = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    this.leases.set(name, written);
    this.writers.push(writer);
    for (const watcher of this.watchers) watcher(written);
    return written;
  }
}

function travel({ thereMs, backMs, lost, refusal }: CallFate, timeoutMs: number, act: () => Lease): Promise<Lease> {
  return new Promise((resolve, reject) => {
    if (Number.isFinite(timeoutMs)) setTimeout(() => reject(new UnreachableError('no answer')), timeoutMs);
    if (lost === 'there') return;
    setTimeout(() => {
      let answer: () => void;
      try {
        if (refusal !== undefined) throw refusal;
        const lease = act();
        answer = () => resolve(lease);
      } catch (error) {
        answer = () => reject(error);
      }
      if (lost !== 'back') setTimeout(answer, backMs);
    }, thereMs);
  });
}
