// The certificate of a page in a cluster: read from the folder that its Secret is mounted to, again while it serves.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { delay } from '../kubernetes/flow/backoff.ts';
import { AppError, reasonOf } from '../process/errors.ts';
import type { CertificatePair } from '../webhook/certificates/serving-certificate.ts';
import type { PageServer } from './server/page-server.ts';

/** Kubelets update mounted Secrets within a minute or two, certificates are renewed days before their end. In ms. */
const READ_EVERY_MS = 60_000;
const NOT_ITS_KEY = 'the key is that of another certificate';

/** Reads the pair. Throws AppError `StartFailed`. */
export async function readCertificate(folder: string): Promise<CertificatePair> {
  try {
    const [certificate = '', key = ''] =
      await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(folder, name), 'utf8')));
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) throw new Error(NOT_ITS_KEY);
    return { certificate, key };
  } catch (error) {
    throw new AppError(
      'StartFailed', `${folder} has no certificate that can be served: ${reasonOf(error)}. It needs tls.crt and ` +
        'tls.key in PEM, which belong to each other.', { cause: error },
    );
  }
}

/** What is watched, and its listener. */
export interface FollowedCertificate {
  readonly folder: string;
  /** The pair that is served. */
  readonly certificate: CertificatePair;
  readonly server: Pick<PageServer, 'renew'>;
  readonly logger: Logger;
  /** In ms; a minute when missing. */
  readonly everyMs?: number;
}

/** Reads the pair again until the signal aborts; a new one is served. Never rejects. */
export async function followCertificate(
  { folder, certificate, server, logger, everyMs = READ_EVERY_MS }: FollowedCertificate, signal: AbortSignal,
): Promise<void> {
  let served = certificate;
  while (!signal.aborted) {
    await delay(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const found = await readCertificate(folder);
      if (found.certificate === served.certificate && found.key === served.key) continue;
      server.renew(found);
      served = found;
      logger.info({ folder }, 'certificate renewed');
    } catch (error) {
      logger.warn({ folder, err: error }, 'certificate cannot be renewed; the previous one is served');
    }
  }
}
