// The fuzzer's corpus again, and some thousand changes of it that a seed determines: what a soak has found once stays
// found.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { replay } from '../fuzz/campaign.ts';
import { readCorpus } from '../fuzz/corpus.ts';
import { FUZZ_TARGETS } from '../fuzz/targets.ts';

/** Changes of each corpus: some seconds for all. */
const RUNS = 2_000;

describe('C2-45: whoever reads foreign bytes keeps its promises', () => {
  for (const target of FUZZ_TARGETS) {
    it(`${target.name}: ${target.reads}`, async () => {
      const findings = await replay(target, { runs: RUNS, seed: 1, corpus: readCorpus(target.name) });
      assert.deepEqual(findings.map(({ what, input }) => `${what}: ${input}`), []);
    });
  }
});

describe('the corpus', () => {
  const folder = new URL('../../../test/fuzz/corpus/', import.meta.url);
  it('is there for each reader, and for nothing else', () => assert.deepEqual(
    readdirSync(folder).toSorted(), FUZZ_TARGETS.map(({ name }) => `${name}.json`).toSorted(),
  ));
  it('is at most 300 kB', () => assert.ok(
    readdirSync(folder).reduce((sum, name) => sum + statSync(new URL(name, folder)).size, 0) <= 300_000,
  ));
});
