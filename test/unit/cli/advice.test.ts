// What commands and the chart advise can be typed: the parser takes every line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { nextSteps } from '../../../cli/install/install.ts';
import { wholeProgram } from '../../support/processes/whole-program.ts';
import { leavesOf } from '../../support/docs/wrong-inputs.ts';

const NOTES = fileURLToPath(new URL('../../../../manifests/helm/isthmus/templates/NOTES.txt', import.meta.url));

/** What the parser says against a command line; undefined when it takes it. */
async function problemOf(line: string): Promise<string | undefined> {
  const words = line.split(' ').slice(1);
  const isthmus = await wholeProgram(words);
  const strictly = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    command.commands.forEach(strictly);
  };
  strictly(isthmus);
  for (const [, command] of leavesOf(isthmus)) command.action(() => undefined);
  return isthmus.parseAsync(words, { from: 'user' })
    .then(() => undefined, (error: Error) => error.message);
}

/** A template with its conditions met, and without. */
function rendered(template: string): readonly string[] {
  const conditions = /\{\{ if [^}]*\}\}([^{]*(?:\{\{ \$?\.Release\.Namespace \}\})?[^{]*)\{\{ end \}\}/g;
  return [template.replaceAll(conditions, '$1'), template.replaceAll(conditions, '')].map(
    (text) => text.replaceAll(/\{\{ \$?\.Release\.Namespace \}\}/g, 'shop'),
  );
}

describe("the chart's notes", () => {
  const lines = readFileSync(NOTES, 'utf8').split('\n').filter((line) => /(?:^|: ) *isthmus /.test(line)).map(
    (line) => line.slice(line.indexOf('isthmus ')),
  );

  it('advise five commands', () => assert.equal(lines.length, 5));
  for (const line of new Set(lines.flatMap(rendered))) {
    it(line, async () => {
      assert.equal(await problemOf(line), undefined);
      if (line.startsWith('isthmus invite')) {
        assert.doesNotMatch(line, / --namespace /, 'that would offer one namespace');
      }
    });
  }
});

describe('the next steps after "isthmus install"', () => {
  for (const role of ['source', 'target', 'both'] as const) {
    for (const installNamespace of ['isthmus-system', 'shop']) {
      it(`can be typed for a ${role} in ${installNamespace}`, async () => {
        const lines =
          [...nextSteps({ installNamespace, role }).matchAll(/: (isthmus .*)$/gm)].map(([, line = '']) => line);
        for (const line of lines) assert.equal(await problemOf(line), undefined, line);
        assert.deepEqual(
          lines.map((line) => line.split(' ')[1]),
          { source: ['run', 'join'], target: ['run', 'invite'], both: ['run', 'invite', 'join'] }[role],
        );
        assert.equal(lines.every((line) => line.includes('shop')), installNamespace === 'shop');
      });
    }
  }
});
