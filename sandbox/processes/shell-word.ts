// Paths in commands that users copy.

/** The line of a cluster by which people point kubectl at it. */
export function pointingKubectl(
  { name, kubeconfigPath }: { readonly name: string; readonly kubeconfigPath: string },
): string {
  return `  ${name.padEnd(10)} export KUBECONFIG=${shellWord(kubeconfigPath)}`;
}

/** A text as one word of a shell: in quotes where it has a space, or anything else that a shell would read. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
