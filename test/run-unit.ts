// Runs the pure suites in shares, a process for each and all at once: one of tests that wait on clocks, and one more
// than two cores of the others (37 s, with one less 42). Each share more loads every module once more, 8 s of a core.
// What they print comes one after the other, that of failed ones last, where it is looked for; all have to pass.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const SHARES = 4;
/** A share that does not end has left something open: it fails then, and what it printed shows where. In ms. */
const TIMEOUT_MS = 300_000;
const suites = fileURLToPath(new URL('unit-suites.js', import.meta.url));

/** Most objects of tests die young: with 16 MiB for them, Node's default, a seventh of the time is garbage collection. */
const YOUNG_MIB = 64;

/** Runs one share; gives how it ended and what it printed. */
async function runShare(share: number): Promise<{ readonly end: string; readonly printed: string }> {
  const child = spawn(
    process.execPath,
    [
      `--max-semi-space-size=${YOUNG_MIB}`, '--test-timeout=60000', '--test-reporter=spec', suites,
      `${share}/${SHARES}`,
    ],
    // SIGKILL: commands that run within a test take SIGTERM for themselves
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
  );
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
  return { end: code === null ? `killed, as after ${TIMEOUT_MS / 1_000} s` : `exit code ${code}`, printed };
}

const failed: string[] = [];

await Promise.all(
  Array.from({ length: SHARES }, async (_value, index) => {
    const { end, printed } = await runShare(index + 1);
    if (end === 'exit code 0') process.stdout.write(printed);
    else failed.push(`${printed}\nShare ${index + 1} of ${SHARES} failed: ${end}\n`);
  }),
);
for (const printed of failed) process.stdout.write(printed);
if (failed.length > 0) process.exitCode = 1;
