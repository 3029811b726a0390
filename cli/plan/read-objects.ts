// Reads the objects of an untrusted manifest: the parser recurses, compares keys pairwise and follows aliases, so what
// it gets is limited first.
import { LineCounter, parseAllDocuments, visit, type Document } from 'yaml';
import { isRecord } from '../../model/objects/json-values.ts';
import { AS_KUBECTL_READS, asDocuments, exceedsYamlLimits, type YamlLimits } from '../../model/objects/yaml-limits.ts';
import { AppError } from '../../process/errors.ts';
import type { Fields, Manifest } from '../translation/manifest.ts';
import type { ManifestFile } from './manifest-files.ts';

/** Objects, or what is wrong with the file, as the end of a sentence that starts with its name. */
export type ReadObjects = { readonly kind: 'objects'; readonly objects: readonly Manifest[] }
  | { readonly kind: 'invalid'; readonly problem: string };

/** About four thousand manifests in one file. */
const LIMITS: YamlLimits = { depth: 64, lexemes: 1_000_000 };
/** How often an alias may be used, so that a short text does not become a long one. */
const MAX_ALIASES = 100;
/** Keys are compared below, in linear time. */
const PARSE_OPTIONS = { ...AS_KUBECTL_READS, logLevel: 'error', uniqueKeys: false } as const;

/** The objects of a file. Throws AppError `BadInput` that names it. */
export function objectsIn({ path, text }: ManifestFile): readonly Manifest[] {
  const read = readObjects(text);
  if (read.kind === 'objects') return read.objects;
  throw new AppError('BadInput', `${path} ${read.problem}.`);
}

/** Reads a stream of YAML documents, Lists with their items. */
export function readObjects(given: string): ReadObjects {
  const text = asDocuments(given);
  if (exceedsYamlLimits(text, LIMITS)) return invalid('is too large or too deeply nested');
  const objects: Manifest[] = [];
  const lineCounter = new LineCounter();
  for (const document of parseAllDocuments(text, { ...PARSE_OPTIONS, lineCounter })) {
    const { line } = lineCounter.linePos(document.contents?.range?.[0] ?? 0);
    const problem = faultOf(document) ?? addObjects(document, objects, line);
    if (problem !== undefined) return invalid(problem);
  }
  return { kind: 'objects', objects };
}

function invalid(problem: string): ReadObjects {
  return { kind: 'invalid', problem };
}

function faultOf(document: Document): string | undefined {
  const [error] = document.errors;
  if (error !== undefined) return `is not valid YAML: ${error.message.split('\n')[0] ?? ''}`;
  let twice: string | undefined;
  visit(document, {
    Map: (_key, { items }) => {
      const keys = new Set<string>();
      for (const { key } of items) {
        const name = String(key);
        if (keys.has(name) && name !== '<<') twice = name;
        keys.add(name);
      }
      return twice === undefined ? undefined : visit.BREAK;
    },
  });
  return twice === undefined ? undefined : `is not valid YAML: it has the key ${JSON.stringify(twice)} twice`;
}

function addObjects(document: Document, objects: Manifest[], line: number): string | undefined {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    JSON.stringify(value); // throws where an alias is within what it stands for
    return addObject(value, objects, line);
  } catch {
    return 'uses aliases too often, or within what they stand for';
  }
}

/** Adds an object, or those of a List. Returns what is wrong. */
function addObject(value: unknown, objects: Manifest[], line: number): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (!isRecord(value)) return 'is not a manifest: it holds something that is not an object';
  const { apiVersion, kind, items } = value;
  if (!isText(kind)) return 'is not a manifest: an object in it has no kind';
  if (!isText(apiVersion)) return `has a ${kind} without apiVersion`;
  if (!kind.endsWith('List') || !Array.isArray(items)) return addManifest(value, { apiVersion, kind, line }, objects);
  // items of a typed list, as API servers print it, have no type of their own
  const type = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  for (const item of items as readonly unknown[]) {
    const problem = addObject(isRecord(item) ? { ...type, ...item } : item, objects, line);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly line: number;
}

function addManifest(fields: Fields, { apiVersion, kind, line }: Typed, objects: Manifest[]): string | undefined {
  const { metadata } = fields;
  if (!isRecord(metadata)) return `has a ${kind} without metadata`;
  const { name, namespace } = metadata;
  if (!isTextOrMissing(name) || !isTextOrMissing(namespace)) {
    return `has a ${kind} whose name or namespace is not a string`;
  }
  const slash = apiVersion.indexOf('/');
  objects.push({
    fields, group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind,
    name: name ?? '', ...(isText(namespace) && { namespace }), line,
  });
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextOrMissing(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === undefined || value === null;
}
