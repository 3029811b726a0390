// Validity of PEM certificates. Invalid certificates are skipped: their users report them.
import { X509Certificate } from 'node:crypto';
import type { Validity } from './doctor-facts.ts';

/** Validity of all certificates of a bundle. */
export function certificateDates(pem: string): readonly Validity[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [validityOf(new X509Certificate(block))];
    } catch {
      return [];
    }
  });
}

/** Validity of one certificate, in the form of Node's TLS. */
export function validityOf({ validFrom, validTo }: { readonly validFrom: string; readonly validTo: string }): Validity {
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
}
