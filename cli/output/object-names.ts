// Validates names from the command line before anything is sent.
import { isDnsLabel, isDnsSubdomain } from '../../model/naming/label-syntax.ts';
import { AppError } from '../../process/errors.ts';

/** Requires a DNS-1123 label, as for namespaces. Throws AppError `BadInput` that names the flag. */
export function requireLabel(flag: string, value: string): void {
  if (isDnsLabel(value)) return;
  throw new AppError(
    'BadInput',
    `${flag} must be a DNS-1123 label (lower-case letters, digits and dashes, at most 63 characters, starting and ` +
      `ending with a letter or digit), not ${JSON.stringify(value)}.`,
  );
}

/** Requires a DNS-1123 subdomain, as of most objects. Throws AppError `BadInput` that names the flag. */
export function requireObjectName(flag: string, value: string): void {
  if (isDnsSubdomain(value)) return;
  throw new AppError(
    'BadInput',
    `${flag} must be a DNS-1123 subdomain (lower-case letters, digits, dashes and dots, at most 253 characters, ` +
      `starting and ending with a letter or digit), not ${JSON.stringify(value)}.`,
  );
}
