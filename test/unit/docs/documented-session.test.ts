import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { missingLines, sessionScript, stepsOf } from '../../support/docs/documented-session.ts';

const PAGE =
  '# A page\n```sh\nalias say=echo\nsay one   two\n```\ntext\n```text\none … two\n```\n```yaml\na: ' +
    'b\n```\n```sh\nsay three\nsay four\n```\n```text\nthr…\nfour\n```\n';

describe('a session on a page', () => {
  const steps = stepsOf(PAGE);

  it('has the blocks to type, with what they print', () => {
    assert.deepEqual(steps.map(({ shown }) => shown), [['one … two'], ['thr…', 'four']]);
  });

  it('prints what the page says', () => {
    const output = execFileSync('bash', ['-c', sessionScript(steps)], { encoding: 'utf8' });
    assert.deepEqual(missingLines(steps, output), []);
    assert.deepEqual(
      missingLines(steps, output.replace('three\nfour', 'four\nthree')), ['step 1: four'], 'lines come in their order',
    );
    assert.deepEqual(
      missingLines(stepsOf(PAGE.replace('one … two', 'one … thirty')), output), ['step 0: one … thirty'],
    );
  });

  it('stops at the first command that fails', () => {
    assert.throws(
      () => execFileSync('bash', ['-c', sessionScript(stepsOf('```sh\nfalse\necho later\n```\n'))], { stdio: 'pipe' }),
      ({ stdout }: { stdout: Buffer }) => !String(stdout).includes('later'),
    );
  });
});
