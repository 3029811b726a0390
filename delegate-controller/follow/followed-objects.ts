// The followed objects of the source, stored as slim records. ConfigMaps and Secrets are watched only in namespaces
// where an elected pod refers to one, and only their digests are stored.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { forwardAbort, onAbort } from '../../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { canFollow, planFollowAnnotations, toSourceObject, type SourceObject } from '../copies/follow-plan.ts';
import { FOLLOWED_KINDS, type FollowedKind } from '../copies/followed-kinds.ts';

/** The cluster to watch. */
export interface SourceOptions {
  readonly source: ClusterClient;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly logger: Logger;
}

/** Is notified of changes. */
export interface SourceListener {
  changed(kind: FollowedKind, key: string): void;
  /** A collection is complete: what is not in it does not exist. */
  listed(kind: FollowedKind, namespace: string | undefined): void;
}

type SourceInformer = Informer<KubernetesObject, SourceObject>;

/** Followed objects of the source. */
export class FollowedSources {
  readonly #options: SourceOptions;
  readonly #listener: SourceListener;
  readonly #signal: AbortSignal;
  readonly #everywhere = new Map<string, SourceInformer>();
  readonly #byNamespace = new Map<string, { readonly informer: SourceInformer; readonly stop: AbortController }>();

  constructor(options: SourceOptions, listener: SourceListener, signal: AbortSignal) {
    this.#options = options;
    this.#listener = listener;
    this.#signal = signal;
  }

  /** Starts to watch the kinds whose objects are found by their contents, not by name. */
  start(): void {
    for (const kind of FOLLOWED_KINDS) {
      if (kind.need.kind === 'named') continue;
      const informer = this.#follow(kind, undefined, this.#signal);
      this.#everywhere.set(kind.type.plural, informer);
    }
  }

  /** Starts or stops to watch, in one namespace, a kind that pods refer to by name. */
  want(kind: FollowedKind, namespace: string, wanted: boolean): void {
    const key = `${namespace}/${kind.type.plural}`;
    const present = this.#byNamespace.get(key);
    if ((present !== undefined) === wanted) return;
    if (present !== undefined) {
      this.#byNamespace.delete(key);
      present.stop.abort();
      return;
    }
    const stop = new AbortController();
    onAbort(stop.signal, forwardAbort([this.#signal], stop));
    this.#byNamespace.set(key, { stop, informer: this.#follow(kind, namespace, stop.signal) });
  }

  /** The record of an object; `unknown` while its collection is not listed. */
  get(kind: FollowedKind, namespace: string, name: string): SourceObject | undefined | 'unknown' {
    const informer = this.#informer(kind, namespace);
    return informer?.hasSynced === true ? informer.get(`${namespace}/${name}`) : 'unknown';
  }

  /** The records of a kind in a namespace. */
  in(kind: FollowedKind, namespace: string): SourceObject[] {
    return this.#informer(kind, namespace)?.indexed(namespace) ?? [];
  }

  #informer(kind: FollowedKind, namespace: string): SourceInformer | undefined {
    return this.#everywhere.get(kind.type.plural) ?? this.#byNamespace
      .get(`${namespace}/${kind.type.plural}`)?.informer;
  }

  #follow(kind: FollowedKind, namespace: string | undefined, signal: AbortSignal): SourceInformer {
    const { source, sourceId, logger } = this.#options;
    const informer: SourceInformer = new Informer({
      client: source,
      logger,
      type: kind.type,
      selection: { namespace },
      project: (object) => (matters(kind, object) ? toSourceObject(kind, object, sourceId) : undefined),
      index: ({ key }) => key.slice(0, key.indexOf('/')),
    });
    informer.onChange((key) => this.#listener.changed(kind, key));
    informer.onListed(() => {
      // notifications before the list was complete had no effect
      for (const { key } of informer.records()) this.#listener.changed(kind, key);
      this.#listener.listed(kind, namespace);
    });
    void informer.run(signal);
    return informer;
  }
}

/** What cannot follow matters only while it has annotations from when it did. */
function matters(kind: FollowedKind, object: KubernetesObject): boolean {
  return canFollow(kind, object) || planFollowAnnotations(kind, object, 'none').length > 0;
}
