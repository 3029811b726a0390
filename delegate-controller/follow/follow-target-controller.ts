// Copies into one target: each object that its pods need gets a copy, and unneeded copies are deleted. Each target has
// its own queue, so that one that does not answer delays no other.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import {
  ApiError, ignoreStale, isConflict, isForbidden, isNotFound, isRejection, unless,
} from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  DONE, startController, type Controller, type ReconcileResult,
} from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { ConnectionState } from '../../kubernetes/watch/informer.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { messageOf } from '../../process/errors.ts';
import { SecretCopies } from '../copies/secret-copies.ts';
import type { Copies, CopyWrite } from '../copies/copy-writer.ts';
import {
  canFollow, planFollow, type FollowState, type SourceObject,
} from '../copies/follow-plan.ts';
import {
  FOLLOWED_KINDS, followKey, parseFollowKey, type FollowedKind, type FollowedName,
} from '../copies/followed-kinds.ts';
import { ReadableCopies } from '../copies/readable-copies.ts';

/** Shared by all targets: the source, and the needs of elected pods. */
export interface FollowContext {
  readonly source: ClusterClient;
  readonly sourceId: string;
  readonly logger: Logger;
  /** Resolves when all elected pods and targets are synced. */
  readonly ready: Promise<unknown>;
  /** Whether some pod needs the object in the target, as far as that is known. */
  isNeeded(object: FollowedName, target: TargetCluster): boolean | 'unknown';
  /** Whether it may still be needed, by an uncached read in the source. */
  isStillNeeded(object: FollowedName, target: TargetCluster, signal: AbortSignal): Promise<boolean>;
  sourceObject(object: FollowedName): SourceObject | undefined | 'unknown';
  /** Reports to the pods that need the object in the target why it is not copied. */
  tell(object: FollowedName, target: TargetCluster, message: string): void;
}

/** A failed write with its inputs. */
interface FailedWrite extends CopyWrite {
  readonly copies: Copies;
  readonly error: unknown;
}

const CONCURRENCY = 8;
/** Said of an object that is in the way of a copy. */
const NOT_OURS =
  'an object of that name exists there that this source did not create; rename one of the two, or delete that one';
/** Retry interval of an object that the target rejects, in ms: a user must change something first. */
const REFUSED_RETRY_MS = 30_000;
/** Requeue delay when an uncached read contradicts the cache, in ms: the cache is behind. */
const CACHE_LAG_MS = 1_000;

/** Copies into one target for as long as its session lasts. */
export class TargetFollower {
  readonly #context: FollowContext;
  readonly #target: TargetCluster;
  readonly #session: TargetSession;
  readonly #copies = new Map<string, Copies>();
  readonly #controller: Controller;
  readonly #unneededSince = new Map<string, number>();
  /** What the target stored instead of our write, by key. */
  readonly #accepted = new Map<string, { readonly desired: string; readonly stored: string }>();

  constructor(context: FollowContext, target: TargetCluster, session: TargetSession) {
    this.#context = context;
    this.#target = target;
    this.#session = session;
    for (const kind of FOLLOWED_KINDS) this.#copies.set(kind.type.plural, this.#copiesOf(kind));
    const ready = Promise.all([context.ready, session.synced]);
    const reconcile = (key: string) => this.#reconcile(key, session.signal);
    this.#controller = startController(
      {
        name: 'follow', reconcile, concurrency: CONCURRENCY, logger: context.logger.child({ target: target.key }),
        ready,
      },
      session.signal,
    );
    for (const kind of FOLLOWED_KINDS) {
      this.#copies.get(kind.type.plural)?.onChange((key) => this.enqueue(kind, key));
    }
    for (const copies of this.#copies.values()) copies.run(session.signal);
  }

  /** Enqueues an object. */
  enqueue(kind: FollowedKind, key: string): void {
    this.#controller.enqueue(followKey(kind, key));
  }

  /** Enqueues all copies of a kind, in one namespace or in all. */
  enqueueCopies(kind: FollowedKind, namespace: string | undefined): void {
    for (const key of this.#copies.get(kind.type.plural)?.keys() ?? []) {
      if (namespace === undefined || key.startsWith(`${namespace}/`)) this.enqueue(kind, key);
    }
  }

