// Limits for YAML that somebody else wrote: the parser recurses, so that deep nesting would crash the process, and it
// takes quadratic time for keys and anchors. Measured with the parser's first stage, which takes linear time.
import { Lexer, Parser } from 'yaml';

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
