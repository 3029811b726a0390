// What every example of other systems' documentation becomes, spelled out: NAME.input.yaml is a manifest of theirs,
// NAME.output.yaml what `isthmus convert --keep-going` prints, with its findings as comments. `npm run update-golden`
// writes the outputs anew; a change of them is to be read before it is committed.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { convertObjects, type Converted } from '../../../../cli/convert/convert-objects.ts';
import { findingLines } from '../../../../cli/convert/converted-text.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';
import { environment } from '../../../../process/config.ts';
import { policyProblem } from '../../../../scheduler/snapshot/policy-problem.ts';
import { problemsOf } from '../../../support/peers/crd-check.ts';

// Compiled tests are one folder deeper than their sources.
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', '..', 'test', 'golden', 'convert');
const LEAST_PAIRS = 90;
const names = readdirSync(FOLDER).filter((file) => file.endsWith('.input.yaml'))
  .map((file) => file.replace('.input.yaml', '')).toSorted();

const textOf = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

function converted(text: string): Converted {
  const read = readObjects(text);
  assert.ok(read.kind === 'objects', read.kind === 'invalid' ? read.problem : '');
  return convertObjects(read.objects);
}

function printed({ objects, findings }: Converted): string {
  const lines = findingLines(findings).map((line) => `# ${line}\n`);
  const documents = objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }));
  return `${lines.join('')}${documents.join('---\n')}`;
}

describe('golden conversions', () => {
  it(`are at least ${LEAST_PAIRS}, each with its output`, () => {
    assert.ok(names.length >= LEAST_PAIRS, String(names.length));
    if (environment().updateGolden) return;
    const outputs = readdirSync(FOLDER).filter((file) => file.endsWith('.output.yaml'));
    assert.deepEqual(outputs.toSorted(), names.map((name) => `${name}.output.yaml`).toSorted());
  });

  for (const name of names) {
    const input = textOf(`${name}.input.yaml`);
    it(`${name}: ${input.split('\n')[0]?.replace(/^# /, '')}`, () => {
      const text = printed(converted(input));
      if (environment().updateGolden) writeFileSync(join(FOLDER, `${name}.output.yaml`), text);
      assert.equal(text, textOf(`${name}.output.yaml`));
    });

    it(`${name} is accepted by schemas and the scheduler, and stays as it is when converted again`, () => {
      const { objects } = converted(input);
      for (const object of objects) {
        assert.deepEqual(problemsOf(object), []);
        const { kind, spec } = object;
        if (kind === 'PlacementPolicy') assert.equal(policyProblem(spec, 'namespace'), undefined);
        if (kind === 'ClusterPlacementPolicy') assert.equal(policyProblem(spec, 'cluster'), undefined);
      }
      const text = objects.map((object) => stringify(object)).join('---\n');
      assert.deepEqual(converted(text).objects, objects);
    });
  }

  it('say of each system both what is done in another way and what is lost', () => {
    for (const system of ['kubefed', 'karmada', 'liqo', 'admiralty']) {
      const ofSystem = names.filter((name) => name.startsWith(system));
      const all = ofSystem.map((name) => textOf(`${name}.output.yaml`)).join('\n');
      assert.match(all, /^# note: /m, system);
      assert.match(all, /^# lost: /m, system);
      assert.ok(parseAllDocuments(all).length > 10, system);
    }
  });
});
