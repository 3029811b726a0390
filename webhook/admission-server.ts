// Shell of admission: HTTPS in, the pure answer out.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Server as HttpsServer } from 'node:https';
import type { Logger } from 'pino';
import type { KeyPair } from '../process/certificate-authority.ts';
import { answerReview, parseReview } from './admission-review.ts';

/** Path that the webhook configuration names (Admiralty's). */
export const ADMISSION_PATH = '/mutate--v1-pod';

/** Largest review in bytes: the API server sends an object and its old version, each up to about 3 MiB. */
const BODY_LIMIT = 8 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 5_000;

/** Where to listen and with which certificate. */
export interface AdmissionServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: KeyPair;
  readonly logger: Logger;
}

/** A listening server; `port` is the real one when 0 was asked for. */
export interface AdmissionServer {
  readonly port: number;
  /** New connections get this certificate; open ones keep theirs. */
  useCertificate(pair: KeyPair): void;
  /** Answers what has begun, then ends. */
  close(): Promise<void>;
}

/** Starts the server. It answers every review with the request's uid, also when the answer is an error. */
export async function startAdmissionServer(options: AdmissionServerOptions): Promise<AdmissionServer> {
  const server = fastify({
    https: { ...secureContext(options.certificate), minVersion: 'TLSv1.2' },
    return503OnClosing: true,
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    logger: false,
  }) as unknown as FastifyInstance;
  server.post(ADMISSION_PATH, (request, reply) => review(request, reply, options.logger));
  server.get('/readyz', () => 'ok');
  await server.listen({ host: options.host, port: options.port });
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  options.logger.info({ port }, 'admission webhook listens');
  return {
    port,
    useCertificate: (pair) => (server.server as unknown as HttpsServer).setSecureContext({ ...secureContext(pair), minVersion: 'TLSv1.2' }),
    close: () => server.close(),
  };
}

function secureContext(pair: KeyPair): { readonly cert: string; readonly key: string } {
  return { cert: pair.certificate, key: pair.key };
}

function review(request: FastifyRequest, reply: FastifyReply, logger: Logger): unknown {
  const parsed = parseReview(request.body);
  if (parsed.kind === 'invalid') return reply.code(400).send({ message: parsed.message });
  try {
    const answer = answerReview(parsed.apiVersion, parsed.request);
    logger.debug({ uid: parsed.request.uid, allowed: answer.response.allowed, patched: answer.response.patch !== undefined }, 'pod reviewed');
    return answer;
  } catch (error) {
    logger.error({ uid: parsed.request.uid, error: error instanceof Error ? error.message : 'unknown' }, 'review failed');
    const status = { code: 500, reason: 'InternalError', message: 'isthmus: the pod could not be reviewed; see the log of the webhook' };
    return { apiVersion: parsed.apiVersion, kind: 'AdmissionReview', response: { uid: parsed.request.uid, allowed: false, status } };
  }
}
