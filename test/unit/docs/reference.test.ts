// Pages that follow from the code are what the code says now. `npm run update-golden` prints them.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import * as keys from '../../../api/objects/keys.ts';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../manifests/objects/crds.ts';
import { environment } from '../../../process/config.ts';
import { conformancePage } from '../../support/docs/conformance-page.ts';
import { POD_CASES } from '../../support/real-nodes/real-node-cases.ts';
import { commandsPage, keysPage, kindsPage } from '../../support/docs/reference-pages.ts';
import { wholeProgram } from '../../support/processes/whole-program.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const PAGES = {
  'docs/commands.md': commandsPage(await wholeProgram()),
  'docs/kinds.md': kindsPage([...customResourceDefinitions(), ...serviceDiscoveryCrds()]),
  'docs/results/conformance.md': conformancePage(),
  'docs/keys.md': keysPage(readFileSync(join(ROOT, 'api/objects/keys.ts'), 'utf8'), keys),
};

describe('the reference', () => {
  for (const [page, text] of Object.entries(PAGES)) {
    it(`${page} is current; \`npm run update-golden\` makes it so`, () => {
      if (environment().updateGolden) writeFileSync(join(ROOT, page), text);
      assert.equal(readFileSync(join(ROOT, page), 'utf8'), text);
    });
  }

  it('names every key that the code has, each once', () => {
    const all = Object.values(keys)
      .filter((value) => typeof value === 'string' && /^(multicluster\.admiralty\.io|isthmus\.dev)\/./.test(value));
    assert.ok(all.length > 40);
    for (const key of all) assert.equal(PAGES['docs/keys.md'].split(`| \`${key}\` |`).length, 2, key);
  });

  it('names every pod that runs twice, and what differs', () => {
    const page = PAGES['docs/results/conformance.md'];
    assert.ok(POD_CASES.length >= 60);
    for (const { name, differs = [] } of POD_CASES) {
      assert.equal(page.split(`\`${name}\``).length > 1, true, name);
      for (const { why } of differs) assert.ok(page.includes(why));
    }
    assert.equal(new Set(POD_CASES.map(({ name }) => name)).size, POD_CASES.length);
  });

  it('gives every default that holds', async () => {
    const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
    const other = all(await wholeProgram()).flatMap((command) => command.options
      .filter((option) => !option.negate
        && command.getOptionValue(option.attributeName()) !== option.defaultValue)
      .map(({ long }) => `${command.parent?.name()} ${command.name()} ${long}`));
    assert.deepEqual(other, []);
  });

  it('gives every default as it is typed', () => assert.doesNotMatch(PAGES['docs/commands.md'], /default `[[{]"/));

  it('names every command, and the fields of every kind', () => {
    for (const name of ['install', 'run', 'gateway join', 'sandbox demo']) {
      assert.ok(PAGES['docs/commands.md'].includes(`## isthmus ${name}\n`), name);
    }
    for (const { spec } of customResourceDefinitions()) {
      assert.ok(PAGES['docs/kinds.md'].includes(`## ${spec.names.kind}\n`));
    }
    assert.ok(PAGES['docs/kinds.md'].includes('| `spec.kubeconfigSecret.name` | string'));
  });
});
