// The webhook as one part of a process: a CA of its own, a serving certificate, the server.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { createAuthority } from '../process/certificate-authority.ts';
import { startAdmissionServer, type AdmissionServer } from './admission-server.ts';
import { issueServingCertificate, startServingCertificateController } from './serving-certificate-controller.ts';
import { webhookHosts } from './webhook-address.ts';

/** What the webhook needs. */
export interface WebhookOptions {
  readonly source: ClusterClient;
  /** Address to listen on; all addresses when in a cluster. */
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
}

const AUTHORITY_DAYS = 3650;

/** Starts the webhook; it is closed by whoever started it, after the components that depend on new pods. */
export async function startWebhook(options: WebhookOptions, signal: AbortSignal): Promise<AdmissionServer> {
  const logger = options.logger.child({ component: 'webhook' });
  const authority = await createAuthority('isthmus-webhook-ca', AUTHORITY_DAYS, new Date());
  const certificate = await issueServingCertificate(authority, webhookHosts({ metadata: {} }));
  const server = await startAdmissionServer({ host: options.host, port: options.port, certificate, logger });
  startServingCertificateController({ client: options.source, authority, serve: (pair) => server.useCertificate(pair), logger }, signal);
  return server;
}
