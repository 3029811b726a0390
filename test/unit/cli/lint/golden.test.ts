// What is said about manifests of each sort, spelled out: NAME.input.yaml is the manifest, NAME.output.txt what
// `isthmus lint` prints of it. `npm run update-golden` writes the outputs anew; a change of them is to be read before
// it is committed.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { environment } from '../../../../process/config.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

// Compiled tests are one folder deeper than their sources.
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', '..', 'test', 'golden', 'lint');
const names = readdirSync(FOLDER).filter((file) => file.endsWith('.input.yaml'))
  .map((file) => file.replace('.input.yaml', '')).toSorted();

describe('golden findings', () => {
  it('have both levels, and an output for each input', () => {
    const outputs = readdirSync(FOLDER).filter((file) => file.endsWith('.output.txt'));
    if (!environment().updateGolden) {
      assert.deepEqual(outputs.toSorted(), names.map((name) => `${name}.output.txt`));
    }
    assert.ok(names.length >= 6);
  });

  for (const name of names) {
    const input = join(FOLDER, `${name}.input.yaml`);
    const output = join(FOLDER, `${name}.output.txt`);
    it(`${name}: ${readFileSync(input, 'utf8').split('\n')[0]?.replace(/^# /, '')}`, async () => {
      const { stdout, code } = await isthmusHere('lint', '-f', input, '-n', 'shop');
      const text = stdout.replaceAll(input, `${name}.input.yaml`);
      if (environment().updateGolden) writeFileSync(output, text);
      assert.equal(text, readFileSync(output, 'utf8'));
      assert.equal(code, /: error: /.test(text) ? 1 : 0);
    });
  }
});
