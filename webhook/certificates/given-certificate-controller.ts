// Certificates that others make: cert-manager in a Secret, or the user in files. They are served as they come, never written.
// A pair that is half written or does not fit is refused by the server, which goes on with the one before.
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { messageOf } from '../../process/errors.ts';
import type { CertificateOptions } from './own-certificate-controller.ts';
import { servedPairOf, textOf, type CertificatePair } from './serving-certificate.ts';
import { startTrustController } from '../registration/trust-controller.ts';

/** Key of cert-manager's Secrets that holds the CA. */
const CA_KEY = 'ca.crt';
/** How often files are looked at, in ms. Watching them would miss the way in which kubelets exchange mounted Secrets. */
const FILES_EVERY_MS = 2_000;

/**
 * Serves what a Secret of type kubernetes.io/tls of the install namespace holds. Its `ca.crt`, if there is one, goes into the
 * webhook configurations, unless cert-manager's annotation there says that cert-manager does that.
 */
export function startSecretCertificate(options: CertificateOptions, secretName: string, signal: AbortSignal): void {
  const { client, installNamespace, logger, serve } = options;
  const trust = startTrustController({ client, logger, onChange: () => undefined }, signal);
  const secrets = new Informer<Secret, StringMap>({
    client,
    logger,
    type: SECRETS,
    selection: { namespace: installNamespace, fieldSelector: `metadata.name=${secretName}` },
    project: ({ data }) => data ?? {},
  });
  secrets.onChange((_key, _before, data) => {
    if (data === undefined) return; // what was served goes on being served
    const authority = textOf(data, CA_KEY);
    if (authority !== '') trust.setBundle(authority);
    serve(servedPairOf(data));
  });
  void secrets.run(signal);
}

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Serves what two files hold, and what they hold later. The CA bundle of the webhook configurations is the user's. */
export async function followCertificateFiles(files: CertificateFiles, serve: (pair: CertificatePair) => boolean, logger: Logger, signal: AbortSignal): Promise<void> {
  let seen = '';
  while (!signal.aborted) {
    try {
      const [certificate, key] = await Promise.all([readFile(files.certificate, 'utf8'), readFile(files.key, 'utf8')]);
      if (certificate + key !== seen) serve({ certificate, key });
      seen = certificate + key;
    } catch (error) {
      if (seen !== 'unreadable') logger.warn({ error: messageOf(error) }, 'the files of the serving certificate cannot be read');
      seen = 'unreadable';
    }
    await delay(FILES_EVERY_MS, signal);
  }
}
