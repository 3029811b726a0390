// A member's requests to its broker, over TLS 1.3 with the clusterset's CA as the only root.
import { request as requestHttps, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { within } from '../../kubernetes/flow/abort.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { printable } from '../protocol/failure-cause.ts';
import type { TlsIdentity } from '../tunnel/tls-identity.ts';

/** Which broker and which client certificate; without one only joining is possible. */
export interface BrokerAccess {
  readonly brokerUrl: string;
  /** PEM. */
  readonly authority: string;
  readonly identity?: TlsIdentity | undefined;
}

/** A request with a JSON body. */
export interface BrokerRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** The broker's refusal, with the HTTP status of its answer. */
export class BrokerRefusal extends AppError {
  readonly status: number;

  constructor(status: number, message: string) {
    super('BrokerRefused', `The broker refuses (${status}): ${message}.`);
    this.status = status;
  }
}

const TIMEOUT_MS = 10_000;

/**
 * Sends it and returns the response body.
 * @throws BrokerRefusal with the broker's message, AppError `BrokerUnreachable` without a response.
 */
export async function askBroker<T>(access: BrokerAccess, request: BrokerRequest, signal: AbortSignal): Promise<T> {
  return within(TIMEOUT_MS, signal, async (either) => (await json(await openBroker(access, request, either))) as T);
}

/** The same, for a streamed response. */
export function openBroker(
  { brokerUrl, authority, identity }: BrokerAccess, { method, path, body }: BrokerRequest, signal: AbortSignal,
): Promise<IncomingMessage> {
  const tls: RequestOptions = {
    ca: authority, minVersion: 'TLSv1.3',
    ...(identity !== undefined && { cert: identity.certificate, key: identity.key }),
  };
  return new Promise((resolve, reject) => {
    const unreachable = (error: Error) => reject(new AppError(
      'BrokerUnreachable', `The broker ${brokerUrl} cannot be reached: ${messageOf(error)}.`, { cause: error },
    ));
    const request = requestHttps(new URL(path, brokerUrl), {
      ...tls, method, agent: false, signal, headers: body === undefined ? {} : { 'content-type': 'application/json' },
    });
    request.once('response', (response) => {
      const status = response.statusCode ?? 0;
      if (status < 300) return resolve(response);
      void refusalOf(response).then((message) => reject(new BrokerRefusal(status, message)));
    });
    request.on('error', unreachable); // an error after the response is also reported by its body
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function refusalOf(response: IncomingMessage): Promise<string> {
  const answer = await json(response).catch(() => ({}));
  const { message } = answer as { readonly message?: unknown };
  return typeof message === 'string'
    ? printable(message).slice(0, 500).replace(/\.$/, '')
    : 'without a reason';
}
