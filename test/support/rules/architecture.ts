// The rules of the architecture as functions over a file's path and text, so that each can be shown to fail on a
// made-up file. TypeScript 7 has no JavaScript API: imports and names are found by regular expressions in the text
// without its comments.
import { readFileSync } from 'node:fs';

/** A source file; `path` is relative to the repository, with slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One import or re-export. */
interface Import {
  /** `model/pod/pod.ts` for a file of ours, else the name of the package, or `node:fs`. */
  readonly from: string;
  readonly isOurs: boolean;
  readonly isTypeOnly: boolean;
  /** Names that are imported; empty for a namespace or dynamic import, which may use anything. */
  readonly names: readonly string[];
}

/** One folder in a top-level folder: its files belong together. */
interface Folder {
  /** Folders beside it; `.` is the top-level folder itself. */
  readonly imports: readonly string[];
  /** Names of the files that may wait, read a clock and reach out; the others decide and touch nothing. */
  readonly acts: 'all' | readonly string[];
}

/** A top-level folder. */
interface TopFolder {
  /** Top-level folders that its files may import: those that act, all of them; the others, only what does not act. */
  readonly imports: readonly string[];
  readonly folders: Readonly<Record<string, Folder>>;
}

const TABLE = new URL('../../../../architecture.json', import.meta.url);
/** The one table of folders, which the linter reads as well. */
export const TOP_FOLDERS =
  (JSON.parse(readFileSync(TABLE, 'utf8')) as { readonly topFolders: Readonly<Record<string, TopFolder>> }).topFolders;

const UNRESTRICTED: ReadonlySet<string> = new Set(['test', 'benchmarks']);
/** Commands, and what is unrestricted anyway. */
const SHORT_LIVED: ReadonlySet<string> = new Set([...UNRESTRICTED, 'cli', 'sandbox']);
/** The program itself: it puts the top-level folders together, and may import them all. */
const ENTRY = 'cli/main.ts';
/** This file, for who must change it. */
const RULES = 'test/support/rules/architecture.ts';
/** Most files of a folder. */
export const MAX_FILES_IN_A_FOLDER = 12;
/** Most files of tests, or for tests, in one folder. */
export const MAX_TEST_FILES_IN_A_FOLDER = 25;

/** Direct run-time dependencies with the reason for each; there are to be at most {@link MAX_DEPENDENCIES}. */
export const EXPECTED_DEPENDENCIES: ReadonlyMap<string, string> = new Map([
  ['@kubernetes/client-node', 'auth providers of kubeconfigs'],
  ['@peculiar/x509', 'certificates and signing requests'],
  ['commander', 'the command line'],
  ['dns-packet', 'DNS wire format for clusterset.local'],
  ['fast-json-patch', 'the patch of an admission answer'],
  ['fastify', 'HTTP servers: admission, kubelet API, dashboard, broker'],
  ['jose', 'JWS and JWT: joining tokens, signed manifests'],
  ['p-queue', 'bounded concurrency under the work queue'],
  ['pino', 'structured logs'],
  ['prom-client', 'metrics'],
  ['re2js', 'regular expressions of users, in linear time'],
  ['undici', 'HTTP client of the hot path'],
  ['yaml', 'kubeconfigs, manifests, user annotations'],
]);
/** Most direct run-time dependencies. */
export const MAX_DEPENDENCIES = 13;

/** Packages without I/O, clock or randomness of their own. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(['dns-packet', 'fast-json-patch', 're2js', 'yaml']);
/** What pure files may take from Node: functions of their arguments. */
const PURE_NODE: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['node:crypto', new Set(
    [
      'createHash', 'createHmac', 'createPrivateKey', 'createPublicKey', 'createSecretKey', 'hash', 'timingSafeEqual',
      'KeyObject', 'X509Certificate',
    ],
  )],
  ['node:zlib', new Set(['gzipSync', 'gunzipSync'])],
  ['node:path', new Set(['basename', 'dirname', 'join'])],
  ['node:util', new Set(['isDeepStrictEqual'])],
  ['node:net', new Set(['isIP', 'isIPv4', 'isIPv6'])],
]);

