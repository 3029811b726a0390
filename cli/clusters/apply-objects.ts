// Server-side apply of a list of objects, with a progress line for each.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  apiVersionOf, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, FLOW_SCHEMAS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PRIORITY_LEVEL_CONFIGURATIONS,
  ROLE_BINDINGS, ROLES, SECRETS, SERVICES, SERVICE_ACCOUNTS, SOURCES, TARGETS, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
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
  CLUSTER_TARGETS, TARGETS, DEPLOYMENTS, SERVICES,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, PRIORITY_LEVEL_CONFIGURATIONS, FLOW_SCHEMAS,
];

/** The type of an object from our manifests. Throws for other kinds: a bug. */
export function typeOf(object: KubernetesObject): ResourceType {
  const type = APPLIED_TYPES.find((known) => known.kind === object.kind && apiVersionOf(known) === object.apiVersion);
  if (type === undefined) throw new TypeError(`no resource type for ${object.apiVersion} ${object.kind}`);
  return type;
}

/** Applies the objects in order and returns them as stored; idempotent. Throws what the first failing call throws. */
export async function applyObjects(
  client: ClusterClient, objects: readonly KubernetesObject[], fieldManager: string, progress: Progress,
): Promise<readonly KubernetesObject[]> {
  const stored: KubernetesObject[] = [];
  for (const object of objects) {
    stored.push(await client.apply(typeOf(object), object, fieldManager, progress.signal));
    progress.tell(`applied ${objectName(object)}`);
  }
  return stored;
}

/** Kind, namespace and name of an object, for people. */
export function objectName({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Timeout and polling interval, in ms. */
export interface Patience {
  readonly forMs: number;
  readonly everyMs: number;
}

/** Polls `look` until it returns something; undefined on timeout. Throws what `look` throws, or the signal's reason. */
export async function lookFor<T>(
  look: () => Promise<T | undefined>, patience: Patience, signal: AbortSignal,
): Promise<T | undefined> {
  const end = performance.now() + patience.forMs;
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined || performance.now() > end) return found;
    await delay(patience.everyMs, signal);
  }
}
