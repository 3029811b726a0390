// What a target lets a source do, as its (Cluster)Source says, and in which namespaces. A ClusterSource as written for Admiralty says nothing and is let
// into all namespaces but the system's; those that our commands make are let into namespaces that opt in.
import type { SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { StringMap } from '../../api/objects/core.ts';
import { ALL_SOURCES, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, SOURCES_LABEL } from '../../api/objects/keys.ts';
import { matchesLabelSelector } from '../objects/label-selector.ts';

/** What sources get that are made by `isthmus peer`, `invite` and `join`, unless told otherwise. */
export const DEFAULT_GRANTS = { namespaces: 'OptedIn', podSecurity: 'baseline' } as const satisfies SourceGrants;

/** A Namespace by what counts here. */
export interface NamespaceLabels {
  readonly name: string;
  readonly labels: StringMap;
}

/** Who asks to be let in: the name of a ClusterSource, and what it is granted. */
export interface AskingSource {
  readonly name: string;
  readonly grants: SourceGrants;
  /** Of the target: no source is let in there. */
  readonly installNamespace: string;
}

/** Whether no source is ever let into a namespace: it is the cluster's own, or Isthmus'. */
export function isSystemNamespace(name: string, installNamespace: string): boolean {
  return name.startsWith('kube-') || name === installNamespace;
}

/** Whether a source is let into all namespaces but the system's, whatever their labels. */
export function takesAllNamespaces({ namespaces, namespaceSelector }: SourceGrants): boolean {
  return namespaces === 'All' || (namespaces === undefined && namespaceSelector === undefined);
}

/** Whether a namespace takes what a source sends. */
export function isLetInto({ name, labels }: NamespaceLabels, { name: source, grants, installNamespace }: AskingSource): boolean {
  if (isSystemNamespace(name, installNamespace)) return false;
  if (takesAllNamespaces(grants)) return true;
  return (grants.namespaces === 'OptedIn' && hasOptedIn(labels, source)) || matchesLabelSelector(grants.namespaceSelector, labels);
}

/** A namespace whose own pods may be elected takes pods of sources as well: it is set up alike in all clusters, for pods to move between them. */
function hasOptedIn(labels: StringMap, source: string): boolean {
  const named = Object.hasOwn(labels, SOURCES_LABEL) ? labels[SOURCES_LABEL] : undefined;
  if (named !== undefined) return named.split('_').some((one) => one === ALL_SOURCES || one === source);
  return Object.hasOwn(labels, NAMESPACE_OPT_IN_LABEL) && labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE;
}

/** How many names of namespaces people are shown. */
const SHOWN_NAMES = 10;

/** Where a source is let in, for people; `allowed` are the names of the namespaces where not all are. */
export function namespacesText({ grants, installNamespace }: Pick<AskingSource, 'grants' | 'installNamespace'>, allowed: readonly string[]): string {
  if (takesAllNamespaces(grants)) return `all but kube-* and ${installNamespace}`;
  if (allowed.length === 0) return 'none yet';
  const more = allowed.length - SHOWN_NAMES;
  return `${allowed.toSorted().slice(0, SHOWN_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