const IMPURE: readonly (readonly [pattern: RegExp, what: string])[] = [
  [
    /\b(?:await|async)\b/,
    'waits: a decision never does, so that dry-run, explain and replay are calls of the same function',
  ],
  [
    /\bDate\.now\b|\bnew Date\b(?!\s*\(\s*[^)\s])|\bDate\(\s*\)|\bperformance\./,
    'reads the clock: take the time as an argument',
  ],
  [/\bMath\.random\b|\bcrypto\.(?:random|getRandom)/, 'draws a random number: take it as an argument'],
  [/\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/, 'sets a timer: give back how long to wait'],
  [/\bfetch\s*\(/, 'makes a request: give back a plan'],
  [/\bprocess\.|\bglobalThis\b/, 'uses the process: take what it needs as an argument'],
  [/\bconsole\b/, 'logs: give back a reason'],
];

// --- reading a file

const TOKENS = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

function withoutComments(text: string): string {
  return text.replace(TOKENS, (token) => (token.startsWith('/') ? ' ' : token));
}

/** The code without comments and texts; of a template only its expressions are left. */
function codeOnly(text: string): string {
  return text.replace(TOKENS, (token) => {
    if (token.startsWith('/')) return ' ';
    return token.startsWith('`')
      ? `\`${[...token.matchAll(/\$\{([^}]*)\}/g)].map(([, code]) => code).join(' ')}\``
      : "''";
  });
}

function importsOf({ path, text }: SourceFile): Import[] {
  const code = withoutComments(text);
  const fixed = [
    ...code.matchAll(/^\s*(?:import|export)\s+(type\s+)?(?:([^'"`;=]*?)\s*from\s*)?['"]([^'"]+)['"]/gm),
  ].map(([, type, clause = '', from = '']) => {
    const names = clause.includes('{')
      ? clause.replace(/[{}]/g, '').split(',').map((name) => name.trim()).filter((name) => name !== '')
      : [];
    const isTypeOnly = type !== undefined || (names.length > 0 && names.every((name) => name.startsWith('type ')));
    return toImport(
      path, from, isTypeOnly, names.map((name) => name.replace(/^type\s+/, '').replace(/\s+as\s.*$/, '')),
    );
  });
  const dynamic = [...code.matchAll(/\b(?:import|require)\s*\(\s*['"`]([^'"`]+)['"`]/g)].map(
    ([, from = '']) => toImport(path, from, false, []),
  );
  return [...fixed, ...dynamic];
}

function toImport(path: string, from: string, isTypeOnly: boolean, names: readonly string[]): Import {
  if (from.startsWith('.')) {
    return { from: new URL(from, `file:///${path}`).pathname.slice(1), isOurs: true, isTypeOnly, names };
  }
  const parts = from.split('/');
  return { from: parts.slice(0, from.startsWith('@') ? 2 : 1).join('/'), isOurs: false, isTypeOnly, names };
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
}

function subfolderOf(path: string): string {
  const parts = path.split('/');
  return parts.length > 2 ? parts.slice(1, -1).join('/') : '.';
}

function entryOf(path: string): Folder | undefined {
  return TOP_FOLDERS[folderOf(path)]?.folders[subfolderOf(path)];
}

/** Whether the file must decide without waiting, I/O, clock or randomness. */
export function isPure(path: string): boolean {
  const folder = entryOf(path);
  return folder !== undefined && folder.acts !== 'all'
    && !folder.acts.includes(path.slice(path.lastIndexOf('/') + 1, -'.ts'.length));
}

// --- rules; each gives what is wrong, in sentences

/** Every file is in a folder of the table. */
export function findUnknownFolders({ path }: SourceFile): string[] {
  if (UNRESTRICTED.has(folderOf(path)) || entryOf(path) !== undefined) return [];
  return [
    `${path} is in a folder that architecture.json does not know; move it, or write the folder into the table`,
  ];
}

/** Files import only what the table says: top-level folders below, and the folders beside theirs that are named. */
export function findForbiddenImports(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ from, isOurs }) => isOurs && !mayImport(file.path, from))
    .map(({ from }) => `${file.path} imports ${from}, which architecture.json does not allow`);
}

function mayImport(path: string, imported: string): boolean {
  const [folder, other] = [folderOf(path), folderOf(imported)];
  if (UNRESTRICTED.has(folder)) return true;
  if (UNRESTRICTED.has(other) || entryOf(imported) === undefined) return false;
  if (path === ENTRY) return true;
  if (isPure(path) && !isPure(imported)) return false;
  if (folder !== other) return TOP_FOLDERS[folder]?.imports.includes(other) === true;
  if (imported.endsWith('/main.ts')) return false;
  return subfolderOf(path) === subfolderOf(imported) || entryOf(path)?.imports.includes(subfolderOf(imported)) === true;
}

/** Files that import one another in a circle, types included; one sentence for each circle. */
export function findCircles(files: readonly SourceFile[]): string[] {
  return circlesOf(
    new Map(files.map((file) => [file.path, importsOf(file).filter(({ isOurs }) => isOurs).map(({ from }) => from)])),
  );
}

/** Values that production code exports though no other file uses them, or though only tests do. */
export function findDeadExports(files: readonly SourceFile[]): string[] {
  const used = new Set(files.filter(({ path }) => folderOf(path) !== 'test').flatMap(usedNames));
  const tested = new Set(files.flatMap(usedNames));
  return files.filter(({ path }) => !UNRESTRICTED.has(folderOf(path))).flatMap(({ path, text }) => {
    const code = codeOnly(text);
    const isIn = (known: ReadonlySet<string>, name: string) => known.has(`${path} ${name}`) || known.has(`${path} *`);
    const exported = [...code.matchAll(/^export (?:async )?(?:const|function\*?|(?:abstract )?class) (\w+)/gm)];
    const names = exported.map(([, name = '']) => name).filter((name) => !isIn(used, name));
    return names.flatMap((name) => {
      if (!isIn(tested, name)) return [`${path} exports ${name}, which no other file uses; do not export it`];
      const isAlone = code.split(new RegExp(`\\b${name}\\b`)).length === 2;
      return isAlone ? [`${path} exports ${name}, which no production code uses; remove it with its tests`] : [];
    });
  });
}

/** What a file imports of ours, as `path name`; `path *` for a whole module. */
function usedNames(file: SourceFile): readonly string[] {
  return importsOf(file).filter(({ isOurs }) => isOurs).flatMap(({ from, names }) => (
    names.length === 0 ? [`${from} *`] : names.map((name) => `${from} ${name}`)
  ));
}

/** Folders that may import one another in a circle, as the table stands. */
export function findCircularFolders(topFolders: Readonly<Record<string, TopFolder>>): string[] {
  const between = circlesOf(new Map(Object.entries(topFolders).map(([top, { imports }]) => [top, imports])));
  return [...between, ...Object.values(topFolders).flatMap(
    ({ folders }) => circlesOf(new Map(Object.entries(folders).map(([folder, { imports }]) => [folder, imports]))),
  )];
}

function circlesOf(known: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (node: string, way: readonly string[]): void => {
    if (way.includes(node)) found.push([...way.slice(way.indexOf(node)), node].join(' -> '));
    if (done.has(node) || way.includes(node)) return;
    for (const next of known.get(node) ?? []) visit(next, [...way, node]);
    done.add(node);
  };
  for (const node of known.keys()) visit(node, []);
  return found;
}

/** Folders with more files than a newcomer takes in at a glance. */
export function findCrowdedFolders(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) => {
    const most = folderOf(folder) === 'test' ? MAX_TEST_FILES_IN_A_FOLDER : MAX_FILES_IN_A_FOLDER;
    return count > most ? [`${folder} has ${count} files; ${most} are the most`] : [];
  });
}

/** Pure files do not wait, log, read a clock, draw random numbers or reach out. */
export function findImpurity(file: SourceFile): string[] {
  if (!isPure(file.path)) return [];
  const code = codeOnly(file.text);
  const uses = IMPURE.filter(([pattern]) => pattern.test(code)).map(([, what]) => `${file.path} ${what}`);
  // a type is erased
  const imports = importsOf(file).filter(
    ({ isOurs, isTypeOnly, from, names }) => !isOurs && !isTypeOnly && !isPureImport(from, names),
  );
  return [...uses, ...imports.map(
    ({ from, names }) => `${file.path} takes ${names.join(', ') || 'everything'} from ${from}, which may have effects`,
  )];
}

function isPureImport(from: string, names: readonly string[]): boolean {
  if (PURE_PACKAGES.has(from)) return true;
  const allowed = PURE_NODE.get(from);
  return allowed !== undefined && names.length > 0 && names.every((name) => allowed.has(name));
}

const CLIENT_NODE_LOADER = 'kubernetes/credentials/auth-provider.ts';

/** The official client costs 0.4 s and 80 MiB to load, so one file does, when it must. */
export function findClientNode(file: SourceFile): string[] {
  if (file.path === CLIENT_NODE_LOADER || UNRESTRICTED.has(folderOf(file.path))) return [];
  return importsOf(file)
    .filter(({ from, isTypeOnly }) => from === '@kubernetes/client-node' && !isTypeOnly)
    .map(() => `${file.path} loads @kubernetes/client-node at run time, which only ${CLIENT_NODE_LOADER} may`);
}

/** Environment, exit and signals have one owner each. */
export function findProcessUse(file: SourceFile): string[] {
  if (UNRESTRICTED.has(folderOf(file.path))) return [];
  const code = codeOnly(file.text);
  const found: string[] = [];
  if (/\bprocess\s*\.\s*env\b/.test(code) && file.path !== 'process/config.ts') {
    found.push(`${file.path} reads process.env, which only process/config.ts may`);
  }
  if (/\bprocess\s*\.\s*(?:exit|on|addListener)\s*\(/.test(code) && file.path !== 'process/lifecycle.ts') {
    found.push(`${file.path} uses process.exit or process.on, which only process/lifecycle.ts may`);
  }
  if (importsOf(file).some(({ from }) => from === 'node:process')) {
    found.push(`${file.path} imports node:process, which hides what it uses of it`);
  }
  return found;
}

/**
 * What runs for long never uses `AbortSignal.any`: in Node.js 20 each use stays on the signal that lives longer.
 * Commands end.
 */
export function findLeakySignals({ path, text }: SourceFile): string[] {
  if (SHORT_LIVED.has(folderOf(path)) || !/\bAbortSignal\s*\.\s*any\b/.test(codeOnly(text))) return [];
  return [
    `${path} uses AbortSignal.any, which leaks on long-lived signals; kubernetes/flow/abort.ts has what does not`,
  ];
}

/** Each file opens with its place in the system; tests are named after the file they test. */
export function findMissingHeader({ path, text }: SourceFile): string[] {
  if (path.endsWith('.test.ts')) return [];
  return /^(?:#![^\n]*\n)?(?:\/\/ |\/\*)/.test(text)
    ? []
    : [`${path} does not open with a comment that says what its place is`];
}

/** No barrels, and no drawers: a name says in Kubernetes words what is inside. */
export function findBadNames({ path }: SourceFile): string[] {
  const parts = path.split('/');
  const found = parts.slice(0, -1).filter(
    (folder) => /^(?:utils?|helpers?|common|lib|src|types|managers?|misc)$/.test(folder),
  ).map((folder) => `${path} is in a folder named ${folder}, which says nothing`);
  if (/^(?:index|utils?|helpers?|common|types)\.ts$/.test(parts.at(-1) ?? '')) {
    found.push(`${path} has a name that says nothing of what is inside`);
  }
  return found;
}

/** Every rule for one file. */
export function findProblems(file: SourceFile): string[] {
  return [
    findUnknownFolders, findForbiddenImports, findImpurity, findClientNode, findProcessUse, findLeakySignals,
    findMissingHeader, findBadNames,
  ].flatMap((rule) => rule(file));
}

/** Libraries are chosen one by one, and each has its reason. */
export function findUnexpectedDependencies(packageJson: string): string[] {
  const { dependencies = {} } = JSON.parse(packageJson) as { readonly dependencies?: Readonly<Record<string, string>> };
  const names = Object.keys(dependencies);
  const found = names.filter((name) => !EXPECTED_DEPENDENCIES.has(name))
    .map((name) => `${name} is a dependency without a reason; give one in ${RULES}, or do without`);
  if (names.length > MAX_DEPENDENCIES) {
    found.push(`${names.length} direct dependencies are more than ${MAX_DEPENDENCIES}`);
  }
  return found;
}

/**
 * What runs imports no package that is not declared for it: one that only tests have is missing where it is installed.
 */
export function findUndeclaredPackages(file: SourceFile, packageJson: string): string[] {
  if (UNRESTRICTED.has(folderOf(file.path))) return [];
  const { dependencies = {} } = JSON.parse(packageJson) as { readonly dependencies?: Readonly<Record<string, string>> };
  return importsOf(file)
    .filter(({ isOurs, from }) => !isOurs && !from.startsWith('node:') && !Object.hasOwn(dependencies, from))
    .map(({ from }) => `${file.path} imports ${from}, which is no run-time dependency`);
}
