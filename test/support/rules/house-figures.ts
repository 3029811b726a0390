// Sizes of folders, files, lines and functions: what a reader has to take in at once. `npm test` prints them, and fails
// where one is over its limit.
import { parse } from '@babel/parser';
import type { SourceFile } from './architecture.ts';

/** Most columns of a line, in UTF-16 units. */
export const MAX_COLUMNS = 120;
/** Most lines of a production file. */
export const MAX_FILE_LINES = 300;
/** Most lines of a function, its signature included. */
export const MAX_FUNCTION_LINES = 60;
/** Most lines of the median function, and of nine in ten. */
export const FUNCTION_QUANTILES = { median: 6, p90: 15 } as const;

/** A function with a body; `lines` counts from its first to its last. */
export interface FunctionSize {
  /** PATH:LINE. */
  readonly at: string;
  readonly lines: number;
}

const linesOf = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');

/** A node of the syntax tree, as far as its place and its parts matter. */
interface SyntaxNode {
  readonly type: string;
  readonly loc?: { readonly start: { readonly line: number }; readonly end: { readonly line: number } } | null;
  readonly body?: unknown;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression', 'ObjectMethod', 'ClassMethod',
  'ClassPrivateMethod',
]);

/** Functions of a file, arrow functions and methods included. Throws when the file does not parse. */
export function functionsOf({ path, text }: SourceFile): readonly FunctionSize[] {
  return [...nodesOf(parsed(path, text))].flatMap(({ type, body, loc }) => {
    if (!FUNCTIONS.has(type) || body === undefined || loc === undefined || loc === null) return [];
    return [{ at: `${path}:${loc.start.line}`, lines: loc.end.line - loc.start.line + 1 }];
  });
}

function parsed(path: string, text: string): SyntaxNode {
  try {
    return parse(text, { sourceType: 'module', plugins: ['typescript'] }).program;
  } catch (error) {
    throw new Error(`${path} does not parse`, { cause: error });
  }
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as { readonly type?: unknown }).type === 'string';

function* nodesOf(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const value of Object.values(node)) {
    if (isNode(value)) yield* nodesOf(value);
    else if (Array.isArray(value)) for (const part of value.filter(isNode)) yield* nodesOf(part);
  }
}

/** A line of a test that is one literal: a text or an expression that a test compares with is not cut into pieces. */
const isOneLiteral = (line: string): boolean =>
  /^\s*(?:(?:\w+:|it\()\s*)?(?:`.*`|'.*'|".*"|\/.*\/[a-z]*)[,;)]*$/.test(line);

/** Lines that are too wide, as PATH:LINE. */
export function wideLines({ path, text }: SourceFile): readonly string[] {
  const mayQuote = path.startsWith('test/');
  return linesOf(text).flatMap((line, index) => (
    line.length <= MAX_COLUMNS || (mayQuote && isOneLiteral(line)) ? [] : [`${path}:${index + 1}`]
  ));
}

/** Files that are too long. */
export function longFiles(files: readonly SourceFile[]): readonly string[] {
  return files.filter(({ text }) => linesOf(text).length > MAX_FILE_LINES).map(({ path }) => path);
}

/** Functions that are too long. */
export function longFunctions(functions: readonly FunctionSize[]): readonly string[] {
  return functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES).map(({ at }) => at);
}

/** The value below which the share of all sizes lies; 0 of none. */
export function quantile(sizes: readonly number[], share: number): number {
  return sizes.toSorted((left, right) => left - right)[Math.floor(sizes.length * share)] ?? 0;
}

/** Lines of all files together. */
export function countLines(files: readonly SourceFile[]): number {
  return files.reduce((sum, { text }) => sum + linesOf(text).length, 0);
}

/** The figures as text, one a line. */
export function figuresText(
  production: readonly SourceFile[], tests: readonly SourceFile[], functions: readonly FunctionSize[],
): string {
  const sizes = functions.map(({ lines }) => lines);
  const files = production.map(({ text }) => linesOf(text).length);
  const folders = new Set(production.map(({ path }) => path.replace(/\/[^/]*$/, ''))).size;
  return [
    `production: ${countLines(production)} lines in ${production.length} files in ${folders} folders`,
    `tests: ${countLines(tests)} lines, ${(countLines(tests) / countLines(production)).toFixed(2)} a line of production`,
    `files: median ${quantile(files, 0.5)} lines, longest ${Math.max(...files)} (${MAX_FILE_LINES})`,
    `functions: ${sizes.length}, median ${quantile(sizes, 0.5)} lines (${FUNCTION_QUANTILES.median}), ` +
      `p90 ${quantile(sizes, 0.9)} (${FUNCTION_QUANTILES.p90}), longest ${Math.max(...sizes)} (${MAX_FUNCTION_LINES})`,
  ].join('\n');
}
