// CONTRIBUTING.md names places that there are, and stays short; the questions name reasons that are explained.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TOP_FOLDERS } from '../../support/rules/architecture.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

/** A screen and a half. */
const MOST_LINES = 75;

/** Paths of the checkout that a text names in code: below a top-level folder, `test` or `docs`. */
function pathsIn(text: string): readonly string[] {
  const tops = [...Object.keys(TOP_FOLDERS), 'test', 'docs'];
  const spans = [...text.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map(([, path = '']) => path);
  return spans.filter((path) => tops.includes(path.split('/')[0] ?? ''));
}

const missing = (text: string): readonly string[] => pathsIn(text).filter((path) => !existsSync(join(ROOT, path)));

describe('CONTRIBUTING.md', () => {
  const text = textOf('CONTRIBUTING.md');

  it('names files and folders that there are', () => {
    assert.ok(pathsIn(text).length > 20);
    assert.deepEqual(missing(text), []);
  });

  it('and the index of the architecture name files and folders that there are', () => {
    const index = textOf('docs/architecture.md').split('\n## Index').at(-1) ?? '';
    assert.ok(pathsIn(index).length > 60);
    assert.deepEqual(missing(index), []);
  });

  it('would be missed with a file that is gone', () => assert.deepEqual(missing('`cli/gone.ts`'), ['cli/gone.ts']));

  it('names the list that a new filter goes into', () => {
    assert.match(text, /`FILTERS` of `scheduler\/decision\/filters\.ts`/);
    assert.match(textOf('scheduler/decision/filters.ts'), /^export const FILTERS\b/m);
  });

  it('fits on a screen and a half', () => assert.ok(text.split('\n').length <= MOST_LINES));
});

describe('the page of questions', () => {
  it('names reasons that are explained', () => {
    const reasons = textOf('docs/reasons.md');
    const cells = textOf('docs/faq.md').split('\n').filter((line) => line.startsWith('|') || line.includes('Event'));
    const named = [...cells.join('\n').matchAll(/`([A-Z][a-z]+[A-Z]\w+|Unschedulable|Unreachable)`/g)];
    const wanted = named.map(([, reason = '']) => reason).filter((reason) => reason !== 'PodScheduled');
    assert.ok(wanted.length > 3);
    assert.deepEqual(wanted.filter((reason) => !reasons.includes(`| \`${reason}\` |`)), []);
  });
});
