// An untrusted object of a manifest, and what a conversion makes of it.
import type { Finding, Report } from './report.ts';

/** Fields of an object of any kind. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object with its identity; the fields below `metadata` and `spec` are unchecked. */
export interface Manifest {
  readonly fields: Fields;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Empty where the object has none. */
  readonly name: string;
  readonly namespace?: string;
  /** Where its document begins in its file, from 1; missing for one that was not read from a file. */
  readonly line?: number;
}

/** What an elected workload of the input gets besides the annotation. */
export interface Election {
  /** Replaces the number of replicas. */
  readonly replicas?: number;
  /** Taints of virtual nodes that its pods tolerate. */
  readonly tolerations?: readonly unknown[];
}

/** A workload of the input that is elected. */
export interface ElectedWorkload {
  readonly manifest: Manifest;
  readonly election: Election;
}

/** What one object becomes. */
export interface Conversion {
  /** Objects in its place. */
  readonly objects: readonly Fields[];
  /** Changes of other objects of the input. */
  readonly elected?: readonly ElectedWorkload[];
  readonly findings: readonly Finding[];
}

/** The conversion of an object, or none of one that has a field that cannot be read. */
export function concluded(
  report: Report, objects: readonly Fields[], elected: readonly ElectedWorkload[] = [],
): Conversion {
  const { findings, isUnreadable } = report;
  return isUnreadable ? { objects: [], findings } : { objects, elected, findings };
}

/** `kind/namespace/name`, for messages. */
export function titleOf({ kind, namespace, name }: Pick<Manifest, 'kind' | 'namespace' | 'name'>): string {
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

/** `metadata` of an object that belongs where another one did. */
export function metadataIn(namespace: string | undefined, name: string): Fields {
  return namespace === undefined ? { name } : { namespace, name };
}
