// The process that P3 measures: our webhook and two others on the same stack, each on its own port. One admits
// everything. The other is the floor: it parses the review and responds with a patch of the same size, without a
// decision (docs/adr/0010). One process, so that they share the same CPU. Started by webhook.ts; ends with its parent.
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { pino } from 'pino';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import { AdmissionMetrics } from '../../webhook/server/admission-metrics.ts';
import { startAdmissionServer } from '../../webhook/server/admission-server.ts';

/** Ports of the servers. */
export interface WebhookPorts {
  readonly ours: number;
  readonly noop: number;
  readonly floor: number;
}

const PATH = '/mutate--v1-pod';
const RECORD = '/metadata/annotations/isthmus.dev~1admission-record';

type Review = {
  readonly apiVersion: string; readonly request: { readonly uid: string; readonly object?: { readonly spec?: object } }
};

/** Lets everything pass. */
function addNoop(app: FastifyInstance): void {
  app.post(PATH, (request) => {
    const { apiVersion, request: asked } = request.body as Review;
    return { apiVersion, kind: 'AdmissionReview', response: { uid: asked.uid, allowed: true } };
  });
}

/**
 * Reads the review, and answers with a patch that replaces the scheduling fields and keeps what they were, each step by
 * one call of the platform.
 */
function addFloor(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^/, { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.post(PATH, (request, reply) => {
    const { apiVersion, request: { uid, object } } = JSON.parse(request.body as string) as Review;
    const { schedulerName, tolerations } = (object?.spec ?? {}) as Readonly<Record<string, unknown>>;
    const patch = [
      { op: 'add', path: RECORD, value: JSON.stringify({ spec: { schedulerName, tolerations } }) },
      { op: 'replace', path: '/spec/schedulerName', value: 'admiralty-proxy' },
      { op: 'replace', path: '/spec/tolerations', value: tolerations },
    ];
    const response =
      { uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
    return reply.type('application/json').send(JSON.stringify({ apiVersion, kind: 'AdmissionReview', response }));
  });
}

async function startServers(): Promise<WebhookPorts> {
  const authority = await createAuthority('benchmark', 1, new Date());
  const certificate =
    await authority.issue({ commonName: 'benchmark', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  const ours = await startAdmissionServer({
    host: '127.0.0.1', port: 0, certificate, metrics: new AdmissionMetrics(), logger: pino({ level: 'silent' }),
  });
  const options = {
    https: { cert: certificate.certificate, key: certificate.key }, bodyLimit: 8 * 1024 * 1024, logger: false,
  } as FastifyServerOptions;
  const others = await Promise.all([addNoop, addFloor].map(async (add) => {
    const app = fastify(options);
    add(app);
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app;
  }));
  // The parent has done with us, or has gone. The process then ends by itself, so that a profile of it is written.
  process.on('disconnect', () => {
    for (const app of others) app.server.closeAllConnections();
    void Promise.all([ours, ...others].map((server) => server.close()));
  });
  const [noop = 0, floor = 0] = others.map((app) => (app.server.address() as AddressInfo).port);
  return { ours: ours.port, noop, floor };
}

process.send?.(await startServers());
