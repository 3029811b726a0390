// Templates of `-o jsonpath`, as kubectl reads them (`k8s.io/client-go/util/jsonpath`): text, {paths}, {range}…{end}.
// Pure.
import { isRecord } from '../../model/objects/json-values.ts';
import { AppError } from '../../process/errors.ts';

/** One step of a path: from values to values. */
type Step = (values: readonly unknown[], root: unknown) => readonly unknown[];

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly steps: readonly Step[] }
  | { readonly kind: 'range'; readonly steps: readonly Step[]; readonly body: readonly Part[] };

/** A compiled template; renders a value. */
export type JsonPathTemplate = (value: unknown) => string;

/** Compiles a template; one without braces is a path. Throws AppError `BadInput` that quotes what cannot be read. */
export function jsonPathTemplate(template: string): JsonPathTemplate {
  const source = template.includes('{') ? template : `{${template}}`;
  const tokens = [...source.matchAll(/\{((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^{}"'])*)\}|([^{]+|\{)/g)];
  const { parts, rest } = parse(tokens.map(([whole, expression]) => ({ whole, expression })), template);
  if (rest.length > 0) throw unreadable(template, 'an {end} has no {range}');
  return (value) => render(parts, value, value);
}

interface Token {
  readonly whole: string;
  /** What stands within braces. */
  readonly expression: string | undefined;
}

function parse(tokens: readonly Token[], template: string): {
  readonly parts: readonly Part[]; readonly rest: readonly Token[]
} {
  const parts: Part[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const { whole, expression } = tokens[at] ?? { whole: '', expression: undefined };
    const words = expression?.trim() ?? '';
    if (expression === undefined && whole === '{') throw unreadable(template, 'a brace is not closed');
    if (expression === undefined) parts.push({ kind: 'text', text: whole });
    else if (words === 'end') return { parts, rest: tokens.slice(at) };
    else if (words.startsWith('range ')) {
      const { parts: body, rest } = parse(tokens.slice(at + 1), template);
      if (rest.length === 0) throw unreadable(template, 'a {range} has no {end}');
      parts.push({ kind: 'range', steps: stepsOf(words.slice(6).trim(), template), body });
      at = tokens.length - rest.length;
    } else if (/^["']/.test(words)) parts.push({ kind: 'text', text: literal(words) });
    else parts.push({ kind: 'path', steps: stepsOf(words, template) });
  }
  return { parts, rest: [] };
}

function literal(quoted: string): string {
  const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t' };
  return quoted.slice(1, -1).replaceAll(/\\(.)/g, (_all, letter: string) => escapes[letter] ?? letter);
}

function render(parts: readonly Part[], value: unknown, root: unknown): string {
  return parts.map((part) => {
    if (part.kind === 'text') return part.text;
    const found = run(part.steps, [value], root);
    if (part.kind === 'range') return found.map((each) => render(part.body, each, root)).join('');
    return found.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' ');
  }).join('');
}

function run(steps: readonly Step[], values: readonly unknown[], root: unknown): readonly unknown[] {
  return steps.reduce((found, step) => step(found, root), values);
}

const SEGMENT = new RegExp([
  /^(?<start>[$@])/, /^\.\.(?<deep>[\w-]+|\*)/, /^\.(?<name>(?:[\w-]|\\.|\/)+|\*)/, /^\.?\[(?<every>\*)\]/,
  /^\.?\[['"](?<quoted>[^'"]*)['"]\]/, /^\.?\[\?\((?<filter>.+?)\)\]/, /^\.?\[(?<slice>-?\d*(?::-?\d*)?)\]/,
].map(({ source }) => source).join('|'));

function stepsOf(path: string, template: string): readonly Step[] {
  const steps: Step[] = [];
  for (let rest = path; rest !== '';) {
    const found = SEGMENT.exec(rest);
    if (found?.groups === undefined || found[0] === '') throw unreadable(template, `"${rest}" is not a path`);
    steps.push(stepOf(found.groups, template));
    rest = rest.slice(found[0].length);
  }
  if (steps.length === 0) throw unreadable(template, 'a path is empty');
  return steps;
}

function stepOf(
  { start, deep, name, every, quoted, filter, slice }: Readonly<Record<string, string | undefined>>, template: string,
): Step {
  if (start !== undefined) return (values, root) => (start === '$' ? [root] : values);
  if (deep !== undefined) return (values) => values.flatMap(descendants).flatMap((value) => member(value, deep));
  if (every !== undefined || name === '*') return (values) => values.flatMap(childrenOf);
  const key = quoted ?? name?.replaceAll(/\\(.)/g, '$1');
  if (key !== undefined) return (values) => values.flatMap((value) => member(value, key));
  if (filter !== undefined) return filterStep(filter, template);
  const [first = '', last] = (slice ?? '').split(':');
  const number = (text: string | undefined) => (text === undefined || text === '' ? undefined : Number(text));
  return (values) => values.flatMap((value) => {
    if (!Array.isArray(value)) return [];
    return last === undefined ? value.slice(Number(first)).slice(0, 1) : value.slice(number(first), number(last));
  });
}

const COMPARISON = /^\s*@(?<path>[^\s=!<>]*)\s*(?:(?<operator>==|!=|<=?|>=?)\s*(?<value>"[^"]*"|'[^']*'|[^\s]+))?\s*$/;

function filterStep(text: string, template: string): Step {
  const { path = '', operator, value = '' } = COMPARISON.exec(text)?.groups ?? {};
  if (path === '' && operator === undefined) throw unreadable(template, `"${text}" is not a filter`);
  const steps = path === '' ? [] : stepsOf(path, template);
  const expected: unknown = /^["']/.test(value) ? value.slice(1, -1) : plainValue(value);
  const holds = (item: unknown, root: unknown) => {
    const [found] = run(steps, [item], root);
    return operator === undefined ? found !== undefined : compare(found, operator, expected);
  };
  return (values, root) => values.flatMap(childrenOf).filter((item) => holds(item, root));
}

function plainValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function compare(found: unknown, operator: string, expected: unknown): boolean {
  if (operator === '==' || operator === '!=') return (found === expected) === (operator === '==');
  if (typeof found !== 'number' || typeof expected !== 'number') return false;
  if (operator.endsWith('=') && found === expected) return true;
  return operator.startsWith('<') ? found < expected : found > expected;
}

function member(value: unknown, key: string): readonly unknown[] {
  if (key === '*') return childrenOf(value);
  return isRecord(value) && Object.hasOwn(value, key) && value[key] !== undefined ? [value[key]] : [];
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  return isRecord(value) ? Object.values(value).filter((each) => each !== undefined) : [];
}

function descendants(value: unknown): readonly unknown[] {
  return [value, ...childrenOf(value).flatMap(descendants)];
}

function unreadable(template: string, why: string): AppError {
  return new AppError('BadInput', `-o jsonpath: ${why} in ${JSON.stringify(template)}.`);
}
