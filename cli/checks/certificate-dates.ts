// When certificates hold, from PEM. What is no certificate is passed over: who uses it says so.
import { X509Certificate } from 'node:crypto';
import type { Validity } from './doctor-facts.ts';

/** The times of all certificates of a bundle. */
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

/** The times of one certificate, as the TLS of Node gives them as well. */
export function validityOf({ validFrom, validTo }: { readonly validFrom: string; readonly validTo: string }): Validity {
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
}
