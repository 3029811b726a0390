// Fields of other projects' objects. Their shape is not ours: whatever is not as expected counts as missing.
import type { Condition, KubernetesObject, Secret } from '../../api/objects/core.ts';
import { fieldPath, valuesAt } from '../../model/objects/field-path.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';
import type { SecretLookup } from './registry.ts';
import { refused, waiting, type RegisteredAccess, type RegisteredCluster } from './registered-cluster.ts';

/** The value at a path, `spec.secretRef.name`. */
export function valueAt(object: unknown, path: string): unknown {
  return valuesAt(object, fieldPath(path))[0];
}

/** The text at a path; undefined for anything else, and for empty text. */
export function textAt(object: unknown, path: string): string | undefined {
  const value = valueAt(object, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The objects in a list at a path. */
export function recordsAt(object: unknown, path: string): readonly Readonly<Record<string, unknown>>[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Status of a condition; undefined when there is none of this type. */
export function conditionOf(object: KubernetesObject, type: string): Condition['status'] | undefined {
  const status = recordsAt(object, 'status.conditions').find((condition) => condition['type'] === type)?.['status'];
  return status === 'True' || status === 'False' || status === 'Unknown' ? status : undefined;
}

/** Text under a key of a Secret; undefined when it is missing or empty. */
export function secretText(secret: Secret, key: string): string | undefined {
  const data = secret.data?.[key];
  if (typeof data !== 'string' || data === '') return undefined;
  const text = Buffer.from(data, 'base64').toString('utf8').trim();
  return text === '' ? undefined : text;
}

/** Kind, namespace and name, for messages. */
export function entryOf(kind: string, { namespace, name = '' }: KubernetesObject['metadata']): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** An entry for each object of a kind, under its own name, but not for one that is being deleted. */
export function entriesOf<T extends KubernetesObject>(
  kind: string, objects: readonly T[] = [], accessOf: (object: T) => RegisteredAccess,
): readonly RegisteredCluster[] {
  return objects.filter((object) => !isLeaving(object)).map((object) => {
    const { name = '', labels = {} } = object.metadata;
    return { entry: entryOf(kind, object.metadata), name, labels, access: accessOf(object) };
  });
}

/** The Secret that an object names at a path, in its own namespace. */
export function secretNamedAt(object: KubernetesObject, path: string): NamespacedName | undefined {
  const name = textAt(object, path);
  return name === undefined ? undefined : { namespace: object.metadata.namespace ?? '', name };
}

/** Whether an object is being deleted. */
export function isLeaving({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Type of Secrets with tokens of this very cluster. Who may write a registry's objects must not have such a token sent
 * to a server of their choice.
 */
const OWN_TOKEN = 'kubernetes.io/service-account-token';

/** The access by a Secret, where it can be read. */
export function bySecret(
  lookup: SecretLookup, { namespace, name }: NamespacedName, access: (secret: Secret) => RegisteredAccess,
): RegisteredAccess {
  switch (lookup.kind) {
    case 'found':
      return lookup.secret.type === OWN_TOKEN
        ? refused(`Secret ${namespace}/${name} has a ServiceAccount token of this cluster, which no other one gets`)
        : access(lookup.secret);
    case 'missing':
      return waiting(`Secret ${namespace}/${name} does not exist`);
    case 'unread':
      return waiting(`Secret ${namespace}/${name} cannot be read: ${lookup.message}`);
  }
}

/** The kubeconfig under the first of these keys that a Secret has. */
export function kubeconfigIn(secret: Secret, keys: readonly string[]): RegisteredAccess {
  for (const key of keys) {
    const text = secretText(secret, key);
    if (text !== undefined) return { kind: 'kubeconfig', text };
  }
  const { namespace = '', name = '' } = secret.metadata;
  return waiting(`Secret ${namespace}/${name} has no kubeconfig under key ${keys.join(' or ')}`);
}
