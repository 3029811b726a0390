// What a target grants a source by its (Cluster)Source, and in which namespaces. A ClusterSource written for Admiralty
// has no such fields and is admitted to all namespaces except the system's; those that our commands create are admitted
// to namespaces that opt in.
import type { SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { StringMap } from '../../api/objects/core.ts';
import { ALL_SOURCES, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, SOURCES_LABEL } from '../../api/objects/keys.ts';
import { isSystemNamespace, ownNamespaces } from './system-namespaces.ts';
import { matchesLabelSelector } from '../objects/label-selector.ts';

/** Grants of sources that `isthmus peer`, `invite` and `join` create, unless flags say otherwise. */
export const DEFAULT_GRANTS = { namespaces: 'OptedIn', podSecurity: 'baseline' } as const satisfies SourceGrants;

/** The fields of a Namespace that are used here. */
export interface NamespaceLabels {
  readonly name: string;
  readonly labels: StringMap;
}

/** A source that requests access: the name of its ClusterSource, and its grants. */
export interface AskingSource {
  readonly name: string;
  readonly grants: SourceGrants;
  /** Of the target: no source is admitted there. */
  readonly installNamespace: string;
}

/** Whether a source is admitted to all namespaces but the system's, whatever their labels. */
export function takesAllNamespaces({ namespaces, namespaceSelector }: SourceGrants): boolean {
  return namespaces === 'All' || (namespaces === undefined && namespaceSelector === undefined);
}

/** Whether a namespace admits a source. */
export function isAllowedIn(
  { name, labels }: NamespaceLabels, { name: source, grants, installNamespace }: AskingSource,
): boolean {
  if (isSystemNamespace(name, installNamespace)) return false;
  if (takesAllNamespaces(grants)) return true;
  return (grants.namespaces === 'OptedIn' && hasOptedIn(labels, source))
    || matchesLabelSelector(grants.namespaceSelector, labels);
}

/**
 * A namespace whose own pods may be elected admits pods of sources as well: it is set up alike in all clusters, for
 * pods to move between them.
 */
function hasOptedIn(labels: StringMap, source: string): boolean {
  const named = Object.hasOwn(labels, SOURCES_LABEL) ? labels[SOURCES_LABEL] : undefined;
  if (named !== undefined) return named.split('_').some((one) => one === ALL_SOURCES || one === source);
  return Object.hasOwn(labels, NAMESPACE_OPT_IN_LABEL) && labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE;
}

/** Maximum number of namespace names in messages. */
const SHOWN_NAMES = 10;

/** Where a source is admitted, for messages; `allowed` are the namespaces if not all are. */
export function namespacesText(
  { grants, installNamespace }: Pick<AskingSource, 'grants' | 'installNamespace'>, allowed: readonly string[],
): string {
  if (takesAllNamespaces(grants)) return `all but ${['kube-*', ...ownNamespaces(installNamespace)].join(', ')}`;
  if (allowed.length === 0) return 'none yet';
  const more = allowed.length - SHOWN_NAMES;
  return `${allowed.toSorted().slice(0, SHOWN_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
