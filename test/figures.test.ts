// Holds what a reader has to take in at once: width of lines, length of files and functions. Prints the figures.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SourceFile } from './support/rules/architecture.ts';
import {
  figuresText, FUNCTION_QUANTILES, functionsOf, longFiles, longFunctions, MAX_COLUMNS, MAX_FILE_LINES,
  MAX_FUNCTION_LINES, quantile, wideLines,
} from './support/rules/house-figures.ts';
import { sourceFiles } from './support/rules/source-files.ts';

describe('sizes in the repository', () => {
  const files = sourceFiles();
  const tests = files.filter(({ path }) => path.startsWith('test/'));
  const production = files.filter(({ path }) => !/^(?:test|benchmarks)\//.test(path));
  const functions = production.flatMap(functionsOf);
  const sizes = functions.map(({ lines }) => lines);
  process.stdout.write(`${figuresText(production, tests, functions)}\n`);

  it(`has no line over ${MAX_COLUMNS} columns`, () => assert.deepEqual(files.flatMap(wideLines), []));
  it(`has no production file over ${MAX_FILE_LINES} lines`, () => assert.deepEqual(longFiles(production), []));
  it(`has no function over ${MAX_FUNCTION_LINES} lines`, () => assert.deepEqual(longFunctions(functions), []));
  it('has short functions', () => {
    const { median, p90 } = FUNCTION_QUANTILES;
    assert.ok(quantile(sizes, 0.5) <= median && quantile(sizes, 0.9) <= p90, figuresText(production, tests, functions));
  });
});

describe('figures of sources', () => {
  const file = (text: string, path = 'model/x.ts'): SourceFile => ({ path, text });
  const long = 'x'.repeat(MAX_COLUMNS);

  it('find lines that are too wide', () => {
    assert.deepEqual(wideLines(file(`const a = 1;\nconst ${long} = 1;\n`)), ['model/x.ts:2']);
    assert.deepEqual(wideLines(file(`a('${long}');\n`, 'test/x.ts')), ['test/x.ts:1']);
  });
  it('let a test quote a long text, and nothing else', () => {
    assert.deepEqual(wideLines(file(`  '${long}',\n  says: /${long}/,\n`, 'test/x.ts')), []);
    assert.deepEqual(wideLines(file(`  '${long}',\n`)), ['model/x.ts:1']);
  });
  it('find functions of every form, with their lines', () => {
    const text = 'function a() {\n  return 1;\n}\nconst b = () => 1;\n' +
      'class C {\n  d() {\n  }\n}\ndeclare function e(): void;\n';
    assert.deepEqual(functionsOf(file(text)).map(({ at, lines }) => [at, lines]), [
      ['model/x.ts:1', 3], ['model/x.ts:4', 1], ['model/x.ts:6', 2],
    ]);
  });
  it('find what is too long', () => {
    const files = [file('\n'.repeat(MAX_FILE_LINES)), file('\n'.repeat(MAX_FILE_LINES + 1), 'b.ts')];
    assert.deepEqual(longFiles(files), ['b.ts']);
    const sizes = [MAX_FUNCTION_LINES, MAX_FUNCTION_LINES + 1].map((lines) => ({ at: `x:${lines}`, lines }));
    assert.deepEqual(longFunctions(sizes), [`x:${MAX_FUNCTION_LINES + 1}`]);
  });
  it('refuse what does not parse', () =>
    assert.throws(() => functionsOf(file('const = ;')), /model\/x.ts does not parse/));
  it('give quantiles', () => assert.deepEqual([quantile([3, 1, 2], 0.5), quantile([], 0.5)], [2, 0]));
});
