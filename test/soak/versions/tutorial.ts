// `npm run soak -- tutorial`: types what docs/tutorial.md says, in a folder of its own, and compares what is printed
// with what the page shows.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '../../../process/config.ts';
import { ensurePackagingTools } from '../../../sandbox/build/packaging-tools.ts';
import { missingLines, sessionScript, stepsOf } from '../../support/docs/documented-session.ts';

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));
const COMMAND = join(CHECKOUT, 'build/cli/main.js');
const MOST_MS = 600_000;

/** Programs as the page calls them: `npx isthmus` of this checkout, and kubectl. */
async function writePrograms(folder: string): Promise<void> {
  const { kubectl } = await ensurePackagingTools(environment(), () => undefined, AbortSignal.timeout(MOST_MS));
  await mkdir(folder);
  await writeFile(
    join(folder, 'npx'), `#!/bin/sh\n[ "$1" = isthmus ] && shift\nexec '${process.execPath}' '${COMMAND}' "$@"\n`,
    { mode: 0o755 },
  );
  await writeFile(join(folder, 'kubectl'), `#!/bin/sh\nexec '${kubectl.join("' '")}' "$@"\n`, { mode: 0o755 });
}

/**
 * Runs the script in a group of processes of its own, all of which end with it; gives what it printed and its exit
 * code.
 */
function runSession(
  script: string, folder: string,
): Promise<{ readonly output: string; readonly code: number | null }> {
  const env = { ...environment().inherited, PATH: `${join(folder, 'bin')}:${environment().inherited['PATH'] ?? ''}` };
  const child =
    spawn('bash', ['-c', script], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (bytes: Buffer) => {
    output += String(bytes);
    process.stdout.write(bytes);
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGTERM'), MOST_MS);
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve({ output, code });
    });
  });
}

async function endProcesses(folder: string): Promise<void> {
  const { code } = await runSession(
    'npx isthmus sandbox down --dir ./tutorial; for job in $(cat pids 2>/dev/null); do kill $job 2>/dev/null || ' +
      'true; done',
    folder,
  );
  assert.equal(code, 0);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-tutorial-'));
  await writePrograms(join(folder, 'bin'));
  const steps = stepsOf(await readFile(join(CHECKOUT, 'docs/tutorial.md'), 'utf8'));
  const startedAt = performance.now();
  const { output, code } = await runSession(`trap 'jobs -p > pids' EXIT\n${sessionScript(steps)}`, folder);
  if (code !== 0) {
    for (const log of ['source.log', 'target.log']) process.stderr.write(
      `${log}:\n${(await readFile(join(folder, log), 'utf8').catch(() => '')).split('\n').slice(-20).join('\n')}\n`,
    );
    await endProcesses(folder);
  }
  assert.equal(code, 0, 'a command of the tutorial failed');
  assert.deepEqual(missingLines(steps, output), []);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => !['bin', 'pids', 'source.log', 'target.log'].includes(name)), [],
  );
  process.stdout.write(`the tutorial took ${Math.round((performance.now() - startedAt) / 1_000)} s\n`);
  await rm(folder, { recursive: true });
}

await main();
