// Prints what a conversion has found.
import type { Finding } from '../translation/report.ts';

/** One line for each finding, those that are lost first. */
export function findingLines(findings: readonly Finding[]): readonly string[] {
  const lines = (['lost', 'note'] as const).flatMap((kind) => findings.filter((finding) => finding.kind === kind))
    .map(({ kind, object, field, message }) => `${kind}: ${object}: ${field === '' ? '' : `${field}: `}${message}`);
  return [...new Set(lines)].map(printable);
}

/** A text whose names come from whoever wrote the manifest: control characters would change what a terminal shows. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '?');
}
