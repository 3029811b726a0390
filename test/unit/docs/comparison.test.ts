// What the README and the comparison claim of us in figures is what the code has and what was measured.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../manifests/objects/crds.ts';
import { textOf } from '../../support/documented-blocks.ts';

const row = (page: string, name: string): readonly string[] => textOf(page).split('\n').find((line) => line.startsWith(`| ${name} |`))?.split('|').slice(2).map((cell) => cell.trim()) ?? [];

describe('the comparison', () => {
  it('counts our kinds', () => {
    assert.equal(row('docs/comparison.md', 'Kinds')[0], `${customResourceDefinitions().length}, and the two of ServiceExport and ServiceImport`);
    assert.equal(serviceDiscoveryCrds().length, 2);
  });

  it('has figures of ours in the README that are on the page of results', () => {
    const claim = textOf('README.md').split('\n').find((line) => line.includes('([measured](docs/results/benchmarks.md))')) ?? '';
    const figures = [...claim.matchAll(/\b0\.\d+\b/g)].map(([figure]) => figure);
    const measured = textOf('docs/results/benchmarks.md');
    assert.ok(figures.length > 1, claim);
    assert.deepEqual(figures.filter((figure) => !measured.includes(figure)), []);
  });

  it('says of whom it tells what, and from when', () => {
    for (const page of ['README.md', 'docs/comparison.md']) {
      const head = textOf(page).split('\n').find((line) => /^\|.*Isthmus.*Admiralty/.test(line)) ?? '';
      const others = head.split('|').slice(3, -1);
      assert.ok(others.length >= 5, page);
      for (const other of others) assert.match(other, /\b20\d\d\b/, `${page}: ${other}`);
    }
  });
});
