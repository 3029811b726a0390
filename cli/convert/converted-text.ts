// Prints what a conversion has found.
import type { Finding } from '../translation/report.ts';

/** One line for each finding, those that are lost first. */
export function findingLines(findings: readonly Finding[]): readonly string[] {
  const lines = (['lost', 'note'] as const).flatMap((kind) => findings.filter((finding) => finding.kind === kind))
    .map(({ kind, object, field, message }) => `${kind}: ${object}: ${field === '' ? '' : `${field}: `}${message}`);
  return [...new Set(lines)].map(printable);
}

/** A text with names from an untrusted manifest, without control characters, which would change the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '?');
}