  #copiesOf(kind: FollowedKind): Copies {
    const { sourceId, logger } = this.#context;
    const { ref } = this.#target;
    const place = {
      client: this.#session.client, kind, namespace: ref.kind === 'Target' ? ref.namespace : undefined, sourceId,
      logger,
    };
    return kind.type === SECRETS ? new SecretCopies(place) : new ReadableCopies(place);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const at = parseFollowKey(key);
    if (at === undefined || this.#session.failure !== undefined) return DONE; // a new session enqueues all copies again
    const copies = this.#copies.get(at.kind.type.plural);
    if (copies?.hasSynced !== true) return this.#awaitCopies(at, copies?.connection);
    const state = this.#gather(at, key);
    const step = planFollow(state, Date.now());
    switch (step.kind) {
      case 'no-change':
        return DONE;
      case 'wait':
        return { kind: 'requeue-after', ms: step.ms };
      case 'reject':
        this.#tell(at, step.message);
        return { kind: 'requeue-after', ms: REFUSED_RETRY_MS };
      case 'copy':
        return this.#copy(at, state, copies, signal);
      case 'remove':
        if (await this.#isWanted(at, step.cause, signal)) return { kind: 'requeue-after', ms: CACHE_LAG_MS };
        await executePlan(this.#session.client, step.plan, signal).catch(ignoreStale);
        copies.forget(`${at.namespace}/${at.name}`);
        return DONE;
    }
  }

  /**
   * Decides nothing about a kind whose copies are not synced. A source without a permission loses that kind alone, and
   * reports it.
   */
  #awaitCopies(at: FollowedName, connection: ConnectionState | undefined): ReconcileResult {
    const isDenied = connection?.kind === 'broken' && isForbidden(connection.error);
    if (!isDenied) return { kind: 'requeue-after', ms: CACHE_LAG_MS };
    if (this.#context.isNeeded(at, this.#target) !== true) return DONE;
    return this.#rejected(
      at, `the target does not let this source copy ${at.kind.type.plural}; run "isthmus install" there again`,
    );
  }

  #gather(at: FollowedName, key: string): FollowState {
    const { kind, namespace, name } = at;
    const needed = this.#context.isNeeded(at, this.#target);
    const source = this.#context.sourceObject(at);
    const copy = this.#copies.get(kind.type.plural)?.get(`${namespace}/${name}`, source);
    if (needed !== false || copy === undefined) this.#unneededSince.delete(key);
    else if (!this.#unneededSince.has(key)) this.#unneededSince.set(key, Date.now());
    if (copy === undefined) this.#accepted.delete(key);
    return {
      kind, needed, source, copy, unneededSince: this.#unneededSince.get(key) ?? Date.now(),
      accepted: this.#accepted.get(key),
    };
  }

  async #isWanted(at: FollowedName, cause: 'source-gone' | 'unneeded', signal: AbortSignal): Promise<boolean> {
    if (cause === 'unneeded') return this.#context.isStillNeeded(at, this.#target, signal);
    const live = await readIfThere(this.#context.source, at, signal);
    return live !== undefined && canFollow(at.kind, live);
  }

  async #copy(at: FollowedName, state: FollowState, copies: Copies, signal: AbortSignal): Promise<ReconcileResult> {
    const object = await readIfThere(this.#context.source, at, signal);
    if (object === undefined) return { kind: 'requeue-after', ms: CACHE_LAG_MS };
    try {
      const written = await copies.write({ object, copy: state.copy }, signal);
      if (written.kind === 'foreign') return this.#rejected(at, NOT_OURS);
      if (written.kind === 'unchangeable') return await this.#remake(at, { object, copy: state.copy }, copies, signal);
      if (written.kind === 'stale') return { kind: 'requeue-after', ms: CACHE_LAG_MS };
      const desired = typeof state.source === 'object' ? state.source.digest : '';
      if (written.kind === 'stored') {
        this.#accepted.set(followKey(at.kind, objectKey(at)), { desired, stored: written.digest });
      }
      return DONE;
    } catch (error) {
      return this.#recover(at, { object, copy: state.copy, copies, error }, signal);
    }
  }

  /** Handles a rejected write: the copy has changed, a field is immutable, or the target has another reason. */
  async #recover(
    at: FollowedName, { object, copy, copies, error }: FailedWrite, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    if (isConflict(error) || (isNotFound(error) && copy !== undefined)) {
      return { kind: 'requeue-after', ms: CACHE_LAG_MS };
    }
    if (!isRejection(error)) throw error;
    if (copy !== undefined && isUnchangeable(error)) return this.#remake(at, { object, copy }, copies, signal);
    // no such namespace: none of its pods can be there either
    if (isNotFound(error) && at.kind.need.kind !== 'named') return DONE;
    return this.#rejected(at, messageOf(error));
  }

  /**
   * Deletes a copy that cannot be changed; it is recreated when its deletion is observed. What the target rejects does
   * not cost it the copy that it has: an attempt to create it tells, which for one that it takes finds the old one.
   */
  async #remake(
    at: FollowedName, { object, copy }: CopyWrite, copies: Copies, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { kind: { type }, namespace, name } = at;
    try {
      await copies.write({ object, copy: undefined }, signal);
    } catch (error) {
      if (!isRejection(error)) throw error;
      return this.#rejected(at, messageOf(error));
    }
    if (copy === undefined) return { kind: 'requeue-after', ms: CACHE_LAG_MS };
    const preconditions = { uid: copy.uid };
    await this.#session.client.delete(type, { namespace, name }, { preconditions }, signal).catch(ignoreStale);
    copies.forget(`${namespace}/${name}`);
    return DONE;
  }

  #rejected(at: FollowedName, message: string): ReconcileResult {
    this.#tell(at, message);
    return { kind: 'requeue-after', ms: REFUSED_RETRY_MS };
  }

  #tell(at: FollowedName, message: string): void {
    this.#context.tell(at, this.#target, message);
  }
}

/** Immutable ConfigMaps and Secrets, and the type of a Secret: the API server responds with 422. */
function isUnchangeable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}

function readIfThere(
  client: ClusterClient, { kind, namespace, name }: FollowedName, signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  return client.get(kind.type, { namespace, name }, signal).catch(unless(isNotFound));
}
