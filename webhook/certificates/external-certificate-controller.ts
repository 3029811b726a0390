// Externally managed certificates: cert-manager's Secret, or files. They are served as they are and never written. The
// server rejects a half-written or mismatched pair and keeps serving the previous one.
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { messageOf } from '../../process/errors.ts';
import type { CertificateOptions } from './self-managed-certificate-controller.ts';
import { servedPairOf, textOf, type CertificatePair } from './serving-certificate.ts';
import { startCaBundleController } from '../registration/ca-bundle-controller.ts';

/** Key of the CA in cert-manager's Secrets. */
const CA_KEY = 'ca.crt';
/** Polling interval of files in ms. A file watch would miss the way in which kubelets swap mounted Secrets. */
const FILES_EVERY_MS = 2_000;

/**
 * Serves the kubernetes.io/tls Secret of the install namespace. Its `ca.crt`, if any, goes into the webhook
 * configurations, unless their cert-manager annotation says that cert-manager injects it.
 */
export function startSecretCertificate(options: CertificateOptions, secretName: string, signal: AbortSignal): void {
  const { client, installNamespace, logger, serve } = options;
  const trust = startCaBundleController({ client, logger, onChange: () => undefined }, signal);
  const secrets = new Informer<Secret, StringMap>({
    client,
    logger,
    type: SECRETS,
    selection: { namespace: installNamespace, fieldSelector: `metadata.name=${secretName}` },
    project: ({ data }) => data ?? {},
  });
  secrets.onChange((_key, _before, data) => {
    if (data === undefined) return; // keep serving the previous pair
    const authority = textOf(data, CA_KEY);
    // The CA of a pair that is refused has not signed what is served.
    if (serve(servedPairOf(data)) && authority !== '') trust.setBundle(authority);
  });
  secrets.onListed(() => {
    const secret = `${installNamespace}/${secretName}`;
    if (secrets.size === 0) logger.warn({ secret }, 'waiting for the Secret of the serving certificate');
  });
  void secrets.run(signal);
}

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Serves the pair in two files and reloads it when they change. The user manages the CA bundle of the webhook
 * configurations.
 */
export async function followCertificateFiles(
  files: CertificateFiles, serve: (pair: CertificatePair) => boolean, logger: Logger, signal: AbortSignal,
): Promise<void> {
  let seen = '';
  while (!signal.aborted) {
    try {
      const [certificate, key] = await Promise.all([readFile(files.certificate, 'utf8'), readFile(files.key, 'utf8')]);
      if (certificate + key !== seen) serve({ certificate, key });
      seen = certificate + key;
    } catch (error) {
      if (seen !== 'unreadable') {
        logger.warn({ error: messageOf(error) }, 'the files of the serving certificate cannot be read');
      }
      seen = 'unreadable';
    }
    await delay(FILES_EVERY_MS, signal);
  }
}
