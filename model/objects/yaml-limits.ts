// YAML that others wrote: its scalars, and limits. The parser is recursive, so deep nesting would crash the process,
// and it takes quadratic time for keys and anchors. Measured with the parser's first stage, which takes linear time.
import {
  Lexer, Parser, type CreateNodeOptions, type ScalarTag, type SchemaOptions, type Tags, type ToStringOptions,
} from 'yaml';

/** How much YAML is read. */
export interface YamlLimits {
  readonly depth: number;
  /** Words, punctuation and line breaks, as the lexer counts them. */
  readonly lexemes: number;
}

/** Whether YAML is larger or more deeply nested than the limits allow. */
export function exceedsYamlLimits(content: string, { depth, lexemes }: YamlLimits): boolean {
  const parser = new Parser();
  let count = 0;
  for (const lexeme of new Lexer().lex(content)) {
    count += 1;
    Array.from(parser.next(lexeme)); // advances the parser, which keeps its own stack
    if (count > lexemes || parser.stack.length > depth) return true;
  }
  return false;
}

/** Integers in the forms that YAML 1.2 has no more: octal as `0400`, binary, and with underscores between digits. */
const INTEGER: ScalarTag = {
  tag: 'tag:yaml.org,2002:int', default: true, resolve: toInteger,
  test: /^[-+]?(?:0b_*[01][01_]*|0x_*[\da-f][\da-f_]*|0o?_*[0-7][0-7_]*|(?=\d+_)\d[\d_]*)$/i,
};
/** Floats with underscores between digits. */
const FLOAT: ScalarTag = {
  tag: 'tag:yaml.org,2002:float', default: true, resolve: (text) => Number(text.replaceAll('_', '')),
  test: /^(?=\S*_)[-+]?\d[\d_]*(?:\.[\d_]*)?(?:e[-+]?\d[\d_]*)?$/i,
};
const TRUE: ScalarTag =
  { tag: 'tag:yaml.org,2002:bool', default: true, test: /^(?:y|Y|yes|Yes|YES|on|On|ON)$/, resolve: () => true };
const FALSE: ScalarTag =
  { tag: 'tag:yaml.org,2002:bool', default: true, test: /^(?:n|N|no|No|NO|off|Off|OFF)$/, resolve: () => false };

/** As `strconv.ParseInt` of Go, with the base that the text names. */
function toInteger(text: string): number {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
  const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  return text.startsWith('-') ? -value : value;
}

const asInYaml11 = (tags: Tags): Tags => [INTEGER, FLOAT, TRUE, FALSE, ...tags];

/**
 * Options for reading what people write for kubectl, with merge keys: as other programs in Go (sigs.k8s.io/yaml) it
 * takes plain scalars for those of YAML 1.1, where `0400` is octal, `1_000` is 1000 and `yes` is true. By itself the
 * parser follows YAML 1.2, to which they are 400 and texts.
 */
export const AS_KUBECTL_READS: SchemaOptions = { merge: true, customTags: asInYaml11 };

/** Options for writing what kubectl, or anything else in Go, is to read: texts such as `yes` and `1_000` are quoted. */
export const FOR_KUBECTL: CreateNodeOptions & SchemaOptions & ToStringOptions =
  { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1', customTags: asInYaml11 };

/**
 * A text as a stream of YAML documents, line by line, where kubectl reads more than the parser does: a byte order mark
 * at the beginning of a later document, and JSON objects one after the other.
 */
export function asDocuments(text: string): string {
  const unmarked = text.replaceAll(/(?<=^---[^\n]*\n)\uFEFF/gm, '');
  return /^\uFEFF?\s*\{/.test(unmarked) ? unmarked.replaceAll(/\}\s*\n(?=\{)/g, '$&--- ') : unmarked;
}
