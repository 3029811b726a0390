// Inputs made from other inputs: by byte, by token, by the structure of JSON, and by splicing two. Everything follows
// from the numbers that are given.

/** What inputs of a target look like. */
export type InputShape = 'bytes' | 'text' | 'json';

/** What mutations are made with. */
export interface MutationSource {
  readonly shape: InputShape;
  /** Pieces that the target's format knows, and pieces that parsers stumble over. */
  readonly tokens: readonly string[];
  /** Longest input in bytes. */
  readonly maxBytes: number;
  /** In [0,1). */
  readonly random: () => number;
}

const ODD_BYTES = [
  0x00, 0x01, 0x09, 0x0a, 0x1b, 0x20, 0x22, 0x27, 0x2c, 0x3a, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0xbf, 0xc0, 0xe0,
  0xed, 0xef, 0xfe, 0xff,
];
const ODD_TOKENS = [
  '__proto__', 'constructor', 'toString', '\\u0000', '\\ud800', '﻿', '1e309', '-1', '0', '9007199254740993',
  '4294967296', '../', '%2e%2e', '\r\n', 'null', 'true', '[]', '{}', '""', '\u{1F600}',
];
const ODD_NAMES = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'length', '', 'a/b~c', '0'];
const ODD_NUMBERS = [0, -1, 1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53 + 2, 1e308, -1e-308];

/** The next input from one of the corpus; `other` is spliced in. */
export function mutate(input: Buffer, other: Buffer, source: MutationSource): Buffer {
  const { random, shape, maxBytes } = source;
  let mutated = input;
  for (let rounds = 1 + Math.floor(random() ** 2 * 5); rounds > 0; rounds -= 1) {
    const structured = shape === 'json' && random() < 0.75 ? mutateJson(mutated, other, source) : undefined;
    mutated = structured ?? mutateBytes(mutated, other, source);
  }
  return mutated.length > maxBytes ? mutated.subarray(0, maxBytes) : mutated;
}

type ByteMutation = (input: Buffer, other: Buffer, source: MutationSource) => Buffer;

const BYTE_MUTATIONS: readonly ByteMutation[] = [
  (input, _other, { random }) => replaced(input, below(random, input.length), 1, Buffer.from([below(random, 256)])),
  (input, _other, { random }) => flipped(input, below(random, input.length), 1 << below(random, 8)),
  (input, _other, { random }) =>
    replaced(input, below(random, input.length), 1, Buffer.from([pick(random, ODD_BYTES)])),
  (input, _other, { random }) =>
    replaced(input, below(random, input.length + 1), 0, Buffer.from([pick(random, ODD_BYTES)])),
  (input, _other, { random }) =>
    replaced(input, below(random, input.length), 1 + below(random, Math.min(input.length, 16)), Buffer.alloc(0)),
  (input, _other, { random }) => input.subarray(0, below(random, input.length + 1)),
  (input, _other, { random }) => {
    const [from, length] = [below(random, input.length), 1 + below(random, Math.min(input.length, 64))];
    return replaced(input, below(random, input.length + 1), 0, Buffer.concat(
      Array.from({ length: 1 + below(random, 4) }, () => input.subarray(from, from + length)),
    ));
  },
  insertToken,
  insertToken,
  (input, _other, source) => replaced(
    input, below(source.random, input.length), 1 + below(source.random, 12),
    Buffer.from(pick(source.random, source.tokens.length > 0 ? source.tokens : ODD_TOKENS)),
  ),
  changeNumber,
  splice,
];

function mutateBytes(input: Buffer, other: Buffer, source: MutationSource): Buffer {
  return pick(source.random, BYTE_MUTATIONS)(input, other, source);
}

function insertToken(input: Buffer, _other: Buffer, { random, tokens }: MutationSource): Buffer {
  const token = tokens.length > 0 && random() < 0.7 ? pick(random, tokens) : pick(random, ODD_TOKENS);
  return replaced(input, below(random, input.length + 1), 0, Buffer.from(token));
}

/** A number that stands in the input gets another value; in binary formats a length or a count does. */
function changeNumber(input: Buffer, _other: Buffer, { random, shape }: MutationSource): Buffer {
  if (shape === 'bytes') {
    const changed = Buffer.from(input);
    if (changed.length >= 2) changed.writeUInt16BE(
      pick(random, [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xc00c, 0xffff]), below(random, changed.length - 1),
    );
    return changed;
  }
  const numbers = [...input.toString('latin1').matchAll(/\d+/g)];
  if (numbers.length === 0) return input;
  const { index, 0: digits } = pick(random, numbers);
  return replaced(input, index, digits.length, Buffer.from(String(pick(random, ODD_NUMBERS))));
}

