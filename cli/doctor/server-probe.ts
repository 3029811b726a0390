// Probes an API server without credentials: its clock, by the Date header, and its certificate.
import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { within } from '../../kubernetes/flow/abort.ts';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import { reasonOf } from '../../process/errors.ts';
import { validityOf } from '../checks/certificate-dates.ts';
import type { ServerProbe } from '../checks/doctor-facts.ts';

/** Timeout in ms. */
const TIMEOUT_MS = 5_000;
/** HTTP dates are cut to the second (RFC 9110 §5.6.7), in ms. */
const DATE_STEP_MS = 1_000;

/**
 * Probes the server; returns the error text when it does not respond, undefined when it is reached through a proxy or
 * gateway.
 */
export async function probeServer(
  connection: ClusterConnection, signal: AbortSignal,
): Promise<ServerProbe | string | undefined> {
  const { proxy, gateway } = connection;
  return proxy !== undefined || gateway !== undefined
    ? undefined
    : within(TIMEOUT_MS, signal, (either) => probe(connection, either));
}

function probe(
  { server, certificateAuthority, serverName, insecure }: ClusterConnection, signal: AbortSignal,
): Promise<ServerProbe | string | undefined> {
  const options = {
    method: 'GET', agent: false as const, timeout: TIMEOUT_MS, signal, rejectUnauthorized: !insecure,
    ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
    ...(serverName !== undefined && { servername: serverName }),
  };
  const sentMs = Date.now();
  return new Promise((resolve) => {
    const sent = request(new URL('/version', server), options, (response) => {
      const validity = dateOf(response.socket as TLSSocket);
      response.resume();
      resolve(clockOf(response.headers.date, { sentMs, answeredMs: Date.now() }, validity));
    });
    sent.once('error', (error) => resolve(reasonOf(error)));
    sent.end();
  });
}

function dateOf(socket: TLSSocket): ServerProbe['certificate'] {
  const { valid_from: validFrom, valid_to: validTo } = socket.getPeerCertificate();
  return validFrom === undefined ? undefined : validityOf({ validFrom, validTo });
}

/** The server's clock offset, from the Date header of a request between two local timestamps. Undefined without one. */
export function clockOf(
  date: string | undefined, { sentMs, answeredMs }: { readonly sentMs: number; readonly answeredMs: number },
  certificate?: ServerProbe['certificate'],
): ServerProbe | undefined {
  const atMs = Date.parse(date ?? '');
  if (Number.isNaN(atMs)) return undefined;
  return {
    aheadMs: atMs + DATE_STEP_MS / 2 - (sentMs + answeredMs) / 2,
    uncertainMs: DATE_STEP_MS / 2 + (answeredMs - sentMs) / 2, certificate,
  };
}
