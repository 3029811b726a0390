// Names of the targets that clusters become. Registries allow any text as a name, and the same one in two namespaces.
import { hash } from 'node:crypto';
import type { RegisteredCluster } from '../entry/registered-cluster.ts';

/** So that the name of the virtual node, `admiralty-NAME`, is a valid host name. */
const MOST = 52;
const HASH_LENGTH = 8;

/** A free name for a cluster: its own as far as possible, else with a hash of its entry. */
export function targetNameOf(
  { name, entry }: Pick<RegisteredCluster, 'name' | 'entry'>, prefix: string, isTaken: (name: string) => boolean,
): string {
  const plain = cut(`${prefix}${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`, MOST);
  if (plain !== '' && !isTaken(plain)) return plain;
  const hashed = `${cut(plain, MOST - HASH_LENGTH - 1)}-${hash('sha256', entry, 'hex').slice(0, HASH_LENGTH)}`;
  return hashed.replace(/^-/, 'cluster-');
}

/** No dash at either end. */
function cut(text: string, most: number): string {
  return text.replace(/^-+/, '').slice(0, most).replace(/-+$/, '');
}
