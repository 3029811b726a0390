// Controller in the target that maintains Roles for streams: watches chaperons whose source requests them, and pods. A
// right is revoked before its pod is deleted, because another pod may take the name.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { ROLE_BINDINGS, ROLES } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  DONE, startController, type Controller, type ReconcileResult,
} from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import type { RoleObject } from '../../model/access/rbac-objects.ts';
import { splitKey } from '../../model/pod/pod.ts';
import type { SourceRule } from '../target-cache/source-rules.ts';
import type { SourceRules } from '../target-cache/source-rules-cache.ts';
import {
  STREAM_LABELS, streamManifests, toRequestedStreams, wantedRoles, type RequestedStreams,
} from './stream-grants.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** What the controller works with. */
export interface StreamGrantsOptions {
  readonly client: ClusterClient;
  /** All pods of the target. */
  readonly pods: Informer<Pod, TargetPod>;
  readonly sources: SourceRules;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-delegate-controller';
/**
 * A permission expires when it was not requested for this long, in ms; a source that still needs it requests it again.
 */
const GRANT_MS = 3_600_000;
/** Maximum time until API servers observe that a permission was revoked, in ms. */
const WITHDRAWAL_MS = 1_000;
/** How long a revocation is remembered, in ms. */
const REMEMBERED_MS = 60_000;
/** Requeue delay while not all sources are synced, in ms. */
const SOURCES_RETRY_MS = 200;

interface SeenRole {
  readonly namespace: string;
  readonly name: string;
  readonly pods: readonly string[];
}

interface SeenAsking extends RequestedStreams {
  /** On a monotonic clock, in ms. */
  readonly seenAt: number;
}

/** The permissions to streams of this cluster. */
export class StreamGrants {
  readonly #options: StreamGrantsOptions;
  readonly #roles: Informer<RoleObject, SeenRole>;
  /** By key of the chaperon; the most recent request is last. */
  readonly #asked = new Map<string, SeenAsking>();
  /** When a permission was observed as revoked, by key of the pod. */
  readonly #withdrawnAt = new Map<string, number>();
  /** What this process wrote: names of pods by namespace and Role. */
  readonly #written = new Map<string, Map<string, readonly string[]>>();
  /** Namespaces where a source has repeated a request: its grant may have been removed. */
  readonly #renewed = new Set<string>();
  #controller: Controller | undefined;

