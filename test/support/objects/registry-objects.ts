// Objects of registries for tests of pure code.
import type { KubernetesObject, ObjectMeta, Secret } from '../../../api/objects/core.ts';
import type { RegistryChoice, RegistryName } from '../../../api/registry/registry-choice.ts';
import type { DnsService } from '../../../discovery/entry/dns-service.ts';
import type { RegisteredCluster } from '../../../discovery/entry/registered-cluster.ts';
import type { SecretLookup } from '../../../discovery/entry/registry.ts';
import { chosenRegistry, REGISTRIES } from '../../../discovery/registries/registry-table.ts';

/** A registry, and what is in it. */
export interface RegistryCase {
  readonly from: RegistryChoice;
  /** By plural names of kinds. */
  readonly objects?: Readonly<Record<string, readonly KubernetesObject[]>>;
  readonly secrets?: readonly Secret[];
  /** What DNS announces. */
  readonly services?: readonly DnsService[];
  /** The first namespace of the TargetDiscovery. */
  readonly namespace?: string;
  /** Why Secrets cannot be read. */
  readonly unread?: string;
}

/** The entries of a registry. */
export function readRegistry(
  { from, objects = {}, secrets = [], services = [], namespace, unread }: RegistryCase,
): readonly RegisteredCluster[] {
  const name = chosenRegistry(from) as RegistryName;
  return REGISTRIES[name].read({
    objects: new Map(Object.entries(objects)), secrets, services, namespace,
    secret: ({ namespace, name: wanted }): SecretLookup => {
      if (unread !== undefined) return { kind: 'unread', message: unread };
      const secret = secrets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === wanted);
      return secret === undefined ? { kind: 'missing' } : { kind: 'found', secret };
    },
  }, from);
}

function metadataOf(key: string, more: ObjectMeta): ObjectMeta {
  const [first = '', second] = key.split('/');
  return { name: second ?? first, ...(second !== undefined && { namespace: first }), ...more };
}

/** An object by its key `namespace/name`, with these fields. */
export function objectOf(key: string, fields: object, more: ObjectMeta = {}): KubernetesObject {
  return { metadata: metadataOf(key, more), ...fields };
}

/** A Secret by its key, with these texts. */
export function secretOf(key: string, texts: Readonly<Record<string, string>>, more: ObjectMeta = {}): Secret {
  const data = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text, 'utf8').toString('base64')]);
  return { metadata: metadataOf(key, more), data: Object.fromEntries(data) as Record<string, string> };
}
