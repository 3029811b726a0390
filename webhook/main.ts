// The webhook as one part of a process: keys for manifests, a serving certificate from one of three sources, the server.
import type { Logger } from 'pino';
import { ApiError } from '../kubernetes/api-error.ts';
import { delay } from '../kubernetes/backoff.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import type { SigningKeyStore } from '../kubernetes/signing-key-store.ts';
import { messageOf } from '../process/errors.ts';
import { AdmissionMetrics } from './admission-metrics-server.ts';
import { startAdmissionServer, type AdmissionServer } from './admission-server.ts';
import { followCertificateFiles, startSecretCertificate, type CertificateFiles } from './given-certificate-controller.ts';
import { startOwnCertificates, type CertificateLives, type CertificateOptions } from './own-certificate-controller.ts';
import { problemOf, type CertificatePair } from './serving-certificate.ts';

/** Where the serving certificate comes from. */
export type CertificateSource =
  | { readonly kind: 'own'; readonly lives?: CertificateLives }
  | { readonly kind: 'secret'; readonly name: string }
  | { readonly kind: 'files'; readonly files: CertificateFiles };

/** What the webhook needs. */
export interface WebhookOptions {
  readonly source: ClusterClient;
  readonly installNamespace: string;
  /** Address to listen on; all addresses when in a cluster. */
  readonly host: string;
  readonly port: number;
  /** Followed by the caller. */
  readonly signingKeys: SigningKeyStore;
  readonly certificates: CertificateSource;
  /** How long a closing webhook goes on serving while it calls itself not ready, in ms. */
  readonly drainMs?: number;
  readonly logger: Logger;
}

/** How often the cluster is asked for the keys at the start, in ms. */
const RETRY_MS = 1_000;

/** Starts the webhook once it has keys and a certificate; it is closed by whoever started it, after the components that depend on new pods. */
export async function startWebhook(options: WebhookOptions, signal: AbortSignal): Promise<AdmissionServer> {
  const logger = options.logger.child({ component: 'webhook' });
  await untilKeysAreThere(options.signingKeys, logger, signal);
  const served = new ServedCertificate(logger);
  const first = served.first(signal);
  startCertificates(options, { client: options.source, installNamespace: options.installNamespace, serve: (pair) => served.serve(pair), logger }, signal);
  const { host, port, signingKeys, drainMs = 0 } = options;
  const server = await startAdmissionServer({
    host, port, certificate: await first, keys: () => signingKeys.keys, metrics: new AdmissionMetrics(), logger, drainMs,
  });
  served.handTo(server);
  return server;
}

/** Stands between the source of certificates and a server that cannot start without one. */
class ServedCertificate {
  readonly #logger: Logger;
  #server: AdmissionServer | undefined;
  #latest: CertificatePair | undefined;
  #arrived: (pair: CertificatePair) => void = () => undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The first pair that can be used. */
  first(signal: AbortSignal): Promise<CertificatePair> {
    return new Promise((resolve, reject) => {
      this.#arrived = resolve;
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  serve(pair: CertificatePair): boolean {
    if (this.#server !== undefined) return this.#server.useCertificate(pair);
    const problem = problemOf(pair);
    if (problem !== undefined) {
      this.#logger.warn({ problem }, 'waiting for a serving certificate that can be used');
      return false;
    }
    this.#latest = pair;
    this.#arrived(pair);
    return true;
  }

  handTo(server: AdmissionServer): void {
    this.#server = server;
    if (this.#latest !== undefined) server.useCertificate(this.#latest);
  }
}

function startCertificates({ certificates }: WebhookOptions, options: CertificateOptions, signal: AbortSignal): void {
  switch (certificates.kind) {
    case 'own':
      return startOwnCertificates({ ...options, ...(certificates.lives && { lives: certificates.lives }) }, signal);
    case 'secret':
      return startSecretCertificate(options, certificates.name, signal);
    case 'files':
      void followCertificateFiles(certificates.files, options.serve, options.logger, signal);
  }
}

/** Makes the keys, or finds those of another replica. Waits while the cluster cannot be reached or the install namespace is missing. */
async function untilKeysAreThere(signingKeys: SigningKeyStore, logger: Logger, signal: AbortSignal): Promise<void> {
  while (signingKeys.keys === undefined) {
    await signingKeys.ensure(signal).catch((error: unknown) => {
      if (signal.aborted || (error instanceof ApiError && (error.status === 401 || error.status === 403))) throw error;
      logger.warn({ error: messageOf(error) }, 'waiting for the keys that sign source manifests');
    });
    if (signingKeys.keys === undefined) await delay(RETRY_MS, signal);
  }
}
