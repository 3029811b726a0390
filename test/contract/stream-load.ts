// Many streams at once for a minute, then large, fast, stalled and half-open ones, with the memory of the source's
// process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Node } from '../../api/objects/core.ts';
import { NODES } from '../../api/resource-types.ts';
import { until, type StreamsWorld } from '../support/worlds/streams-world.ts';
import { followLog, ManyStreams, openExec } from '../support/history/web-streams.ts';

/** How much of everything. */
export interface StreamLoad {
  readonly logs: number;
  readonly execs: number;
  readonly seconds: number;
}

/** What the process may grow by once all streams are open: garbage that was not collected yet. */
const GROWTH_MB = 40;
const MB = 1 << 20;

/** Declares the suite. */
export function describeStreamLoad(given: () => StreamsWorld, load: StreamLoad): void {
  describe('streams by their load', { timeout: 600_000 }, () => {
    let streams: StreamsWorld;
    before(() => {
      streams = given();
    });

    it(
      `${load.logs} followed logs and ${load.execs} execs for ${load.seconds} s: none is cut, memory is flat`,
      (test) => carryMany(streams, load, test),
    );
    it('100 MB in one line of an exec, read as it comes', (test) => watching(
      streams, test, () => readLargeLine(streams),
    ));
    it('100 MB in one line of an exec that is not read for 10 s', (test) => watching(
      streams, test, () => readLateLargeLine(streams),
    ));
    it('100 MB in one line of a followed log', (test) => watching(streams, test, () => followLargeLine(streams)));
    it(
      'a log of 10 MB/s with one that reads, one that stands still, and twenty whose other end has fallen silent',
      (test) => watching(streams, test, () => followFastLog(streams)),
    );
  });
}

async function carryMany(
  streams: StreamsWorld, { logs, execs, seconds }: StreamLoad, test: TestContext,
): Promise<void> {
  const { memory, openStreams, writeLog } = streams;
  const ending = new AbortController();
  const writing = setInterval(() => writeLog(['tick']), 200);
  try {
    const many = new ManyStreams(streams, ending.signal);
    await many.open(logs, execs);
    await delay(10_000);
    const [open, marks, figures] = [await openStreams(), many.counts(), [await memory()]];
    for (let second = 0; second < seconds; second += 5) {
      await delay(5_000);
      figures.push(await memory());
    }
    const { cut } = many;
    const [fewestLines = 0, fewestTicks = 0] = many.counts()
      .map((now, kind) => Math.min(...now.map((count, index) => count - (marks[kind]?.[index] ?? 0))));
    const growthMb = growthOf(figures);
    test.diagnostic(JSON.stringify(
      { logs, execs, open, seconds, rssMb: figures.map(Math.round), growthMb, fewestLines, fewestTicks, cut },
    ));
    assert.deepEqual(cut, []);
    assert.equal(open, logs + execs);
    assert.ok(fewestLines > seconds / 2 && fewestTicks > seconds / 4, 'every stream went on');
    assert.ok(growthMb < GROWTH_MB, `${growthMb} MB more`);
  } finally {
    clearInterval(writing);
    ending.abort();
  }
  await until('the streams to end', async () => (await openStreams()) === 0);
}

function growthOf(figures: readonly number[]): number {
  return Math.round(Math.max(...figures) - (figures[0] ?? 0));
}

/** Runs something and holds the most memory meanwhile against that before it. */
async function watching(
  { memory, openStreams }: StreamsWorld, test: TestContext, work: () => Promise<string>,
): Promise<void> {
  await until('rest', async () => (await openStreams()) === 0);
  const figures = [await memory()];
  const sampling = setInterval(() => void memory().then((now) => figures.push(now)), 250);
  const said = await work().finally(() => clearInterval(sampling));
  const growth = growthOf(figures);
  test.diagnostic(`${said}; ${Math.round(figures[0] ?? 0)} MB before, at most ${growth} MB more`);
  assert.ok(growth < GROWTH_MB, `${growth} MB more`);
}

const LARGE = 100 * MB;
/**
 * It stays for a moment after its last word: a command that ends before all of it was taken can lose the rest
 * (docs/results/virtual-nodes.md; also kubernetes/kubernetes issue 124571). What is asked here is bounded memory.
 */
const LARGE_LINE = `head -c ${LARGE} /dev/zero | tr "\\0" x; sleep 3`;

