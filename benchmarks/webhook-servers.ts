// The process that P3 measures: our webhook, and one on the same stack that lets everything pass, each on a port of its own.
// Both are in one process, so that they share whatever the machine gives it. Started by webhook.ts; ends with its parent.
import fastify from 'fastify';
import { pino } from 'pino';
import { toSigningKeys } from '../model/manifest-signature.ts';
import { createAuthority } from '../process/certificate-authority.ts';
import { AdmissionMetrics } from '../webhook/admission-metrics-server.ts';
import { startAdmissionServer } from '../webhook/admission-server.ts';

/** Ports of the two servers. */
export interface WebhookPorts {
  readonly ours: number;
  readonly noop: number;
}

async function startServers(): Promise<WebhookPorts> {
  const authority = await createAuthority('benchmark', 1, new Date());
  const certificate = await authority.issue({ commonName: 'benchmark', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  const keys = toSigningKeys({ key: Buffer.alloc(32, 1).toString('base64') });
  const ours = await startAdmissionServer({
    host: '127.0.0.1', port: 0, certificate, keys: () => keys, metrics: new AdmissionMetrics(), logger: pino({ level: 'silent' }),
  });
  const noop = fastify({ https: { cert: certificate.certificate, key: certificate.key }, bodyLimit: 8 * 1024 * 1024, logger: false });
  noop.post('/mutate--v1-pod', (request) => {
    const { apiVersion, request: asked } = request.body as { readonly apiVersion: string; readonly request: { readonly uid: string } };
    return { apiVersion, kind: 'AdmissionReview', response: { uid: asked.uid, allowed: true } };
  });
  await noop.listen({ host: '127.0.0.1', port: 0 });
  // The parent has done with us, or has gone. The process then ends by itself, so that a profile of it is written.
  process.on('disconnect', () => {
    noop.server.closeAllConnections();
    void Promise.all([ours.close(), noop.close()]);
  });
  const address = noop.server.address();
  return { ours: ours.port, noop: typeof address === 'object' && address !== null ? address.port : 0 };
}

process.send?.(await startServers());
