// Reads for commands that inspect everything: failures are recorded and block nothing.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { isForbidden, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { failureText } from '../output/error-text.ts';
import type { Unread } from '../checks/doctor-facts.ts';

/** Reads what it may, and records what it could not. */
export class FactReader {
  readonly unread: Unread[] = [];
  readonly client: ClusterClient;
  readonly signal: AbortSignal;

  constructor(client: ClusterClient, signal: AbortSignal) {
    this.client = client;
    this.signal = signal;
  }

  /** All objects of a type; none where it is not served or may not be read. */
  async list<T extends KubernetesObject>(type: ResourceType<T>, selection: Selection = {}): Promise<readonly T[]> {
    return (await this.try(type.plural, this.client.list(type, selection, this.signal).catch(unless(isNotFound))))
      ?? [];
  }

  /** The result of a call; undefined when it fails, which is recorded. */
  async try<T>(what: string, call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      this.signal.throwIfAborted();
      this.unread.push({ what, message: failureText(error), isForbidden: isForbidden(error) });
      return undefined;
    }
  }
}

/** `gitVersion` of the API server. */
export async function versionOf(client: ClusterClient, signal: AbortSignal): Promise<string> {
  return (
    await client.transport.call<{ readonly gitVersion: string }>({ method: 'GET', path: '/version' }, signal)
  ).gitVersion;
}
