// Runs the pure suites in shares, a process for each and two at a time, so that two cores are busy to the end. What they print comes one after the
// other; all have to pass.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const SHARES = 6;
const AT_ONCE = 2;
const suites = fileURLToPath(new URL('unit-suites.js', import.meta.url));

/** Runs one share; gives its exit code and what it printed. */
async function runShare(share: number): Promise<{ readonly code: number; readonly printed: string }> {
  const child = spawn(process.execPath, ['--test-timeout=60000', '--test-reporter=spec', suites, `${share}/${SHARES}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
  return { code: code ?? 1, printed }; // a process that was killed has no code
}

const codes: number[] = [];
const shares = Array.from({ length: SHARES }, (_value, index) => index + 1);

/** Takes one share after another until none is left. */
async function work(): Promise<void> {
  for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
    const { code, printed } = await runShare(share);
    codes.push(code);
    process.stdout.write(printed);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
if (codes.length !== SHARES || codes.some((code) => code !== 0)) process.exitCode = 1;
