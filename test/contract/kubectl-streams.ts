// Verb by verb: what kubectl does with an elected pod, against the source alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until, type StreamsWorld } from '../support/worlds/streams-world.ts';

/**
 * tar reads whole records, and kwok does not tell a command that its input has ended: an archive of one file must fill
 * one, in bytes.
 */
const TAR_RECORD = 10_240;
/** Header and end of an archive, in bytes. */
const TAR_FRAME = 1_536;

/** Declares the suite. */
export function describeKubectlStreams(given: () => StreamsWorld): void {
  describe('kubectl with a pod that runs elsewhere', { timeout: 300_000 }, () => {
    let streams: StreamsWorld;
    let scratch: string;
    before(async () => {
      streams = given();
      scratch = await mkdtemp(join(tmpdir(), 'isthmus-kubectl-'));
    });
    after(() => rm(scratch, { recursive: true, force: true }));

    it('logs: --tail, -c, --timestamps, --since, --since-time', async () => {
      const { kubectl } = streams;
      assert.equal(await kubectl('logs', 'web', '-c', 'main', '--tail', '1'), 'It is ready.\n');
      assert.match(
        await kubectl('logs', 'web', '-c', 'side', '--tail', '1', '--timestamps', '--since', '1h'),
        /^\d{4}-\S+ It is ready\.\n$/,
      );
      assert.equal(await kubectl('logs', 'web', '--since-time', new Date(Date.now() + 3_600_000).toISOString()), '');
    });

    it('logs -f shows what is there and what comes later', async () => {
      const followed = streams.begin('logs', '-f', 'web', '-c', 'main', '--tail', '1', '--since', '1h', '--timestamps');
      await until('what is there', () => /^\d{4}-\S+ It is ready\.\n$/.test(followed.said()));
      streams.writeLog(['said later']);
      await until('what comes later', () => /\n\d{4}-\S+ said later\n$/.test(followed.said()));
      followed.child.kill();
    });

    it('exec and exec -i', async () => {
      assert.equal(await streams.kubectl('exec', 'web', '--', 'echo', 'hello'), 'hello\n');
      const typed = streams.begin('exec', '-i', 'web', '--', 'sh', '-c', 'read line; echo "got $line"');
      typed.child.stdin?.write('typed\n');
      await until('the answer to what was typed', () => typed.said().includes('got typed'));
      typed.child.kill();
    });

    it('exec ends with an error when its command does', async () => {
      const failing = streams.begin('exec', 'web', '--', 'sh', '-c', 'exit 3');
      assert.notEqual((await once(failing.child, 'exit'))[0], 0); // kwok names no exit code
    });

    it('exec -it gives a terminal as large as its own', () => useTerminal(
      streams.commandLine('exec', '-it', 'web', '--', 'sh', '-c', 'while tty; do stty size; sleep 0.2; done'),
    ));

    it('attach shows what the container says', async () => {
      const attached = streams.begin('attach', 'web', '-c', 'main');
      const saying = setInterval(() => streams.writeLog(['said while attached']), 200);
      await until('what attach shows', () => attached.said().includes('said while attached')).finally(
        () => clearInterval(saying),
      );
      attached.child.kill();
    });

    it('port-forward carries bytes both ways', async () => {
      const forwarded = streams.begin('port-forward', 'pod/web', ':80');
      await until('the forwarded port', () => /127\.0\.0\.1:(\d+)/.test(forwarded.said()));
      const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(forwarded.said())?.[1]), '127.0.0.1');
      let echoed = '';
      socket.on('data', (data: Buffer) => (echoed += data.toString()));
      socket.write('ping\n');
      await until('the echo', () => echoed === 'ping\n');
      socket.destroy();
      forwarded.child.kill();
    });

    it('cp out of the pod', async () => {
      await writeFile(join(streams.home.cluster.directory, 'report.txt'), 'copied out\n');
      await streams.kubectl('cp', 'web:report.txt', join(scratch, 'report.txt'));
      assert.equal(await readFile(join(scratch, 'report.txt'), 'utf8'), 'copied out\n');
    });

    it('cp into the pod', async () => {
      const input = 'copied in\n'.padEnd(TAR_RECORD - TAR_FRAME, 'x');
      await writeFile(join(scratch, 'input.txt'), input);
      await streams.kubectl('cp', join(scratch, 'input.txt'), 'web:input.txt');
      assert.equal(await readFile(join(streams.home.cluster.directory, 'input.txt'), 'utf8'), input);
    });
  });
}

/** kubectl asks for a terminal only where it has one itself: `script` (util-linux) makes one. */
async function useTerminal(command: string): Promise<void> {
  const child = spawn('script', ['-qec', `stty rows 43 cols 132; ${command}`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'], detached: true,
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  await until('the terminal and its size', () => /\/dev\/pts\/\d+\s+43 132/.test(said), 20_000).catch(
    (error: unknown) => assert.fail(`${String(error)}; it said ${said}`),
  );
  process.kill(-(child.pid ?? 0), 'SIGKILL'); // kubectl with it
}
