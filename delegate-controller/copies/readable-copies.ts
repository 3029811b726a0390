// Copies that are listed and read in their target: all kinds but Secrets, and Secrets in targets without SecretCopies.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL, PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import { isAlreadyExists, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer, type ConnectionState } from '../../kubernetes/watch/informer.ts';
import { WatchDemand } from '../../kubernetes/watch/watch-demand.ts';
import type { Command } from '../../model/objects/plan.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { Copies, CopiesOptions, CopyWrite, Written } from './copy-writer.ts';
import type { CopyObject } from './follow-plan.ts';
import { copyDigest, isCopyOf, planCopy } from './followed-copy.ts';
import type { FollowedKind } from './followed-kinds.ts';

/** Copies that are listed and read. */
export class ReadableCopies implements Copies {
  readonly #options: CopiesOptions;
  /** Most targets have no copies of a kind. */
  readonly #demand = new WatchDemand();
  readonly #informer: Informer<KubernetesObject, CopyObject>;

  constructor(options: CopiesOptions) {
    this.#options = options;
    const { client, kind, namespace, sourceId, logger } = options;
    this.#informer = new Informer({
      client, logger, demand: this.#demand, type: kind.type,
      selection: { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` },
      project: (object) => (isCopyOf(object, sourceId) ? toCopyObject(kind, object) : undefined),
    });
  }

  get hasSynced(): boolean {
    return this.#informer.hasSynced;
  }

  get connection(): ConnectionState {
    return this.#informer.connection;
  }

  keys(): Iterable<string> {
    return this.#informer.keys();
  }

  get(key: string): CopyObject | undefined {
    return this.#informer.get(key);
  }

  onChange(listener: (key: string) => void): void {
    this.#informer.onChange(listener);
  }

  run(signal: AbortSignal): void {
    void this.#informer.run(signal);
  }

  forget(): void {
    // the watch delivers it
  }

  async write({ object, copy }: CopyWrite, signal: AbortSignal): Promise<Written> {
    this.#demand.ask();
    const { kind, sourceId, client } = this.#options;
    const existing = copy === undefined ? undefined : await this.#read(object, signal);
    if (copy !== undefined && existing === undefined) return { kind: 'stale' };
    const step = planCopy(kind, object, existing, sourceId);
    if (step.kind !== 'write') return step;
    try {
      return { kind: 'stored', digest: copyDigest(kind, await execute(client, step.command, signal)) };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await this.#read(object, signal);
      return found === undefined || isCopyOf(found, sourceId) ? { kind: 'stale' } : { kind: 'foreign' };
    }
  }

  #read(
    { metadata: { namespace, name = '' } }: KubernetesObject, signal: AbortSignal,
  ): Promise<KubernetesObject | undefined> {
    return this.#options.client.get(this.#options.kind.type, { namespace, name }, signal).catch(unless(isNotFound));
  }
}

function toCopyObject(kind: FollowedKind, object: KubernetesObject): CopyObject {
  const { uid = '', labels = {} } = object.metadata;
  return {
    key: objectKey(object.metadata), uid, digest: copyDigest(kind, object), parentUid: labels[PARENT_UID_LABEL] ?? '',
  };
}

/** Executes a command and returns the response. */
function execute(client: ClusterClient, command: Command, signal: AbortSignal): Promise<KubernetesObject> {
  if (command.kind === 'create') return client.create(command.type, command.object, signal);
  if (command.kind === 'patch') return client.patch(command.type, command.at, command, signal);
  throw new Error(`a copy is created or patched, not: ${command.kind}`);
}
