// Measures the path to another member's API server through the local CONNECT endpoint, without credentials.
import { request } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { dialThroughGateway } from '../../kubernetes/connect/gateway-dialer.ts';
import { gatewayName } from '../../model/network/gateway-names.ts';

/** Which member, through which endpoint. */
export interface GatewayPath {
  readonly endpoint: URL;
  readonly clusterId: string;
}

const TIMEOUT_MS = 10_000;

/** One answer. */
export interface PathAnswer {
  readonly status: number;
  readonly bytes: number;
  readonly ms: number;
}

/** A connection to the API server for sequential calls. Throws what dialling throws. */
export async function openPath(
  { endpoint, clusterId }: GatewayPath,
): Promise<{ readonly get: (path: string) => Promise<PathAnswer>; readonly close: () => void }> {
  const raw = await dialThroughGateway({ clusterId, endpoints: [endpoint] }, TIMEOUT_MS);
  // The certificate is not verified: nothing confidential is sent, and only times are measured.
  const socket = connectTls(
    { socket: raw, rejectUnauthorized: false, servername: gatewayName(clusterId), ALPNProtocols: ['http/1.1'] },
  );
  socket.on('error', () => undefined);
  const get = (path: string) =>
    new Promise<PathAnswer>((resolve, reject) => {
      const since = performance.now();
      const asked = request({
        createConnection: () => socket, path, method: 'GET',
        headers: { connection: 'keep-alive', host: gatewayName(clusterId) }, timeout: TIMEOUT_MS,
      }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => (bytes += chunk.length));
        response.once('end', () => resolve({ status: response.statusCode ?? 0, bytes, ms: performance.now() - since }));
        response.once('error', reject);
      });
      asked.once('error', reject).once('timeout', () => asked.destroy(new Error('no answer in time'))).end();
    });
  return { get, close: () => socket.destroy() };
}

/** Latency and throughput of a path, as text. */
export async function measurePath(path: GatewayPath, calls: number): Promise<string> {
  const { get, close } = await openPath(path);
  const times: number[] = [];
  for (let call = 0; call < calls; call += 1) times.push((await get('/version')).ms);
  close();
  const sorted = times.toSorted((one, other) => one - other);
  const at = (fraction: number) =>
    `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0).toFixed(2)} ms`;
  const bulk = await openPath(path);
  const { bytes, ms } = await bulk.get('/openapi/v2');
  bulk.close();
  return [
    `calls            ${calls}`, `latency p50      ${at(0.5)}`, `latency p99      ${at(0.99)}`,
    `throughput       ${((bytes * 8) / 1_000 / ms).toFixed(1)} Mbit/s (${bytes} bytes)`,
  ].join('\n');
}
