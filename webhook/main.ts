// The webhook component of a process: a serving certificate from one of three sources, and the server.
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { onAbort } from '../kubernetes/flow/abort.ts';
import { EventRecorder, type EventSink } from '../kubernetes/controller/event-recorder.ts';
import type { EventRecord } from '../model/proxy/event-record.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { serveAlso } from '../process/metrics.ts';
import { AdmissionMetrics } from './server/admission-metrics.ts';
import { startAdmissionServer, type AdmissionServer } from './server/admission-server.ts';
import { followElections } from './server/election-cache.ts';
import { followMissedPods } from './registration/missed-pods-controller.ts';
import {
  followCertificateFiles, startSecretCertificate, type CertificateFiles,
} from './certificates/external-certificate-controller.ts';
import { ReviewPaths } from './registration/review-path-controller.ts';
import type { PathTimes } from './registration/review-path.ts';
import { startRulesController } from './registration/rules-controller.ts';
import {
  startOwnCertificates, type CertificateLives, type CertificateOptions,
} from './certificates/self-managed-certificate-controller.ts';
import { problemOf, type CertificatePair } from './certificates/serving-certificate.ts';
import { WEBHOOK_CONFIGURATION_REFERENCE } from './registration/webhook-address.ts';

/** Source of the serving certificate. */
export type CertificateSource =
  | { readonly kind: 'own'; readonly lives?: CertificateLives }
  | { readonly kind: 'secret'; readonly name: string }
  | { readonly kind: 'files'; readonly files: CertificateFiles };

/** Dependencies and options of the webhook. */
export interface WebhookOptions {
  readonly source: ClusterClient;
  readonly installNamespace: string;
  /** Listen address; all addresses when in a cluster. */
  readonly host: string;
  readonly port: number;
  /** Whether proxy pods get a copy of their source manifest, for tools that read it. */
  readonly writesManifest?: boolean;
  readonly certificates: CertificateSource;
  /** CA file (PEM) for client certificates; without it clients need none. */
  readonly clientAuthorityFile?: string | undefined;
  /** How long a stopping webhook keeps serving while it reports not ready, in ms. */
  readonly drainMs?: number;
  /** For tests: lifetime and overlap of the secret webhook path. */
  readonly pathTimes?: PathTimes | undefined;
  readonly logger: Logger;
}

/** Starts the webhook once it has a certificate; the caller closes it, after the components that depend on new pods. */
export async function startWebhook(options: WebhookOptions, signal: AbortSignal): Promise<AdmissionServer> {
  const logger = options.logger.child({ component: 'webhook' });
  const clientAuthority = await readAuthority(options.clientAuthorityFile);
  const events = new EventRecorder({ client: options.source, controller: 'isthmus.dev/webhook', logger });
  void events.run(signal);
  const served = new ServedCertificate(logger, events);
  const first = served.first(signal);
  startCertificates(
    options,
    { client: options.source, installNamespace: options.installNamespace, serve: (pair) => served.serve(pair), logger },
    signal,
  );
  const { host, port, writesManifest = false, drainMs = 0 } = options;
  const paths = new ReviewPaths(
    { client: options.source, installNamespace: options.installNamespace, times: options.pathTimes, logger }, signal,
  );
  await paths.ready;
  const metrics = new AdmissionMetrics();
  serveAlso(metrics.registry);
  const server = await startAdmissionServer({
    host, port, certificate: await first, writesManifest, metrics, logger,
    drainMs, openSegments: () => paths.open(), elections: followElections({ client: options.source, logger }, signal),
    ...(clientAuthority !== undefined && { clientAuthority }),
  });
  served.handTo(server);
  startRulesController(
    {
      client: options.source, installNamespace: options.installNamespace, events, logger,
      onMissing: (areMissing) => metrics.rulesMissing(areMissing),
    },
    signal,
  );
  void followMissedPods({ client: options.source, events, logger }, signal);
  return server;
}

async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError(
      'StartFailed', `--webhook-client-ca-file ${file} cannot be read: ${messageOf(error)}`, { cause: error },
    );
  });
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new AppError('BadInput', `--webhook-client-ca-file ${file} contains no PEM certificate.`);
  }
  return text;
}

/** Reports a pair that cannot be served; the previous one stays in use. */
function certificateRefused(problem: string): EventRecord {
  const note =
    `The serving certificate of the webhook that came last is not used: ${problem}. The one before stays in use; ` +
      'correct its Secret or files.';
  return {
    regarding: WEBHOOK_CONFIGURATION_REFERENCE, type: 'Warning', reason: 'CertificateRefused', action: 'Serve', note,
  };
}

/** Bridges the certificate source and a server that cannot start without a certificate. */
class ServedCertificate {
  readonly #logger: Logger;
  readonly #events: EventSink;
  #server: AdmissionServer | undefined;
  #latest: CertificatePair | undefined;
  #arrived: (pair: CertificatePair) => void = () => undefined;

  constructor(logger: Logger, events: EventSink) {
    this.#logger = logger;
    this.#events = events;
  }

  /** The first valid pair. */
  first(signal: AbortSignal): Promise<CertificatePair> {
    const first = new Promise<CertificatePair>((resolve, reject) => {
      this.#arrived = resolve;
      onAbort(signal, () => reject(signal.reason as Error)); // perhaps it is stopped already
    });
    first.catch(() => undefined); // reported to the caller that awaits it
    return first;
  }

  serve(pair: CertificatePair): boolean {
    const problem = problemOf(pair);
    if (problem !== undefined) this.#events.record(certificateRefused(problem));
    if (this.#server !== undefined) return this.#server.useCertificate(pair);
    if (problem !== undefined) {
      this.#logger.warn({ problem }, 'waiting for a valid serving certificate');
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
