// Secrets that the objects of a registry name, each followed by its name: RBAC can allow just those, and no other
// Secret is in memory.
import type { Logger } from 'pino';
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { messageOf } from '../../process/errors.ts';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import type { SecretLookup } from '../entry/registry.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

interface Followed {
  readonly informer: Informer<Secret, Secret>;
  readonly stop: AbortController;
}

/** Follows named Secrets. */
export class NamedSecrets {
  readonly #options: { readonly client: ClusterClient; readonly logger: Logger };
  readonly #changed: () => void;
  readonly #followed = new Map<string, Followed>();

  /** `changed` is called when a Secret, or whether it can be read, has changed. */
  constructor(options: { readonly client: ClusterClient; readonly logger: Logger }, changed: () => void) {
    this.#options = options;
    this.#changed = changed;
  }

  /** Follows these Secrets, until `signal` is aborted or they are not wanted any more, and no others. */
  want(names: readonly NamespacedName[], signal: AbortSignal): void {
    const wanted = new Map(names.map((ref) => [keyOf(ref), ref]));
    for (const [key, { stop }] of this.#followed) {
      if (wanted.has(key)) continue;
      stop.abort();
      this.#followed.delete(key);
    }
    for (const [key, ref] of wanted) {
      if (!this.#followed.has(key)) this.#followed.set(key, this.#follow(ref, signal));
    }
  }

  /** A Secret as far as it is known. */
  lookup(ref: NamespacedName): SecretLookup {
    const followed = this.#followed.get(keyOf(ref))?.informer;
    if (followed?.hasSynced !== true) return { kind: 'unread', message: whyUnread(followed) };
    const secret = followed.get(keyOf(ref));
    return secret === undefined ? { kind: 'missing' } : { kind: 'found', secret };
  }

  #follow({ namespace, name }: NamespacedName, signal: AbortSignal): Followed {
    const stop = new AbortController();
    const informer = fullInformersOf(this.#options)(SECRETS, { namespace, name });
    informer.onChange(this.#changed);
    informer.onListed(this.#changed);
    informer.onConnection(({ kind }) => kind === 'broken' && !informer.hasSynced && this.#changed());
    const forget = forwardAbort([signal], stop);
    void informer.run(stop.signal).finally(forget);
    return { informer, stop };
  }
}

function whyUnread(informer: Informer<Secret, Secret> | undefined): string {
  const connection = informer?.connection;
  return connection?.kind === 'broken' ? messageOf(connection.error) : 'it is being read';
}

function keyOf({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}
