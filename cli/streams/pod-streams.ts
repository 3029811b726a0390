// `isthmus logs`, `exec` and `port-forward`: streams of the delegate straight from its target, for installations whose
// API server cannot reach the kubelet API of virtual nodes. Flags as in kubectl.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError } from 'commander';
import { toApiError } from '../../kubernetes/http/api-answer.ts';
import { CHANNELS, openPodChannels, type PodChannels } from '../../kubernetes/stream/pod-channels.ts';
import type { openExchange } from '../../kubernetes/stream/stream-exchange.ts';
import { AppError } from '../../process/errors.ts';
import { aborted, exitWith } from '../../process/lifecycle.ts';
import { openStream } from '../../virtual-node/streams/stream-permissions.ts';
import {
  namespaceIn, withCluster, withClusterFlags, withInstallNamespace, withNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { openDelegate, type DelegateAccess } from './delegate-access.ts';
import { exitCodeOf } from './exec-status.ts';
import { gatewayOption, wholeNumber } from '../clusters/run-flags.ts';
import { choosePod, parsePodChoice } from './workload-pods.ts';
import { hostPort } from '../../model/network/socket-address.ts';

interface PodFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly installNamespace: string;
  readonly container?: string;
  readonly gateway?: readonly URL[];
}

function podCommand(name: string, description: string): Command {
  const command = new Command(name)
    .description(`${description}; does not need the kubelet API: uses the source's kubeconfig for the target`)
    .argument('<pod>', 'NAME, pod/NAME, or one of deploy/NAME, sts/NAME, rs/NAME, ds/NAME, job/NAME, svc/NAME');
  return withNamespace(withInstallNamespace(withClusterFlags(command)), 'of the pod')
    .addOption(gatewayOption());
}

async function withDelegate(
  pod: string, flags: PodFlags, use: (delegate: DelegateAccess, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const choice = parsePodChoice(pod);
  await withCluster(flags, 'cli', async (source, signal) => {
    const { installNamespace, container, gateway: gateways } = flags;
    const namespace = namespaceIn(source, flags.namespace);
    const tell = (line: string) => console.error(line);
    const name = await choosePod(source.client, namespace, choice, { tell, signal });
    const delegate = await openDelegate(source, { namespace, installNamespace, name, container, gateways }, signal);
    try {
      await use(delegate, signal);
    } finally {
      await delegate.transport.close();
    }
  });
}

/** The target grants the permission for a stream when it is asked for. */
function streamOpener({ chaperon }: DelegateAccess): typeof openExchange {
  return (transport, asked, signal) => openStream({ transport, chaperon }, asked, signal);
}

// --- logs

interface LogFlags extends PodFlags {
  readonly follow?: true;
  readonly previous?: true;
  readonly timestamps?: true;
  readonly tail?: number;
  readonly since?: number;
  readonly limitBytes?: number;
}

/** Greatest number of lines or bytes that may be asked for. */
const MOST = 999_999_999_999_999;

/** The command `logs`. */
export function logsCommand(): Command {
  return podCommand('logs', 'Print the log of an elected pod')
    .option('-c, --container <name>', 'container; default: the first one')
    .option('-f, --follow', 'follow the log')
    .option('-p, --previous', 'log of the previous container instance')
    .option('--timestamps', 'prefix each line with its timestamp')
    .option('--tail <lines>', 'number of lines to show from the end', wholeNumber('--tail', 0, MOST))
    .option('--since <duration>', 'only newer lines than a duration: 10s, 5m, 2h', seconds)
    .option('--limit-bytes <bytes>', 'maximum number of bytes to print', wholeNumber('--limit-bytes', 0, MOST))
    .action((pod: string, flags: LogFlags) => withDelegate(
      pod, flags, (delegate, signal) => printLog(delegate, flags, signal),
    ));
}

async function printLog(delegate: DelegateAccess, flags: LogFlags, signal: AbortSignal): Promise<void> {
  const { transport, path, container } = delegate;
  const wanted: Readonly<Record<string, string | number | boolean | undefined>> = {
    container, follow: flags.follow, previous: flags.previous,
    timestamps: flags.timestamps, tailLines: flags.tail, sinceSeconds: flags.since, limitBytes: flags.limitBytes,
  };
  const query = Object.entries(wanted)
    .flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]));
  const { response } = await streamOpener(delegate)(transport, { method: 'GET', path: `${path}/log`, query }, signal);
  const status = response.statusCode ?? 0;
  if (status >= 300) throw toApiError({ status, retryAfter: undefined, body: Buffer.from(await text(response)) });
  await pipeline(response, process.stdout, { end: false });
}

// --- exec

interface ExecFlags extends PodFlags {
  readonly stdin?: true;
  readonly tty?: true;
}

/** The command `exec`. */
export function execCommand(): Command {
  return podCommand('exec', 'Run a command in an elected pod; exits with its exit code')
    .argument('<command...>', 'after --')
    .usage('[options] <pod> -- <command...>')
    .option('-c, --container <name>', 'container; default: the first one')
    .option('-i, --stdin', 'pass standard input to the container')
    .option('-t, --tty', 'allocate a terminal')
    .action((pod: string, command: readonly string[], flags: ExecFlags) => withDelegate(
      pod, flags, (delegate, signal) => runCommand(delegate, { flags, command }, signal),
    ));
}

