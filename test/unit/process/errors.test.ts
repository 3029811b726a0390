import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { AppError, messageOf } from '../../../process/errors.ts';

/** Compiled tests are one folder deeper than their sources. */
const root = new URL('../../../../', import.meta.url);

async function codesInSource(): Promise<string[]> {
  const text = await readFile(new URL('process/errors.ts', root), 'utf8');
  const union = /export type ErrorCode =([^;]+);/.exec(text)?.[1] ?? '';
  return [...union.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
}

async function codesInDocument(): Promise<string[]> {
  const text = await readFile(new URL('docs/errors.md', root), 'utf8');
  return [...text.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1] ?? '');
}

describe('error codes', () => {
  it('are all explained in docs/errors.md, and no others', async () => {
    const [source, document] = await Promise.all([codesInSource(), codesInDocument()]);
    assert(source.length > 5);
    assert.deepEqual(document.toSorted(), source.toSorted());
  });

  it('are listed in alphabetical order, each once', async () => {
    const document = await codesInDocument();
    assert.deepEqual(document, [...new Set(document)].toSorted());
  });
});

describe('AppError', () => {
  it('carries code, message and cause', () => {
    const cause = new Error('why');
    const error = new AppError('NotFound', 'there is none', { cause });
    assert.deepEqual(
      [error.name, error.code, error.message, error.cause], ['AppError', 'NotFound', 'there is none', cause],
    );
  });
});

describe('messageOf', () => {
  for (
    const [thrown, message] of [
      [new Error('text'), 'text'], ['text', 'text'], [undefined, 'undefined'], [7, '7'],
    ] as const
  ) {
    it(`of ${String(thrown)} is ${message}`, () => assert.equal(messageOf(thrown), message));
  }
});
