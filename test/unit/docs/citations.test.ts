// Nothing in the repository cites what is not in it: pages that only its authors had, numbers without a table, ADRs
// that are missing.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ATTACKS } from '../../support/rules/attacks.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const SKIPPED = /^(?:node_modules|build|\.git|test\/fuzz\/corpus)(?:\/|$)|(?:LICENSE|package-lock\.json|go\.sum)$/;
const TEXT = /\.(?:ts|mjs|md|yaml|json|txt|tpl|go)$|Dockerfile/;
/** This file has to spell what it refuses. */
const SELF = 'test/unit/docs/citations.test.ts';

/** Numbers in the first column of the tables of a page: `| 14, 15 killed |` has two. */
function numbersOf(page: string): ReadonlySet<string> {
  const cells = [...textOf(page).matchAll(/^\| (P?\w+(?:, \w+)*)/gm)].flatMap(([, cell = '']) => cell.split(', '));
  return new Set(cells.map((cell) => cell.toUpperCase()));
}

const ADRS = readdirSync(join(ROOT, 'docs/adr')).map((name) => name.slice(0, 4));

/** A citation, and whether it leads somewhere. The first group is what is looked up. */
interface Citation {
  readonly pattern: RegExp;
  /** Whether it does; without it, it never does. */
  readonly isKnown?: (cited: string) => boolean;
  readonly instead: string;
}

const isIn = (numbers: ReadonlySet<string>) => (cited: string): boolean => numbers.has(cited.toUpperCase());
const isAttack = (code: string): boolean => ATTACKS.some(({ id }) => `C2-${id}` === code);
const [FAULTS, INVARIANTS, BENCHMARKS] = ['faults', 'invariants', 'benchmarks'].map((name) => (
  numbersOf(name === 'faults' ? 'docs/results/faults.md' : `docs/${name}.md`)
)) as [ReadonlySet<string>, ReadonlySet<string>, ReadonlySet<string>];

const CITATIONS: readonly Citation[] = [
  { pattern: /\b(design (?:§|D\d)|the design's|\(D\d{1,2}\))/gi, instead: 'say it, or link to a page of docs/' },
  { pattern: /\b(contract (?:§|\d+\.\d))/gi, instead: 'docs/admiralty-contract.md' },
  {
    pattern: /(?<!\bRFC \d{4,5},? (?:§[\d.]+, )?)(?<!Trace Context )(§ ?\d)/g,
    instead: 'name the RFC before it, or a page of docs/',
  },
  { pattern: /\b(issue \d{1,3})\b/gi, instead: 'say what is asked' },
  { pattern: /\b(must hold \d)/gi, instead: 'say what must hold' },
  { pattern: /\b(table [A-D]\d)\b/gi, instead: 'docs/results/faults.md or attacks.md' },
  { pattern: /(?<!-)\b([A-D]\d-\d{1,2})\b(?![-'".\w])/g, isKnown: isAttack, instead: 'docs/results/attacks.md' },
  { pattern: /\b(?:faults?|row) (\d{1,2})\b(?! s\b)/g, isKnown: isIn(FAULTS), instead: 'docs/results/faults.md' },
  { pattern: /\binvariants? (\d{1,2})\b/gi, isKnown: isIn(INVARIANTS), instead: 'docs/invariants.md' },
  { pattern: /(?<![\w-])(P1?\d[BS]?|P[MN])(?![\w-])/g, isKnown: isIn(BENCHMARKS), instead: 'docs/benchmarks.md' },
  { pattern: /\bADR (\d{4})\b/g, isKnown: (number) => ADRS.includes(number), instead: 'docs/adr' },
];

function citationsIn(path: string, text: string): readonly string[] {
  return CITATIONS.flatMap(({ pattern, isKnown, instead }) => {
    const lost = [...text.matchAll(pattern)].filter(([, cited = '']) => isKnown?.(cited) !== true);
    return lost.map(([whole]) => `${path}: "${whole}" is nowhere; ${instead}`);
  });
}

function filesOf(folder = ''): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (SKIPPED.test(path)) return [];
    return entry.isDirectory() ? filesOf(path) : [path].filter((one) => TEXT.test(one) && one !== SELF);
  });
}

describe('citations', () => {
  it('lead to something that is in the repository', () => {
    const files = filesOf();
    assert.ok(files.length > 800, String(files.length));
    assert.deepEqual(files.flatMap((path) => citationsIn(path, readFileSync(join(ROOT, path), 'utf8'))), []);
  });

  it('name every benchmark that there is', () => {
    const names = filesOf('benchmarks').filter((name) => name.endsWith('.ts'));
    const sources = names.map((name) => textOf(name));
    const ids = sources.flatMap((text) => [...text.matchAll(/^ {2}id: '(P\w+)'/gm)].map(([, id = '']) => id));
    assert.ok(ids.length > 10);
    assert.deepEqual(ids.filter((id) => !BENCHMARKS.has(id)), []);
  });

  const LOST = [
    '(design D14)', 'Design §9 asks', 'contract §2.2', 'contract 1.2', 'see §4', 'issue 7', 'Must hold 3', 'B2-31',
    'C2-99', 'table B2', 'fault 99', 'invariant 14', 'P12', 'ADR 0999',
  ];
  for (const text of LOST) {
    it(`are refused: ${text}`, () => assert.notDeepEqual(citationsIn('a.md', `It holds ${text} of old.`), []));
  }

  const FOUND = [
    'RFC 9110 §5.6.7', 'RFC 8410, §7', 'kubernetes/kubernetes issue 124571', 'C2-18', 'faults 54', 'invariant 13',
    'P13S', 'ADR 0020', 'requirements must hold twice',
  ];
  for (const text of FOUND) {
    it(`are accepted: ${text}`, () => assert.deepEqual(citationsIn('a.md', `It holds ${text} here.`), []));
  }
});
