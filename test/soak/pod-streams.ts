// Must hold 1 and 3 of issue 10 at full size: kubectl against the source alone, then many streams at once for a minute, then large, fast, stalled and
// half-open ones, with the memory of the source's process; then what kubectl does with the node itself.
// Run: npm run test:streams [-- LOGS EXECS SECONDS].
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Node } from '../../api/core.ts';
import { NODES } from '../../api/resource-types.ts';
import { openCluster } from '../../kubernetes/open-cluster.ts';
import { openPodChannels } from '../../kubernetes/pod-channels.ts';
import { openExchange } from '../../kubernetes/stream-exchange.ts';
import { environment } from '../../process/config.ts';
import { ensureMetricsServer } from '../../sandbox/metrics-program.ts';
import { ensurePackagingTools } from '../../sandbox/packaging-tools.ts';
import { describeVirtualNode } from '../contract/virtual-node.ts';
import { startMetricsServer } from '../support/metrics-server-process.ts';
import { servePodMetrics } from '../support/pod-metrics-server.ts';
import { startStreamsWorld, until, type StreamsWorld } from '../support/streams-world.ts';

const [LOGS = 100, EXECS = 50, SECONDS = 60] = process.argv.slice(2).map(Number);
/** What the process may grow by once all streams are open: garbage that was not collected yet. */
const GROWTH_MB = 40;
const MB = 1 << 20;
/** tar reads whole records, and kwok does not tell a command that its input has ended: an archive of one file must fill one, in bytes. */
const TAR_RECORD = 10_240;
/** Header and end of an archive, in bytes. */
const TAR_FRAME = 1_536;
const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** Each verb of kubectl. */
async function useKubectl(streams: StreamsWorld, scratch: string): Promise<void> {
  const { home, kubectl, begin, commandLine, writeLog } = streams;
  assert.equal(await kubectl('logs', 'web', '-c', 'main', '--tail', '1'), 'It is ready.\n');
  assert.match(await kubectl('logs', 'web', '-c', 'side', '--tail', '1', '--timestamps', '--since', '1h'), /^\d{4}-\S+ It is ready\.\n$/);
  assert.equal(await kubectl('logs', 'web', '--since-time', new Date(Date.now() + 3_600_000).toISOString()), '');
  const followed = begin('logs', '-f', 'web', '-c', 'main', '--tail', '1', '--since', '1h', '--timestamps');
  await until('what is there', () => /^\d{4}-\S+ It is ready\.\n$/.test(followed.said()));
  writeLog(['said later']);
  await until('what comes later', () => /\n\d{4}-\S+ said later\n$/.test(followed.said()));
  assert.equal(await kubectl('exec', 'web', '--', 'echo', 'hello'), 'hello\n');
  const typed = begin('exec', '-i', 'web', '--', 'sh', '-c', 'read line; echo "got $line"');
  typed.child.stdin?.write('typed\n');
  await until('the answer to what was typed', () => typed.said().includes('got typed'));
  const failing = begin('exec', 'web', '--', 'sh', '-c', 'exit 3');
  assert.notEqual((await once(failing.child, 'exit'))[0], 0); // kwok names no exit code
  await useTerminal(commandLine('exec', '-it', 'web', '--', 'sh', '-c', 'while tty; do stty size; sleep 0.2; done'));
  const attached = begin('attach', 'web', '-c', 'main');
  const saying = setInterval(() => writeLog(['said while attached']), 200);
  await until('what attach shows', () => attached.said().includes('said while attached')).finally(() => clearInterval(saying));
  const forwarded = begin('port-forward', 'pod/web', ':80');
  await until('the forwarded port', () => /127\.0\.0\.1:(\d+)/.test(forwarded.said()));
  const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(forwarded.said())?.[1]), '127.0.0.1');
  let echoed = '';
  socket.on('data', (data: Buffer) => (echoed += data.toString()));
  socket.write('ping\n');
  await until('the echo', () => echoed === 'ping\n');
  socket.destroy();
  await writeFile(join(home.cluster.directory, 'report.txt'), 'copied out\n');
  await kubectl('cp', 'web:report.txt', join(scratch, 'report.txt'));
  assert.equal(await readFile(join(scratch, 'report.txt'), 'utf8'), 'copied out\n');
  const input = 'copied in\n'.padEnd(TAR_RECORD - TAR_FRAME, 'x');
  await writeFile(join(scratch, 'input.txt'), input);
  await kubectl('cp', join(scratch, 'input.txt'), 'web:input.txt');
  assert.equal(await readFile(join(home.cluster.directory, 'input.txt'), 'utf8'), input);
  for (const { child } of [followed, typed, attached, forwarded]) child.kill();
  tell('kubectl logs -f --tail --since --timestamps -c, exec -i and -it, attach, port-forward and cp both ways work');
}

