import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';

const LOGGER = new URL('../../../process/logger.js', import.meta.url).href;

/** What a process of its own writes to standard error: the logger writes to the descriptor itself. */
function written(statement: string): string {
  const script =
    `import { createLogger } from ${JSON.stringify(LOGGER)};\nconst logger = createLogger('info');\n${statement}`;
  const program =
    `const { spawnSync } = require('node:child_process'); process.stdout.write(spawnSync(process.execPath, ` +
      `['--input-type=module', '-e', ${JSON.stringify(script)}]).stderr)`;
  return execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' });
}

describe('a line of the log', () => {
  const odd = 'web\n{"level":60,"msg":"forged"}\r\n\u001b[31m%s%o\u0000';
  it('C2-36: is one, whatever stands in names and messages, and gives them back letter by letter', () => {
    const lines = written(
      `logger.info({ pod: ${JSON.stringify(odd)} }, 'seen'); logger.error({ error: ${JSON.stringify(odd)} }, ` +
        `${JSON.stringify(odd)});`,
    ).trimEnd().split('\n');
    assert.equal(lines.length, 2);
    assert.ok(lines.every((line) => !line.includes('\u001b') && !line.includes('\r')));
    const [first, second] = lines.map((line) => JSON.parse(line) as {
      readonly level: number; readonly pod?: string; readonly error?: string; readonly msg: string
    });
    assert.deepEqual([first?.level, first?.pod, first?.msg], [30, odd, 'seen']);
    assert.deepEqual([second?.level, second?.error, second?.msg], [50, odd, odd]);
  });
});
