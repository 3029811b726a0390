// What the comparison claims of us is what the code has, and it says of whom it tells what, and from when.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../manifests/objects/crds.ts';
import { textOf } from '../../support/docs/documented-blocks.ts';

const row = (page: string, name: string): readonly string[] => textOf(page).split('\n').find(
  (line) => line.startsWith(`| ${name} |`),
)?.split('|').slice(2).map((cell) => cell.trim()) ?? [];

describe('the comparison', () => {
  it('counts our kinds', () => {
    assert.equal(
      row('docs/comparison.md', 'CRDs')[0],
      `${customResourceDefinitions().length}, plus ServiceExport and ServiceImport`,
    );
    assert.equal(serviceDiscoveryCrds().length, 2);
  });

  it('says of whom it tells what, and from when', () => {
    for (const page of ['docs/comparison.md']) {
      const head = textOf(page).split('\n').find((line) => /^\|.*Isthmus.*Admiralty/.test(line)) ?? '';
      const others = head.split('|').slice(3, -1);
      assert.ok(others.length >= 5, page);
      for (const other of others) assert.match(other, /\b20\d\d\b/, `${page}: ${other}`);
    }
  });
});
