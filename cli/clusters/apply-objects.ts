// Server-side apply of a list of objects, several at once, with a progress line for each.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  apiVersionOf, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, FLOW_SCHEMAS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PRIORITY_LEVEL_CONFIGURATIONS,
  RESOURCE_QUOTAS, ROLE_BINDINGS, ROLES, SECRETS, SERVICES, SERVICE_ACCOUNTS, SOURCES, TARGETS,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

/** Progress output and cancellation of a command. */
export interface Progress {
  /** Called with one line at a time. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

const APPLIED_TYPES: readonly ResourceType[] = [
  NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS,
  MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS, SECRETS, CLUSTER_SOURCES, SOURCES,
  CLUSTER_TARGETS, TARGETS, RESOURCE_QUOTAS, DEPLOYMENTS, SERVICES,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, PRIORITY_LEVEL_CONFIGURATIONS, FLOW_SCHEMAS,
];

/** The type of an object from our manifests. Throws for other kinds: a bug. */
export function typeOf(object: KubernetesObject): ResourceType {
  const type = APPLIED_TYPES.find((known) => known.kind === object.kind && apiVersionOf(known) === object.apiVersion);
  if (type === undefined) throw new TypeError(`no resource type for ${object.apiVersion} ${object.kind}`);
  return type;
}

/** Calls at once: an installation has about eighty objects, and its API server may be far away. */
const AT_ONCE = 10;

/**
 * Applies the objects kind by kind, those of one kind at once, and returns them as stored, in order; idempotent. Throws
 * what the first failing call throws, once those beside it have ended.
 */
export async function applyObjects(
  client: ClusterClient, objects: readonly KubernetesObject[], fieldManager: string, progress: Progress,
): Promise<readonly KubernetesObject[]> {
  const stored: KubernetesObject[] = [];
  for (const alike of batchesOf(objects, ({ kind }, { kind: before }) => kind === before)) {
    const results = await Promise.allSettled(
      alike.map((object) => client.apply(typeOf(object), object, fieldManager, progress.signal)),
    );
    for (const [index, object] of alike.entries()) {
      const result = results[index];
      if (result?.status !== 'fulfilled') continue;
      stored.push(result.value);
      progress.tell(`applied ${objectName(object)}`);
    }
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
  return stored;
}

/** In order, in groups that calls may be made for at once. */
export function batchesOf<T>(all: readonly T[], mayJoin: (one: T, before: T) => boolean): readonly (readonly T[])[] {
  const batches: T[][] = [];
  for (const one of all) {
    const last = batches.at(-1);
    if (last?.[0] !== undefined && last.length < AT_ONCE && mayJoin(one, last[0])) last.push(one);
    else batches.push([one]);
  }
  return batches;
}

/** Kind, namespace and name of an object, for messages. */
export function objectName({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}
