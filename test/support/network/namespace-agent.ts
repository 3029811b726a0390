// A process inside a network namespace, told by messages what to be: a whole control plane, or the relay between two. A
// control plane is handed out over a Unix socket, which no network namespace holds back, so that the test can look at
// it without a way between the clusters.
import { connect, createServer } from 'node:net';
import { environment } from '../../../process/config.ts';
import { messageOf } from '../../../process/errors.ts';
import { ensureBinaries } from '../../../sandbox/build/build-binaries.ts';
import { clusterPorts, planClusters, portsPerCluster } from '../../../sandbox/plan/cluster-plan.ts';
import { ControlPlane } from '../../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { SpoilingRelay } from './spoiling-relay.ts';

/** What to be or to do. */
export type AgentOrder =
  | {
    readonly kind: 'cluster'; readonly directory: string; readonly role: 'source' | 'target';
    readonly socketPath: string
  }
  | {
    readonly kind: 'relay'; readonly port: number; readonly toHost: string; readonly toPort: number;
    readonly plainTexts: readonly string[]
  }
  | { readonly kind: 'spoil'; readonly how: 'flip' | 'repeat' }
  | { readonly kind: 'look' }
  /** Whether a TCP connection can be made from here. */
  | { readonly kind: 'try'; readonly host: string; readonly port: number }
  /** Sends bytes, base64, as a stranger would; tells what comes back. */
  | { readonly kind: 'replay'; readonly host: string; readonly port: number; readonly bytes: string }
  | { readonly kind: 'serve'; readonly port: number }
  | { readonly kind: 'stop' };

/** What an agent answers: facts by name. */
export type AgentAnswer = Readonly<Record<string, string | number | boolean>>;

const TRY_MS = 1_500;
const never = new AbortController().signal;
let relay: SpoilingRelay | undefined;
let cluster: ControlPlane | undefined;

async function startCluster(
  { directory, role, socketPath }: Extract<AgentOrder, { readonly kind: 'cluster' }>,
): Promise<AgentAnswer> {
  const commands = await ensureBinaries(environment(), () => undefined, never);
  const isTarget = role === 'target';
  const ports = await freePorts(portsPerCluster * 2);
  const shape =
    { directory, targets: isTarget ? 1 : 0, nodes: 2, sourceNodes: 0, gpus: 0, audit: false, clientLimits: {} };
  const plan = planClusters(shape, [clusterPorts(ports), clusterPorts(ports.slice(portsPerCluster))]).at(-1);
  if (plan === undefined) throw new Error('no plan');
  cluster = new ControlPlane(
    plan, commands, { onStart: () => undefined, onFailure: (error) => process.stderr.write(`${error.message}\n`) },
  );
  await cluster.start(never);
  const bridge = createServer((socket) => {
    const far = connect({ host: '127.0.0.1', port: plan.ports.apiServer });
    for (const [from, to] of [[socket, far], [far, socket]] as const) {
      from.on('error', () => undefined).on('close', () => to.destroy()).pipe(to);
    }
  });
  await new Promise<void>((resolve) => bridge.listen(socketPath, resolve));
  return { kubeconfig: cluster.kubeconfigPath, directory: cluster.directory, server: cluster.server };
}

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TRY_MS });
    const end = (isReached: boolean) => {
      socket.destroy();
      resolve(isReached);
    };
    socket.once('connect', () => end(true)).once('timeout', () => end(false)).once('error', () => end(false));
  });
}

/** The bytes that come back until the other side closes. */
function replay(host: string, port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect({ host, port }, () => void socket.write(bytes));
    socket.setTimeout(TRY_MS * 10, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => parts.push(chunk)).on('error', () => undefined).once(
      'close', () => resolve(Buffer.concat(parts)),
    );
  });
}

/** What is done for each order. */
const DEEDS: {
  readonly [K in AgentOrder['kind']]: (order: Extract<AgentOrder, { readonly kind: K }>) => Promise<AgentAnswer>
} = {
  cluster: startCluster,
  relay: async ({ plainTexts, port, toPort, toHost }) => {
    relay = new SpoilingRelay(plainTexts);
    await relay.listen(port, toPort, { host: '0.0.0.0', toHost });
    return {};
  },
  spoil: async ({ how }) => {
    relay?.spoil(how);
    return {};
  },
  look: async () => {
    if (relay === undefined) return {};
    const { bytes, markersSeen, flips, repeats, firstDialled } = relay;
    return { bytes, markersSeen, flips, repeats, recorded: firstDialled.toString('base64') };
  },
  try: async ({ host, port }) => ({ isReached: await reaches(host, port) }),
  replay: async ({ host, port, bytes }) =>
    ({ answer: (await replay(host, port, Buffer.from(bytes, 'base64'))).toString('base64') }),
  serve: async ({ port }) => {
    await new Promise<void>((resolve) => void createServer((socket) => socket.end()).listen(port, '0.0.0.0', resolve));
    return {};
  },
  stop: async () => {
    relay?.close();
    await cluster?.stop();
    return {};
  },
};

function obey(order: AgentOrder): Promise<AgentAnswer> {
  return (DEEDS[order.kind] as (order: AgentOrder) => Promise<AgentAnswer>)(order);
}

process.on('message', ({ id, order }: { readonly id: number; readonly order: AgentOrder }) => {
  void obey(order).then(
    (answer) => process.send?.({ id, answer }), (error: unknown) => process.send?.({ id, error: messageOf(error) }),
  );
});
process.on('disconnect', () => void obey({ kind: 'stop' }).finally(() => process.exit(0)));
