// Texts of a registry's entry that people are told and annotations hold. Anyone who writes one entry must not make the
// status of all too large to be stored.
import { hash } from 'node:crypto';
import type { RegisteredCluster } from './registered-cluster.ts';

/** Longest name of a cluster, in characters: a longer one could not be approved by its name either. */
const MOST_OF_NAME = 253;
/** Longest entry: kind, namespace and name, and the key of a Secret. */
const MOST_OF_ENTRY = 800;
/** Longest message about an entry; a thousand fit into one status. */
const MOST_OF_MESSAGE = 500;
const HASH_LENGTH = 8;

/** The same cluster with a name and an entry of bounded length. Entries that differ still differ. */
export function boundedEntry(cluster: RegisteredCluster): RegisteredCluster {
  const { entry, name } = cluster;
  if (entry.length <= MOST_OF_ENTRY && name.length <= MOST_OF_NAME) return cluster;
  return { ...cluster, entry: distinct(entry), name: cut(name, MOST_OF_NAME) };
}

/** A message of bounded length. */
export function boundedMessage(message: string): string {
  return cut(message, MOST_OF_MESSAGE);
}

function distinct(entry: string): string {
  if (entry.length <= MOST_OF_ENTRY) return entry;
  return `${cut(entry, MOST_OF_ENTRY - HASH_LENGTH)}${hash('sha256', entry, 'hex').slice(0, HASH_LENGTH)}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