/** kubectl asks for a terminal only where it has one itself: `script` (util-linux) makes one. */
async function useTerminal(command: string): Promise<void> {
  const child = spawn('script', ['-qec', `stty rows 43 cols 132; ${command}`, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  await until('the terminal and its size', () => /\/dev\/pts\/\d+\s+43 132/.test(said), 20_000).catch((error: unknown) => assert.fail(`${String(error)}; it said ${said}`));
  process.kill(-(child.pid ?? 0), 'SIGKILL'); // kubectl with it
}

/** kubectl top by the metrics server of the source. */
async function useTop({ world, web, home, kubectl }: StreamsWorld, scratch: string): Promise<void> {
  const { signal } = world;
  const [delegate] = home.pods.objects.filter(({ metadata }) => metadata.namespace === 'demo');
  const containers = [['main', '250m', '20Mi'], ['side', '50m', '4Mi']].map(([name = '', cpu = '', memory = '']) => ({ name, usage: { cpu, memory } }));
  const target = await servePodMetrics(home.client, () => [{ metadata: delegate?.metadata ?? {}, timestamp: new Date().toISOString(), containers }], signal);
  const { connection } = await openCluster({ kubeconfigPath: world.source.cluster.kubeconfigPath, userAgent: 'isthmus-test' });
  const program = await ensureMetricsServer(environment(), tell, signal);
  const server = await startMetricsServer({ program, cluster: world.source.cluster, client: world.source.client, certificateAuthority: connection.certificateAuthority ?? '', folder: scratch }, signal);
  const begun = performance.now();
  try {
    let [pod, node] = ['', ''];
    await until('figures of the pod', async () => /web/.test((pod = await kubectl('top', 'pod', '--no-headers').catch(() => ''))), 120_000);
    const afterSeconds = Math.round((performance.now() - begun) / 1_000);
    assert.match(pod, /^web\s+300m\s+24Mi\s*$/);
    assert.match(await kubectl('top', 'pod', 'web', '--containers', '--no-headers'), /web\s+main\s+250m\s+20Mi\s+web\s+side\s+50m\s+4Mi/);
    await until('figures of the node', async () => /300m/.test((node = await kubectl('top', 'node', web.spec.nodeName ?? '', '--no-headers').catch(() => ''))), 120_000);
    tell(`kubectl top by metrics-server, ${afterSeconds} s after it started: ${pod.trim()}; ${node.trim()}`);
  } finally {
    await server.stop();
    target.close();
  }
}

/** LOGS followed logs and EXECS execs at once. */
async function openMany({ world, memory, openStreams, writeLog }: StreamsWorld): Promise<void> {
  const { transport } = world.source.client;
  const counts = { logs: Array.from({ length: LOGS }, () => 0), execs: Array.from({ length: EXECS }, () => 0) };
  const cut: string[] = [];
  const ending = new AbortController();
  const writing = setInterval(() => writeLog(['tick']), 200);
  const follow = async (index: number): Promise<void> => {
    const query = [['container', 'main'], ['follow', 'true'], ['tailLines', '0']] as const;
    const { response } = await openExchange(transport, { method: 'GET', path: '/api/v1/namespaces/demo/pods/web/log', query }, ending.signal);
    if (response.statusCode !== 200) cut.push(`log ${index} was refused with ${response.statusCode}`);
    response.on('data', () => (counts.logs[index] = (counts.logs[index] ?? 0) + 1));
    response.on('error', () => undefined);
    response.on('close', () => ending.signal.aborted || cut.push(`log ${index} was cut`));
  };
  const run = async (index: number): Promise<void> => {
    const query = [['container', 'main'], ['stdout', 'true'], ['command', 'sh'], ['command', '-c'], ['command', 'while sleep 1; do echo tick; done']] as const;
    const channels = await openPodChannels(transport, { path: '/api/v1/namespaces/demo/pods/web/exec', query, protocols: ['v5.channel.k8s.io'] }, ending.signal);
    channels.onMessage = () => (counts.execs[index] = (counts.execs[index] ?? 0) + 1);
    void channels.closed.then(() => ending.signal.aborted || cut.push(`exec ${index} was cut`));
  };
  await Promise.all([...counts.logs.map((_, index) => follow(index)), ...counts.execs.map((_, index) => run(index))]);
  await delay(10_000);
  const open = await openStreams();
  const figures = [await memory()];
  const marks = { logs: [...counts.logs], execs: [...counts.execs] };
  for (let second = 0; second < SECONDS; second += 5) {
    await delay(5_000);
    figures.push(await memory());
  }
  clearInterval(writing);
  const fewest = (now: readonly number[], before: readonly number[]) => Math.min(...now.map((count, index) => count - (before[index] ?? 0)));
  const told = { logs: LOGS, execs: EXECS, open, seconds: SECONDS, rssMb: figures.map(Math.round), growthMb: growthOf(figures), fewestLines: fewest(counts.logs, marks.logs), fewestTicks: fewest(counts.execs, marks.execs), cut };
  tell(JSON.stringify(told));
  assert.deepEqual(cut, []);
  assert.equal(open, LOGS + EXECS);
  assert.ok(told.fewestLines > SECONDS / 2 && told.fewestTicks > SECONDS / 4, 'every stream went on');
  assert.ok(told.growthMb < GROWTH_MB, `${told.growthMb} MB more`);
  ending.abort();
  await until('the streams to end', async () => (await openStreams()) === 0);
}

function growthOf(figures: readonly number[]): number {
  return Math.round(Math.max(...figures) - (figures[0] ?? 0));
}

/** Runs something and gives the memory before it and the most meanwhile, in MB. */
async function watching(what: string, { memory, openStreams }: StreamsWorld, work: () => Promise<string>): Promise<void> {
  await until('rest', async () => (await openStreams()) === 0);
  const figures = [await memory()];
  const sampling = setInterval(() => void memory().then((now) => figures.push(now)), 250);
  const said = await work().finally(() => clearInterval(sampling));
  const growth = growthOf(figures);
  tell(`${what}: ${said}; ${Math.round(figures[0] ?? 0)} MB before, at most ${growth} MB more`);
  assert.ok(growth < GROWTH_MB, `${growth} MB more`);
}

/** Follows the log through the source's API server. */
async function followLog({ world }: StreamsWorld, signal: AbortSignal): Promise<IncomingMessage> {
  const query = [['container', 'main'], ['follow', 'true'], ['tailLines', '0']] as const;
  const { response } = await openExchange(world.source.client.transport, { method: 'GET', path: '/api/v1/namespaces/demo/pods/web/log', query }, signal);
  response.on('error', () => undefined);
  return response;
}

/** 100 MB without a line break, by exec and by a log, read whole and by a reader that stands still. */
async function sendLargeLines(streams: StreamsWorld): Promise<void> {
  const { transport } = streams.world.source.client;
  const size = 100 * MB;
  const command = ['sh', '-c', `head -c ${size} /dev/zero | tr "\\0" x`].map((word) => ['command', word] as const);
  const query = [['container', 'main'] as const, ['stdout', 'true'] as const, ...command];
  const open = () => openPodChannels(transport, { path: '/api/v1/namespaces/demo/pods/web/exec', query, protocols: ['v5.channel.k8s.io'] }, streams.world.signal);
  await watching('exec, 100 MB in one line, read', streams, async () => {
    let read = 0;
    const whole = await open();
    whole.onMessage = (channel, data) => (read += channel === 1 ? data.length : 0);
    await whole.closed;
    assert.equal(read, size);
    return `${read} bytes`;
  });
  await watching('exec, 100 MB in one line, not read for 10 s', streams, async () => {
    const stalled = await open();
    stalled.pause();
    await delay(10_000);
    stalled.resume();
    await stalled.closed;
    return 'and read then';
  });
  await watching('logs -f, a line of 100 MB', streams, async () => {
    const ending = new AbortController();
    let read = 0;
    const reader = await followLog(streams, ending.signal);
    reader.on('data', (data: Buffer) => (read += data.length));
    const part = 'x'.repeat(16_384); // what a CRI writes at a time
    for (let written = 0; written < size; written += 64 * part.length) {
      streams.writeLog(Array.from({ length: 64 }, () => part), 'P');
      await until('it to be read', () => read > written - 8 * MB);
    }
    await until('the whole line', () => read >= size);
    ending.abort();
    return `${read} bytes`;
  });
}

/** A log of 10 MB/s with one that reads, one that stands still, and twenty whose other end has fallen silent. */
async function writeFast(streams: StreamsWorld): Promise<void> {
  await watching('logs -f of 10 MB/s for 20 s', streams, async () => {
    const ending = new AbortController();
    const [reader, stalled] = await Promise.all([followLog(streams, ending.signal), followLog(streams, ending.signal)]);
    let read = 0;
    reader.on('data', (data: Buffer) => (read += data.length));
    stalled.pause();
    const silent = await openSilent(streams, 20, ending.signal);
    const open = await streams.openStreams();
    const line = 'x'.repeat(1_023);
    let written = 0;
    for (const begun = performance.now(); performance.now() - begun < 20_000; await delay(Math.max(0, (written / (10 * MB)) * 1_000 - (performance.now() - begun)))) {
      streams.writeLog(Array.from({ length: 1_024 }, () => line));
      written += MB;
    }
    await until('all of it to be read', () => read === written);
    const stillOpen = await streams.openStreams();
    assert.equal(stillOpen, 22);
    ending.abort();
    silent();
    await until('all of them to end', async () => (await streams.openStreams()) === 0);
    return `${Math.round(read / MB)} MB read by one, with one that reads nothing and 20 half-open (${open} streams before, ${stillOpen} after)`;
  });
}

/** Followed logs by way of a relay that then carries nothing and closes nothing. Gives what ends them. */
async function openSilent({ world, web }: StreamsWorld, count: number, signal: AbortSignal): Promise<() => void> {
  const { status } = await world.source.client.get<Node>(NODES, { name: web.spec.nodeName ?? '' });
  const kubelet = { host: status?.addresses?.[0]?.address ?? '', port: status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0 };
  const sockets: Socket[] = [];
  const relay = createServer((one) => {
    const other = connect(kubelet);
    for (const socket of [one, other]) sockets.push(socket.on('error', () => undefined));
    one.pipe(other).pipe(one);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const pki = join(world.source.cluster.directory, 'pki');
  const [cert, key] = await Promise.all(['crt', 'key'].map((end) => readFile(join(pki, `kubelet-client.${end}`), 'utf8')));
  await Promise.all(Array.from({ length: count }, async () => {
    const asked = request({ host: '127.0.0.1', port: (relay.address() as AddressInfo).port, path: '/containerLogs/demo/web/main?follow=true&tailLines=0', cert, key, rejectUnauthorized: false, agent: false });
    asked.on('error', () => undefined).end();
    const [response] = (await once(asked, 'response', { signal })) as [IncomingMessage];
    response.on('error', () => undefined).resume();
  }));
  for (const socket of sockets) socket.unpipe().pause();
  return () => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  };
}

const tools = await ensurePackagingTools(environment(), tell, AbortSignal.timeout(600_000));
const streams = await startStreamsWorld(tools.kubectl);
const scratch = await mkdtemp(join(tmpdir(), 'isthmus-streams-'));
const sections: readonly (() => Promise<void>)[] = [
  () => useKubectl(streams, scratch),
  () => openMany(streams),
  () => sendLargeLines(streams),
  () => writeFast(streams),
  () => useTop(streams, scratch),
];
tell(`${cpus().length} CPUs; the source's process has ${Math.round(await streams.memory())} MB`);
for (const section of sections) {
  await section().catch((error: unknown) => {
    process.exitCode = 1;
    tell(`FAILED: ${error instanceof Error ? error.stack : String(error)}`);
  });
}
describeVirtualNode(() => streams);
after(async () => {
  await rm(scratch, { recursive: true, force: true });
  await streams.stop();
});