  constructor(options: StreamGrantsOptions) {
    this.#options = options;
    const labelSelector = Object.entries(STREAM_LABELS).map(([key, value]) => `${key}=${value}`).join(',');
    this.#roles = new Informer<RoleObject, SeenRole>({
      client: options.client, logger: options.logger, type: ROLES as ResourceType<RoleObject>,
      selection: { labelSelector }, project: toSeenRole,
    });
  }

  /** Starts to maintain the Roles, after `chaperons` and everything else is synced. */
  run(chaperons: Promise<unknown>, signal: AbortSignal): void {
    const { pods, sources, logger } = this.#options;
    const ready = Promise.all([chaperons, pods.synced, this.#roles.synced]);
    const controller = startController(
      {
        name: 'stream-grant', reconcile: (namespace) => this.#reconcile(namespace, signal), concurrency: 4, logger,
        ready,
      },
      signal,
    );
    this.#controller = controller;
    this.#roles.onChange((_key, before, after) => controller.enqueue((after ?? before)?.namespace ?? ''));
    pods.onChange((key, before, after) => {
      if (before?.uid !== after?.uid && this.#asked.has(key)) controller.enqueue(namespaceOf(key));
    });
    sources.onChange(() => {
      for (const namespace of new Set(
        [...[...this.#asked.keys()].map(namespaceOf), ...[...this.#roles.records()].map((role) => role.namespace)],
      )) controller.enqueue(namespace);
    });
    void this.#roles.run(signal);
  }

  /** Observes a chaperon; undefined when it is gone. */
  observe(key: string, chaperon: PodChaperon | undefined): void {
    const asked = chaperon && toRequestedStreams(chaperon);
    const before = this.#asked.get(key);
    if (before?.requestedAt === asked?.requestedAt && before?.chaperonUid === asked?.chaperonUid) return;
    this.#asked.delete(key); // the most recent one is last
    if (asked !== undefined) {
      this.#asked.set(key, { ...asked, seenAt: performance.now() });
      this.#renewed.add(namespaceOf(key));
    }
    if (chaperon === undefined) this.#withdrawnAt.delete(key);
    this.#controller?.enqueue(namespaceOf(key));
  }

  /**
   * Whether no right prevents the delete of a chaperon's pod. If not, permissions are being revoked: retry a little
   * later.
   */
  release(key: string): boolean {
    if (!this.#isGranted(key)) return performance.now() - (this.#withdrawnAt.get(key) ?? -Infinity) >= WITHDRAWAL_MS;
    this.#asked.delete(key);
    this.#controller?.enqueue(namespaceOf(key));
    return false;
  }

  #isGranted(key: string): boolean {
    const { namespace, name } = splitKey(key);
    return [...this.#rolesOf(namespace).values()].some((pods) => pods.includes(name));
  }

  /** Names of pods by Role: as this process wrote them, or as they were before. */
  #rolesOf(namespace: string): Map<string, readonly string[]> {
    const found = [...this.#roles.records()].filter((role) => role.namespace === namespace)
      .map((role) => [role.name, role.pods] as const);
    return new Map([...found, ...(this.#written.get(namespace) ?? [])]);
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { pods, sources: { all: sources } } = this.#options;
    if (sources === undefined) return { kind: 'requeue-after', ms: SOURCES_RETRY_MS };
    const isRenewed = this.#renewed.delete(namespace);
    const now = performance.now();
    const asked =
      [...this.#asked.values()].filter(({ key, seenAt }) => namespaceOf(key) === namespace && now - seenAt < GRANT_MS);
    const wanted = wantedRoles({ namespace, asked, madeFrom: (key) => pods.get(key)?.chaperonUid, sources });
    for (const [name, before] of this.#rolesOf(namespace)) if (
      !wanted.has(name) && before.length > 0
    ) await this.#write({ namespace, name, before, after: [] }, undefined, signal);
    for (const [name, { source, pods: after }] of wanted) {
      const before = this.#rolesOf(namespace).get(name) ?? [];
      if (isRenewed || JSON.stringify(before) !== JSON.stringify(after)) {
        await this.#write({ namespace, name, before, after }, source, signal);
      }
    }
    for (const [key, at] of this.#withdrawnAt) if (now - at > REMEMBERED_MS) this.#withdrawnAt.delete(key);
    return asked.length === 0 ? DONE : {
      kind: 'requeue-after', ms: Math.max(1_000, GRANT_MS - (now - Math.min(...asked.map(({ seenAt }) => seenAt)))),
    };
  }

  /** Until the API server responds, both the old and the new grants count as granted. */
  async #write(
    { namespace, name, before, after }: RoleChange, source: SourceRule | undefined, signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#options;
    const written = this.#written.get(namespace) ?? new Map<string, readonly string[]>();
    this.#written.set(namespace, written.set(name, [...before, ...after]));
    if (source === undefined) {
      for (const type of [ROLE_BINDINGS, ROLES]) await client.delete(type, { namespace, name }, {}, signal)
        .catch(unless(isNotFound));
    } else {
      const [role, binding] = streamManifests(namespace, source, after);
      await client.apply(ROLES, role, FIELD_MANAGER, signal);
      await client.apply(ROLE_BINDINGS, binding, FIELD_MANAGER, signal);
    }
    written.set(name, after);
    for (const pod of before) if (!after.includes(pod)) this.#withdrawnAt.set(`${namespace}/${pod}`, performance.now());
  }
}

interface RoleChange {
  readonly namespace: string;
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** API servers print a Role without rules with null in their place. */
function toSeenRole({ metadata, rules }: Omit<RoleObject, 'rules'> & { readonly rules: RoleObject['rules'] | null }) {
  const { namespace = '', name = '' } = metadata;
  return { namespace, name, pods: rules?.[0]?.resourceNames ?? [] } satisfies SeenRole;
}