async function runCommand(
  delegate: DelegateAccess, { flags, command }: { readonly flags: ExecFlags; readonly command: readonly string[] },
  asked: AbortSignal,
): Promise<void> {
  const { transport, path, container } = delegate;
  const unread = new AbortController();
  process.stderr.once('error', () => unread.abort('SIGPIPE'));
  const signal = AbortSignal.any([asked, unread.signal]);
  const streams = { stdin: flags.stdin === true, stdout: true, stderr: flags.tty !== true, tty: flags.tty === true };
  const query = [
    ['container', container] as const, ...Object.entries(streams).map(([name, on]) => [name, String(on)] as const),
    ...command.map((word) => ['command', word] as const),
  ];
  const channels = await openPodChannels(
    transport, { path: `${path}/exec`, query, protocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'] }, signal,
    streamOpener(delegate),
  );
  let status = '';
  channels.onMessage = (channel, data) => {
    const output = channel === CHANNELS.stderr ? process.stderr : process.stdout;
    if (channel === CHANNELS.error) status += data.toString('utf8');
    else if (!output.write(data)) pauseUntilWritten(channels, output);
  };
  if (flags.tty === true) followTerminal(channels);
  if (flags.stdin === true) void passInput(channels);
  await channels.closed;
  if (flags.stdin === true) leaveInput();
  signal.throwIfAborted();
  const end = exitCodeOf(status);
  if (end.message !== undefined) console.error(`isthmus: ${end.message}`);
  exitWith(end.code);
}

function pauseUntilWritten(channels: PodChannels, output: NodeJS.WriteStream): void {
  channels.pause();
  output.once('drain', () => channels.resume());
}

function followTerminal(channels: PodChannels): void {
  const tell = () => channels.resize(process.stdout.columns ?? 80, process.stdout.rows ?? 24);
  tell();
  process.stdout.on('resize', tell);
  if (process.stdin.isTTY) process.stdin.setRawMode(true);
}

async function passInput(channels: PodChannels): Promise<void> {
  for await (const chunk of process.stdin) {
    if (!channels.send(CHANNELS.stdin, chunk as Buffer)) await channels.drained();
  }
  channels.closeChannel(CHANNELS.stdin);
}

/** A terminal that is still being read would keep this process alive. */
function leaveInput(): void {
  if (process.stdin.isTTY) process.stdin.setRawMode(false);
  process.stdin.destroy();
}

// --- port-forward

interface ForwardFlags extends PodFlags {
  readonly address: string;
}

/** The command `port-forward`. */
export function portForwardCommand(): Command {
  return podCommand('port-forward', 'Forward local ports to an elected pod')
    .argument('<ports...>', '[LOCAL:]REMOTE; LOCAL 0 picks a free port')
    .option('--address <address>', 'local address to listen on', '127.0.0.1')
    .action((pod: string, ports: readonly string[], flags: ForwardFlags) => withDelegate(pod,
      flags, (delegate, signal) => forwardAll(delegate, ports.map(parsePorts), { address: flags.address, signal })));
}

/** A port that cannot be listened on ends all, as it ends the command. */
async function forwardAll(
  delegate: DelegateAccess, ports: readonly ForwardedPorts[],
  { address, signal }: { readonly address: string; readonly signal: AbortSignal },
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  await Promise.all(ports.map((pair) => forward(delegate, { ...pair, address }, either))).catch((error: unknown) => {
    failed.abort();
    throw error;
  });
}

/** A local port and the pod's. */
export interface ForwardedPorts {
  readonly local: number;
  readonly remote: number;
}

/** `[LOCAL:]REMOTE` as kubectl reads it. Throws AppError `BadInput`. */
export function parsePorts(argument: string): ForwardedPorts {
  const [, local, remote] = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(argument) ?? [];
  const ports = { local: Number(local === undefined ? remote : local), remote: Number(remote) };
  if (ports.remote >= 1 && ports.remote <= 65_535 && ports.local <= 65_535) return ports;
  throw new AppError('BadInput', `A port is REMOTE, LOCAL:REMOTE or :REMOTE, not ${JSON.stringify(argument)}.`);
}

async function forward(
  delegate: DelegateAccess, { local, remote, address }: ForwardedPorts & { readonly address: string },
  signal: AbortSignal,
): Promise<void> {
  const { transport, path } = delegate;
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // 'close' follows
    openPodChannels(
      transport, { path: `${path}/portforward`, query: [['ports', String(remote)]], protocols: ['v4.channel.k8s.io'] },
      signal, streamOpener(delegate),
    ).then(
      (channels) => carry(socket, channels),
      (error: unknown) => {
        console.error(`isthmus: ${error instanceof Error ? error.message : String(error)}`);
        socket.destroy();
      },
    );
  });
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(local, address, resolve));
  console.log(`Forwarding from ${hostPort(address, (server.address() as AddressInfo).port)} to ${remote}`);
  await aborted(signal);
  server.close();
}

/** Channel 0 is the data and 1 what went wrong; the first message of each repeats the port. */
function carry(socket: Socket, channels: PodChannels): void {
  const begun = new Set<number>();
  channels.onMessage = (channel, data) => {
    if (!begun.has(channel)) begun.add(channel);
    else if (channel !== 0) console.error(`isthmus: ${data.toString('utf8')}`);
    else if (!socket.write(data)) {
      channels.pause();
      socket.once('drain', () => channels.resume());
    }
  };
  socket.on('data', (data: Buffer) => {
    if (channels.send(0, data)) return;
    socket.pause();
    void channels.drained().then(() => socket.resume());
  });
  socket.once('close', () => channels.close());
  // a client that keeps its side open must not keep this process
  void channels.closed.then(() => socket.destroySoon());
}

// --- options

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

function seconds(given: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smh])$/.exec(given) ?? [];
  if (count === undefined) throw new InvalidArgumentError('it takes a duration: 10s, 5m, 2h');
  return Math.max(1, Number(count) * (UNIT_SECONDS[unit] ?? 1));
}
