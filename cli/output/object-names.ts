// Validates names from the command line before anything is sent.
import { AppError } from '../../process/errors.ts';

const DNS_1123_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Requires a DNS-1123 label, as for namespaces. Throws AppError `BadInput` that names the flag. */
export function requireLabel(flag: string, value: string): void {
  if (DNS_1123_LABEL.test(value)) return;
  throw new AppError(
    'BadInput',
    `${flag} must be a DNS-1123 label (lower-case letters, digits and dashes, at most 63 characters, starting and ` +
      `ending with a letter or digit), not ${JSON.stringify(value)}.`,
  );
}
