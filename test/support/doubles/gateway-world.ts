// Gateways on loopback sockets with certificates of their own authority, and small services behind them.
import {
  connect as connectTcp, createServer as createTcpServer, type AddressInfo, type Server, type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { startMtlsDriver, type MtlsDriver, type MtlsDriverOptions } from '../../../gateway/tunnel/mtls-cable.ts';
import type { StreamRecord } from '../../../gateway/protocol/cable-driver.ts';
import type { Failure } from '../../../gateway/protocol/failure-cause.ts';
import type { TlsIdentity } from '../../../gateway/tunnel/tls-identity.ts';
import { gatewayName } from '../../../model/network/gateway-names.ts';
import { createAuthority, type CertificateAuthority } from '../../../process/crypto/certificate-authority.ts';

/** Times that make a test quick and still leave room on a loaded machine. */
export const QUICK = {
  redialFirstMs: 20, redialMaxMs: 200, pingEveryMs: 200, deadAfterMs: 4_000, cableWaitMs: 10_000, dialMs: 8_000,
  serviceMs: 8_000,
} as const;

/** The authority of a clusterset. */
export function makeAuthority(): Promise<CertificateAuthority> {
  return createAuthority('clusterset of a test', 30, new Date());
}

/** A member's identity; `now` and `days` make it expired or not yet valid. */
export async function identityOf(
  authority: CertificateAuthority, clusterId: string, { now = new Date(), days = 1 } = {},
): Promise<TlsIdentity> {
  const { certificate, key } =
    await authority.issue({ commonName: clusterId, dnsNames: [gatewayName(clusterId)], days }, now);
  return { certificate, key, authority: authority.keyPair.certificate };
}

/** A TCP service on loopback. */
export interface TestService {
  readonly address: { readonly host: string; readonly port: number };
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** A service that treats each connection so; an echo when left out. */
export async function startService(
  onConnection: (socket: Socket) => void = (socket) => void socket.pipe(socket),
): Promise<TestService> {
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, sockets, close };
}

/** A driver with what it told. */
export interface TestGateway {
  readonly driver: MtlsDriver;
  readonly audit: StreamRecord[];
  readonly refused: Failure[];
}

/** A gateway; it listens on loopback unless told otherwise. */
export async function startGateway(
  options: Pick<MtlsDriverOptions, 'clusterId' | 'identity'> & Partial<MtlsDriverOptions>,
): Promise<TestGateway> {
  const audit: StreamRecord[] = [];
  const refused: Failure[] = [];
  const driver = await startMtlsDriver({
    services: new Map(), listen: { host: '127.0.0.1', port: 0 }, isAnnounced: true,
    audit: (record) => void audit.push(record), refused: (failure) => void refused.push(failure),
    ...options, limits: { ...QUICK, ...options.limits },
  });
  return { driver, audit, refused };
}

/** Waits until the condition holds; looks every few milliseconds, gives up after a minute. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`in vain for a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Waits until the driver has a cable to the peer. */
export function untilConnected({ driver }: TestGateway, clusterId: string): Promise<void> {
  return until(
    () => driver.connections().some((one) => one.clusterId === clusterId && one.status === 'connected'),
    `a gateway connection to ${clusterId}`,
  );
}

/** Writes a text, ends, and reads all that comes back. */
export async function exchange(stream: Duplex, text: string): Promise<string> {
  stream.end(text);
  let answer = '';
  for await (const chunk of stream) answer += (chunk as Buffer).toString('utf8');
  return answer;
}

/** A plain TCP connection, open. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: '127.0.0.1', port }, () => resolve(socket));
    socket.once('error', reject);
  });
}
