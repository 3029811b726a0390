// Many files of unit tests share a process, where a hook outside of any suite runs before or after every test of all of
// them: a server or a folder for each of thousands, and another file's clock.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from '../../support/rules/source-files.ts';

const HOOK = /^(?:beforeEach|afterEach)\(/m;

describe('a hook that runs for each test', () => {
  it('stands within a suite', () => {
    const files = sourceFiles().filter(({ path }) => path.startsWith('test/unit/'));
    assert.ok(files.length > 100);
    assert.deepEqual(files.filter(({ text }) => HOOK.test(text)).map(({ path }) => path), []);
  });
});