async function readLargeLine(streams: StreamsWorld): Promise<string> {
  let read = 0;
  const begun = performance.now();
  const channels = await openExec(streams, LARGE_LINE, streams.world.signal);
  channels.onMessage = (channel, data) => (read += channel === 1 ? data.length : 0);
  await channels.closed;
  assert.equal(read, LARGE);
  return `${read} bytes in ${seconds(begun)} s`;
}

async function readLateLargeLine(streams: StreamsWorld): Promise<string> {
  let read = 0;
  const channels = await openExec(streams, LARGE_LINE, streams.world.signal);
  channels.onMessage = (channel, data) => (read += channel === 1 ? data.length : 0);
  channels.pause();
  await delay(10_000);
  const early = read;
  channels.resume();
  await channels.closed;
  assert.equal(read, LARGE);
  return `${early} bytes in the first 10 s, ${read} in all`;
}

/** Written as a CRI does, in parts of 16 KiB. */
async function followLargeLine(streams: StreamsWorld): Promise<string> {
  const ending = new AbortController();
  let read = 0;
  const reader = await followLog(streams, ending.signal);
  reader.on('data', (data: Buffer) => (read += data.length));
  const part = 'x'.repeat(16_384);
  for (let written = 0; written < LARGE; written += 64 * part.length) {
    streams.writeLog(Array.from({ length: 64 }, () => part), 'P');
    await until('it to be read', () => read > written - 8 * MB);
  }
  await until('the whole line', () => read >= LARGE);
  ending.abort();
  streams.writeLog([''], 'F'); // else whoever follows next is in the middle of it
  return `${read} bytes`;
}

const FAST = { seconds: 20, bytesPerSecond: 10 * MB, silent: 20 };

async function followFastLog(streams: StreamsWorld): Promise<string> {
  const ending = new AbortController();
  const [reader, stalled] = await Promise.all([followLog(streams, ending.signal), followLog(streams, ending.signal)]);
  let read = 0;
  reader.on('data', (data: Buffer) => (read += data.length));
  stalled.pause();
  const silent = await openSilent(streams, FAST.silent, ending.signal);
  const open = await streams.openStreams();
  const begun = performance.now();
  const written = await writeFast(streams);
  await until('all of it to be read', () => read === written);
  const took = seconds(begun);
  const stillOpen = await streams.openStreams();
  ending.abort();
  silent.end();
  assert.deepEqual([open, stillOpen], [2 + FAST.silent, 2 + FAST.silent]);
  await until('all of them to end', async () => (await streams.openStreams()) === 0);
  return `${Math.round(read / MB)} MB read by one in ${took} s, with one that reads nothing and ${FAST.silent} ` +
    'half-open';
}

/** At that rate, or as fast as this machine can. */
async function writeFast({ writeLog }: StreamsWorld): Promise<number> {
  const line = 'x'.repeat(1_023);
  const begun = performance.now();
  let written = 0;
  while (written < FAST.seconds * FAST.bytesPerSecond) {
    writeLog(Array.from({ length: 1_024 }, () => line));
    written += MB;
    await delay(Math.max(0, (written / FAST.bytesPerSecond) * 1_000 - (performance.now() - begun)));
  }
  return written;
}

/** Followed logs by way of a relay that then carries nothing and closes nothing. */
async function openSilent({ world, web }: StreamsWorld, count: number, signal: AbortSignal): Promise<{ end(): void }> {
  const { status } = await world.source.client.get<Node>(NODES, { name: web.spec.nodeName ?? '' });
  const kubelet =
    { host: status?.addresses?.[0]?.address ?? '', port: status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0 };
  const sockets: Socket[] = [];
  const relay = createServer((one) => {
    const other = connect(kubelet);
    for (const socket of [one, other]) sockets.push(socket.on('error', () => undefined));
    one.pipe(other).pipe(one);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const pki = join(world.source.cluster.directory, 'pki');
  const [cert, key] =
    await Promise.all(['crt', 'key'].map((end) => readFile(join(pki, `kubelet-client.${end}`), 'utf8')));
  await Promise.all(Array.from({ length: count }, async () => {
    const asked = request({
      host: '127.0.0.1', port: (relay.address() as AddressInfo).port,
      path: '/containerLogs/demo/web/main?follow=true&tailLines=0', cert, key, rejectUnauthorized: false, agent: false,
    });
    asked.on('error', () => undefined).end();
    const [response] = (await once(asked, 'response', { signal })) as [IncomingMessage];
    response.on('error', () => undefined).resume();
  }));
  for (const socket of sockets) socket.unpipe().pause();
  const end = () => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  };
  return { end };
}

function seconds(begun: number): number {
  return Math.round((performance.now() - begun) / 1_000);
}