function splice(input: Buffer, other: Buffer, { random }: MutationSource): Buffer {
  return Buffer.concat(
    [input.subarray(0, below(random, input.length + 1)), other.subarray(below(random, other.length + 1))],
  );
}

function replaced(input: Buffer, at: number, count: number, by: Uint8Array): Buffer {
  return Buffer.concat([input.subarray(0, at), by, input.subarray(at + count)]);
}

function flipped(input: Buffer, at: number, bits: number): Buffer {
  const changed = Buffer.from(input);
  if (at < changed.length) changed[at] = (changed[at] ?? 0) ^ bits;
  return changed;
}

/** A place in a document: a member of an object or of a list. */
interface Place {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** One change to the structure of a document; undefined for what is no document of JSON. */
function mutateJson(input: Buffer, other: Buffer, { random, tokens }: MutationSource): Buffer | undefined {
  const root: { document: unknown } = { document: parsed(input) };
  if (root.document === undefined) return undefined;
  const places: Place[] = [];
  collect(root, places);
  const { holder, key } = pick(random, places);
  const target = holder as Record<string, unknown>;
  const way = below(random, 9);
  if (way === 0) remove(holder, key);
  else if (way === 1) put(target, key, copyOf(anyValueOf(places, random)));
  else if (way === 2) put(target, key, anyForeignValue(other, random));
  else if (way === 3) extend(target[key], { random, tokens, value: copyOf(anyValueOf(places, random)) });
  else if (way === 4 && Array.isArray(target[key])) repeat(target[key], random);
  else if (way === 5 && typeof target[key] === 'string') put(target, key, changedText(target[key], random, tokens));
  else put(target, key, oddValue(random, tokens));
  const printed = JSON.stringify(root.document);
  return printed === undefined ? undefined : Buffer.from(printed);
}

function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Places from the top, few enough that a large document costs no more than a small one. */
function collect(value: unknown, places: Place[]): void {
  const waiting: unknown[] = [value];
  for (let at = 0; at < waiting.length && places.length < 2_000; at += 1) {
    const holder = waiting[at];
    if (typeof holder !== 'object' || holder === null) continue;
    for (const key of Object.keys(holder)) {
      places.push({ holder: holder as Record<string, unknown>, key });
      waiting.push((holder as Record<string, unknown>)[key]);
    }
  }
}

function remove(holder: Place['holder'], key: string): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
}

/** Also for `__proto__`, which an assignment would take for the prototype. */
function put(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function anyValueOf(places: readonly Place[], random: () => number): unknown {
  const { holder, key } = pick(random, places);
  return (holder as Record<string, unknown>)[key];
}

function anyForeignValue(other: Buffer, random: () => number): unknown {
  const places: Place[] = [];
  collect({ document: parsed(other) }, places);
  return places.length === 0 ? null : anyValueOf(places, random);
}

function extend(value: unknown, { random, tokens, value: added }: {
  readonly random: () => number; readonly tokens: readonly string[]; readonly value: unknown
}): void {
  if (Array.isArray(value)) value.push(added);
  else if (typeof value === 'object' && value !== null) put(
    value, random() < 0.3 ? pick(random, ODD_NAMES) : pick(random, tokens.length > 0 ? tokens : ODD_NAMES), added,
  );
}

function repeat(list: unknown[], random: () => number): void {
  if (list.length === 0 || list.length > 64) return;
  const one = list[below(random, list.length)];
  for (let times = 1 + below(random, 8); times > 0; times -= 1) list.push(copyOf(one));
}

function changedText(text: string, random: () => number, tokens: readonly string[]): string {
  const at = below(random, text.length + 1);
  const token = pick(random, tokens.length > 0 && random() < 0.5 ? tokens : ODD_TOKENS);
  return random() < 0.5
    ? text.slice(0, at) + token + text.slice(at)
    : text.slice(0, at) + text.slice(at + 1 + below(random, 4));
}

function oddValue(random: () => number, tokens: readonly string[]): unknown {
  const ways: readonly (() => unknown)[] = [
    () => null,
    () => [],
    () => ({}),
    () => '',
    () => random() < 0.5,
    () => pick(random, ODD_NUMBERS),
    () => pick(random, ODD_TOKENS),
    () => pick(random, tokens.length > 0 ? tokens : ODD_TOKENS),
    () => [null, {}, [], 'a', 1],
    () => nested(1 + below(random, 40)),
    () => 'x'.repeat(below(random, 600)),
  ];
  return pick(random, ways)();
}

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function copyOf(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

function below(random: () => number, bound: number): number {
  return Math.floor(random() * Math.max(bound, 1));
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[below(random, from.length)] as T;
}
