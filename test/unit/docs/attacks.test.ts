// Each attack that has a number has a test that names it, and docs/results/attacks.md shows them.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { environment } from '../../../process/config.ts';
import { ATTACKS, attacksPage, namedTests } from '../../support/rules/attacks.ts';
import { keptRuns } from '../../support/attackers/former-attacks.ts';

const ROOT = new URL('../../../../', import.meta.url);
const PAGE = new URL('docs/results/attacks.md', ROOT);
const RUNS = new URL('docs/results/former-attacks.json', ROOT);

describe('attacks', () => {
  const tests = namedTests(ROOT);
  const page = attacksPage(tests, keptRuns(RUNS));
  it('each have a test', () => assert.deepEqual(
    ATTACKS.filter(({ id }) => !tests.some((test) => test.id === id)).map(({ id }) => id), [],
  ));
  it('are all described that a test names', () => assert.deepEqual(
    tests.filter(({ id }) => !ATTACKS.some((attack) => attack.id === id)), [],
  ));
  it('are numbered without a gap', () => assert.deepEqual(
    ATTACKS.map(({ id }) => id), ATTACKS.map((_attack, index) => index + 1),
  ));
  it('are shown with tests that there are; `npm run update-golden` shows those that are new', () => {
    if (environment().updateGolden) writeFileSync(PAGE, page);
    const now = page.split('\n').map(partsOf);
    const shown = readFileSync(PAGE, 'utf8').split('\n').map(partsOf);
    assert.equal(shown.length, now.length);
    for (const [row, parts] of shown.entries()) {
      assert.deepEqual(parts.filter((part) => now[row]?.includes(part) !== true), []);
    }
  });
});

/** Each cell, and each test of the last one. */
function partsOf(line: string): readonly string[] {
  return line.split(/ \| |<br>/);
}
