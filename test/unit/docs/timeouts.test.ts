// The table of timeouts on the page of operations has the values of the constants that it names.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DEFAULT_TOKEN_SECONDS } from '../../../api/kinds/invitation.ts';
import { MAX_OWN_TOKEN_SECONDS } from '../../../model/access/confinement-rules.ts';
import { environment } from '../../../process/config.ts';
import { VERDICT_TIMEOUT_MS } from '../../../scheduler/cycle/placement.ts';
import { SKIPPED_WAIT_MS } from '../../../scheduler/queue/verdict-times.ts';
import { HEARTBEAT_TIMEOUT_MS } from '../../../targets/heartbeat.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const PAGE = 'docs/operations.md';
/** A row that names a file and, in it, a constant or a field of one. */
const ROW = /^\| ([^|]+) \| [^|]* \| ([^|]*)\| `([\w/-]+\.ts)` `([\w.]+)` \|$/gm;

/** Milliseconds of one unit, by the end of a constant's name. */
const UNITS: readonly (readonly [end: RegExp, ms: number])[] = [
  [/(?:Ms|MS)(?:\.\w+)?$/, 1], [/S(?:ECONDS|econds)$/, 1_000], [/M(?:INUTES|inutes)$/, 60_000],
  [/D(?:AYS|ays)$/, 86_400_000],
];

/** The number that a text assigns to a constant, or to a field of a constant, in ms. */
function durationIn(text: string, name: string): number {
  const [constant = '', field] = name.split('.');
  const start = text.search(new RegExp(`\\b${constant}(?:: \\w+)?\\s*(?:=|:)\\s`));
  const last = field ?? constant;
  const found = new RegExp(`\\b${last}(?:: \\w+)?\\s*(?:=|:)\\s*([\\d_]+(?: \\* [\\d_]+)*)`).exec(text.slice(start));
  const unit = UNITS.find(([end]) => end.test(name) || end.test(constant))?.[1];
  if (start < 0 || found === null || unit === undefined) throw new Error(`no duration ${name}`);
  const factors = (found[1] ?? '').split(' * ').map((factor) => Number(factor.replaceAll('_', '')));
  return factors.reduce((product, factor) => product * factor, unit);
}

const SIZES: readonly (readonly [ms: number, one: string, many: string])[] = [
  [86_400_000, 'day', 'days'], [3_600_000, 'h', 'h'], [60_000, 'min', 'min'], [1_000, 's', 's'],
];

/** In the largest unit of which it is a whole number; below a minute in seconds. */
function shown(ms: number): string {
  const [size, one, many] = SIZES.find(([each]) => ms % each === 0) ?? [1_000, 's', 's'];
  const count = ms / size;
  return `${count} ${count === 1 ? one : many}`;
}

/** The page with the values of the code. */
function withValues(page: string, read: (path: string) => string): string {
  return page.replaceAll(ROW, (...[, what = '', by = '', path = '', name = '']: string[]) =>
    `| ${what} | ${shown(durationIn(read(path), name))} | ${by}| \`${path}\` \`${name}\` |`);
}

describe('the table of timeouts', () => {
  it('has the values of the code; `npm run update-golden` makes it so', () => {
    const page = textOf(PAGE);
    const wanted = withValues(page, textOf);
    if (environment().updateGolden) writeFileSync(join(ROOT, PAGE), wanted);
    assert.ok([...page.matchAll(ROW)].length > 30);
    assert.equal(textOf(PAGE), wanted);
  });

  const repeated: readonly (readonly [page: string, text: string, seconds: number])[] = [
    ['docs/how-it-works.md', 'after 150 s new pods go to other targets', HEARTBEAT_TIMEOUT_MS / 1_000],
    ['docs/delegation.md', 'If it is missing for 150 s', HEARTBEAT_TIMEOUT_MS / 1_000],
    ['docs/what-happens-when.md', 'After 150 s new pods go elsewhere', HEARTBEAT_TIMEOUT_MS / 1_000],
    ['docs/joining.md', 'Tokens are valid for a day', DEFAULT_TOKEN_SECONDS],
    ['docs/joining.md', 'tokens of at most a day', MAX_OWN_TOKEN_SECONDS],
    ['docs/faq.md', '| of a source in a target | a day,', DEFAULT_TOKEN_SECONDS],
    ['docs/threat-model.md', 'tokens of sources for a day', DEFAULT_TOKEN_SECONDS],
    ['docs/threat-model.md', 'own tokens of at most a day', MAX_OWN_TOKEN_SECONDS],
    ['docs/reasons.md', 'decides on no pod for 10 s', VERDICT_TIMEOUT_MS / 1_000],
    ['docs/reasons.md', 'before this one for 30 s', (VERDICT_TIMEOUT_MS + SKIPPED_WAIT_MS) / 1_000],
  ];
  for (const [path, text, seconds] of repeated) {
    it(`agrees with ${path}: ${text}`, () => {
      assert.ok(textOf(path).includes(text));
      const [, count] = /(\d+) s/.exec(text) ?? [];
      assert.equal(seconds, count === undefined ? 24 * 60 * 60 : Number(count));
    });
  }

  it('would miss a value that changed, and a constant that is gone', () => {
    const row = '| a call | 1 s |  | `a/b.ts` `LIMITS.callMs` |';
    const code = (text: string) => withValues(row, () => `const OTHER = { callMs: 9 };\nconst LIMITS = ${text};\n`);
    assert.equal(code('{ callMs: 1_000 }'), row);
    assert.match(code('{ callMs: 90 * 60_000 }'), /\| 90 min \|/);
    assert.match(code('{ callMs: 2 * 24 * 3_600_000 }'), /\| 2 days \|/);
    assert.match(code('{ callMs: 1_250 }'), /\| 1\.25 s \|/);
    assert.throws(() => code('{}'), /no duration LIMITS\.callMs/);
  });
});
