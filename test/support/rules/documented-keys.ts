// Which documented labels, annotations, finalizers and conditions production code writes and reads. What `keys.ts` says
// of each (`set by the scheduler, read by users`) is compared with what the code does.

/** A key with its comment. */
export interface DocumentedKey {
  readonly name: string;
  /** Who writes it, in the words of the comment; undefined where the comment names nobody. */
  readonly writer: string | undefined;
  /** Who reads it. */
  readonly reader: string | undefined;
}

/** A file of production code. */
export interface CodeFile {
  readonly path: string;
  readonly text: string;
}

/** Writers and readers that are not ours: of them the code cannot be asked. */
const OTHERS = new RegExp([
  '^(?:the user|users|its owner|the owner|administrators|tools|DNS and load balancer controllers)\\b',
  "^(?:an Admiralty source|Cilium's cluster mesh|metrics-server|the Coscheduling plugin)",
].join('|'));

/** The keys of `api/objects/keys.ts`. */
export function documentedKeys(source: string): readonly DocumentedKey[] {
  const entries = [...source.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const (\w+) =/g)];
  const isKey = (name: string): boolean => /(?:ANNOTATION|LABEL|FINALIZER|CONDITION|PROVIDER_KEY)$/.test(name);
  return entries.filter(([, , name = '']) => isKey(name)).map(([, comment = '', name = '']) => {
    const text = comment.replaceAll(/\s*\n\s*\*\s*/g, ' ');
    const both = /\bset and (?:read|removed) by ([^,;:.]*)/.exec(text)?.[1];
    const reader = /\bread by ([^,;:.]*)/.exec(text)?.[1];
    return { name, writer: both ?? /\bset by ([^,;:.]*)/.exec(text)?.[1], reader };
  });
}

/** What is wrong with each key: nobody is named, or who is named does not exist in the code. */
export function findUnusedKeys(keys: readonly DocumentedKey[], files: readonly CodeFile[]): readonly string[] {
  const texts = files.filter(({ path }) => path !== 'api/objects/keys.ts').map(({ text }) => withoutImports(text));
  return keys.flatMap((key) => problemsOf(key, texts.flatMap((text) => usesOf(key.name, text))));
}

type Use = 'write' | 'read';

function problemsOf({ name, writer, reader }: DocumentedKey, uses: readonly Use[]): readonly string[] {
  const isOurs = (who: string | undefined): boolean => who !== undefined && !OTHERS.test(who);
  const problems: readonly (readonly [isThere: boolean, problem: string])[] = [
    [writer === undefined, 'its comment does not say who sets it'],
    [uses.length === 0, 'no production code uses it; drop it'],
    [isOurs(writer) && !uses.includes('write'), `said to be set by ${writer}, but nothing writes it`],
    [isOurs(reader) && !uses.includes('read'), `said to be read by ${reader}, but nothing reads it`],
  ];
  return problems.flatMap(([isThere, problem]) => (isThere ? [`${name}: ${problem}`] : []));
}

function withoutImports(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '').replaceAll(/^import [^]*?;$/gm, '');
}

function usesOf(name: string, text: string): readonly Use[] {
  const places = [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))];
  return places.map(({ index }) => useAt(text.slice(0, index), text.slice(index + name.length)));
}

/** A key is written as a member of an object, a pair, a finalizer in a list, the type of a condition or by a patch. */
function useAt(before: string, after: string): Use {
  if (before.endsWith('matchLabels: { [')) return 'read';
  if (/[{,(]\s*\[$/.test(before) && after.startsWith(']:')) return isPattern(after) ? 'read' : 'write';
  if (before.endsWith('[') && /^\](?: = |\s*\?\?=)|^, /.test(after)) return 'write';
  const isInList = /[fF]inalizers?: [^;\n]*\[[^\]]*$|FINALIZERS[^\n]*= \[[^\]]*$|, $/.test(before);
  if (isInList && after.startsWith(']')) return 'write';
  if (/op: 'add', path: memberPointer\([^)]*$|\{ type: $/.test(before)) return 'write';
  return 'read';
}

/** Whether what follows is the rest of a destructuring pattern: its closing brace is followed by `=` or by a type. */
function isPattern(after: string): boolean {
  let depth = 0;
  for (const [index, letter] of after.split('').entries()) {
    if ('{[('.includes(letter)) depth += 1;
    if ('}])'.includes(letter) && index > 0) depth -= 1;
    if (depth < 0) return /^(?:\s*=(?![=>])|:)/.test(after.slice(index + 1));
  }
  return false;
}
