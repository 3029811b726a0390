// The reference to a target that components, annotations and metrics share. Names of Kubernetes objects contain no
// slash, so its text form is unambiguous.

/** A ClusterTarget by name, or a Target by namespace and name. */
export type TargetRef =
  | { readonly kind: 'ClusterTarget'; readonly name: string }
  | { readonly kind: 'Target'; readonly namespace: string; readonly name: string };

/** Text form, also the key of maps: `ClusterTarget/c2`, `Target/team-a/c2`. */
export function targetKey(target: TargetRef): string {
  return target.kind === 'ClusterTarget' ? `ClusterTarget/${target.name}` : `Target/${target.namespace}/${target.name}`;
}

/** Parses {@link targetKey}; undefined for any other text. */
export function parseTargetKey(key: string): TargetRef | undefined {
  const [kind, ...names] = key.split('/');
  const [first, second] = names;
  if (names.includes('') || first === undefined) return undefined;
  if (kind === 'ClusterTarget' && names.length === 1) return { kind, name: first };
  if (kind === 'Target' && names.length === 2 && second !== undefined) return { kind, namespace: first, name: second };
  return undefined;
}
