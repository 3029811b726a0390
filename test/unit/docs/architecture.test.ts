// docs/architecture.md and docs/pod-journey.md say what the table of folders and the code say.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { environment } from '../../../process/config.ts';
import { TOP_FOLDERS } from '../../support/rules/architecture.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const PAGE = 'docs/architecture.md';
const JOURNEY = 'docs/pod-journey.md';
const topFolders = Object.keys(TOP_FOLDERS);
const folders = Object.entries(TOP_FOLDERS).flatMap(([top, table]) =>
  Object.keys(table.folders).map((folder) => (folder === '.' ? top : `${top}/${folder}`)));

/** The cells of each row of the table below a heading. */
function rowsBelow(text: string, heading: string): readonly (readonly string[])[] {
  const section = text.split(/^## /m).find((each) => each.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
}

const unquoted = (cell = ''): string => cell.replaceAll('`', '');

/** What a top-level folder may import, in words. */
function importsOf(top: string): string {
  const { imports = [] } = TOP_FOLDERS[top] ?? {};
  const above = topFolders.slice(0, topFolders.indexOf(top));
  if (imports.length === 0) return 'nothing';
  if (imports.length > 6 && above.every((name) => imports.includes(name))) return 'all folders above it';
  return imports.map((name) => `\`${name}\``).join(', ');
}

/** The page with its last column as the table of folders has it. */
function withImports(text: string): string {
  return text.split('\n').map((line) => {
    const cells = line.split('|');
    const top = unquoted(cells[1]).trim();
    const isFolderRow = cells.length === 7 && topFolders.includes(top);
    return isFolderRow ? [...cells.slice(0, 5), ` ${importsOf(top)} `, ''].join('|') : line;
  }).join('\n');
}

describe('the page of the architecture', () => {
  it('has one row for each top-level folder, in the order of the table', () => {
    assert.deepEqual(rowsBelow(textOf(PAGE), 'Top-level folders').map(([top]) => unquoted(top)), topFolders);
  });

  it('says what each top-level folder may import; `npm run update-golden` makes it so', () => {
    const text = textOf(PAGE);
    if (environment().updateGolden) writeFileSync(join(ROOT, PAGE), withImports(text));
    assert.equal(text, withImports(text));
  });

  it('has one row with a sentence for each folder, and none for a folder that there is not', () => {
    const rows = rowsBelow(textOf(PAGE), 'Folders in them');
    assert.deepEqual(rows.map(([folder]) => unquoted(folder)).toSorted(), folders.toSorted());
    for (const [folder, sentence = ''] of rows) assert.match(sentence, /^\S.{5,}\.$/, folder);
  });

  it('shows each top-level folder in its picture', () => {
    const [picture = ''] = /^```\n[^]*?^```/m.exec(textOf(PAGE)) ?? [];
    assert.deepEqual(topFolders.filter((top) => !picture.includes(top)), []);
  });
});

/** Sources of the product, by path. */
const paths = topFolders.flatMap((top) =>
  readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' }).map((path) => `${top}/${path}`));
const sources =
  new Map<string, string>(paths.filter((path) => path.endsWith('.ts')).map((path) => [path, textOf(path)]));

/** Whether a text declares a function or method of that name. */
function declaresFunction(text: string, name: string): boolean {
  return new RegExp(`(?:function |^ {2}(?:async )?)${name}\\b`, 'm').test(text);
}

function declaresType(name: string): boolean {
  const declaration = new RegExp(`^export (?:interface|type|class) ${name}\\b`, 'm');
  return [...sources.values()].some((text) => declaration.test(text));
}

/** What a row of the journey names that there is not: its file, its function there, a type. */
function missingIn([file, functions, comesIn, goesOut]: readonly string[]): readonly string[] {
  const path = unquoted(file);
  const text = sources.get(path);
  if (text === undefined) return [path];
  const types = [...`${comesIn} ${goesOut}`.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name);
  const unknown = types.filter((name) => !declaresType(name));
  return [...(declaresFunction(text, unquoted(functions)) ? [] : [`${path} ${functions}`]), ...unknown];
}

/** Kinds of steps that a text names after a type, as `Type`: `kind`. */
function stepsIn([file, , , goesOut = '']: readonly string[]): readonly string[] {
  const text = sources.get(unquoted(file)) ?? '';
  const [, kinds = ''] = goesOut.split(':');
  const named = [...kinds.matchAll(/`([\w-]+)`/g)].map(([, kind = '']) => kind);
  return named.filter((kind) => !text.includes(`kind: '${kind}'`));
}

describe('the journey of a pod', () => {
  const text = textOf(JOURNEY);
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  const steps = rows.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));

  it('names files, functions and types that there are', () => {
    assert.ok(steps.length > 20);
    assert.deepEqual(steps.flatMap(missingIn), []);
    assert.deepEqual(steps.flatMap(stepsIn), []);
  });

  it('names other files that there are', () => {
    const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path);
    assert.deepEqual(named.filter((path) => !existsSync(join(ROOT, path))), []);
  });

  it('would miss a file, a function, a type or a step that is gone', () => {
    const file = '`scheduler/decision/schedule-pod.ts`';
    assert.deepEqual(missingIn(['`scheduler/gone.ts`', '`schedulePod`', '', '']), ['scheduler/gone.ts']);
    const missing = ['scheduler/decision/schedule-pod.ts `scheduleNothing`', 'NoSuchType'];
    assert.deepEqual(missingIn([file, '`scheduleNothing`', '`NoSuchType`', '']), missing);
    assert.deepEqual(stepsIn(['`scheduler/cycle/placement.ts`', '', '', '`PlacementStep`: `fly`']), ['fly']);
  });
});
