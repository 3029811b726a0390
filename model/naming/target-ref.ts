// The reference to a target that components, annotations and metrics share. Names of Kubernetes objects contain no
// slash, so its text form is unambiguous.

/** A ClusterTarget by name, or a Target by namespace and name. */
export type TargetRef =
  | { readonly kind: 'ClusterTarget'; readonly name: string }
  | { readonly kind: 'Target'; readonly namespace: string; readonly name: string };

/** The reference to a (Cluster)Target by the metadata of its object. */
export function targetRefOf(
  { namespace, name = '' }: { readonly namespace?: string | undefined; readonly name?: string },
): TargetRef {
  return namespace === undefined ? { kind: 'ClusterTarget', name } : { kind: 'Target', namespace, name };
}

/** Text form, also the key of maps: `ClusterTarget/c2`, `Target/team-a/c2`. */
export function targetKey(target: TargetRef): string {
  return target.kind === 'ClusterTarget' ? `ClusterTarget/${target.name}` : `Target/${target.namespace}/${target.name}`;
}

/** The text form as users see it: `c2` of `ClusterTarget/c2`, and `team-a/c2` of `Target/team-a/c2`. */
export function shortTargetName(key: string): string {
  return key.replace(/^(?:Cluster)?Target\//, '');
}
