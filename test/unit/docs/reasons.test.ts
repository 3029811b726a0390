// Every reason that people meet in conditions, rejections and events is documented, and none that there is not.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { REASON_AFTER_MS } from '../../../scheduler/cycle/overdue-pod.ts';
import { CONFLICT_REASONS } from '../../../service-discovery/imports/merge-exports.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FOLDERS = [
  'delegate-controller', 'discovery', 'gateway', 'kubernetes', 'model', 'peering', 'pod-plane', 'scheduler',
  'service-discovery', 'targets', 'virtual-node', 'webhook',
];
const sources = FOLDERS.flatMap(
  (folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8')),
).join('\n');
const GIVEN = String.raw`(?:reason: |refuse\(\s*|unavailable\(\s*|deny\(\s*)`;
const valueOf = (constant: string): readonly string[] =>
  [...sources.matchAll(new RegExp(`const ${constant} = '([A-Z]\\w+)'`, 'g'))].map(([, reason = '']) => reason);
const matched = (pattern: string): readonly string[] =>
  [...sources.matchAll(new RegExp(GIVEN + pattern, 'g'))].map(([, one = '']) => one);
/** In any branch of an expression. */
const chosen = [...sources.matchAll(/\breason: ([^,;{}\n]*)/g)].flatMap(
  ([, expression = '']) => [...expression.matchAll(/'([A-Z]\w+)'/g)].map(([, one = '']) => one),
);
const [, states = ''] = /type EntryState =([^]*?);\n\n/.exec(
  readFileSync(join(ROOT, 'api/registry/target-discovery.ts'), 'utf8'),
) ?? [];
const entryStates = [...states.matchAll(/'(\w+)'/g)].map(([, state = '']) => state);
const given = new Set([
  ...chosen, ...entryStates, ...CONFLICT_REASONS, ...matched(String.raw`'([A-Z]\w+)'`),
  ...matched(String.raw`([A-Z]+(?:_[A-Z]+)+)\b`).flatMap(valueOf),
]);
const documented = (page: string): readonly string[] => [
  ...readFileSync(join(ROOT, 'docs', page), 'utf8').matchAll(/^\| `([A-Z]\w+)` \|/gm),
].map(([, reason = '']) => reason);
const all = [...documented('reasons.md'), ...documented('admission-denials.md')];

describe('reasons', () => {
  it('are documented in docs/reasons.md or docs/admission-denials.md', () => {
    assert.ok(given.size > 80 && entryStates.length > 8);
    assert.deepEqual([...given].filter((reason) => !all.includes(reason)).toSorted(), []);
  });

  it('that are documented are given somewhere', () => {
    assert.deepEqual(all.filter((reason) => !sources.includes(`'${reason}'`)), []);
  });

  it('of tokens that do not hold are on the page of joining, which tells who comes too late one reason', () => {
    const signedToken = readFileSync(join(ROOT, 'process/crypto/signed-token.ts'), 'utf8');
    const [, union = ''] = /type TokenProblem =([^;]*);/.exec(signedToken) ?? [];
    const problems = [...union.matchAll(/'(\w+)'/g)].map(([, reason = '']) => reason);
    const page = readFileSync(join(ROOT, 'docs/joining.md'), 'utf8');
    assert.ok(problems.length > 5);
    assert.deepEqual(problems.filter((reason) => !page.includes(`\`${reason}\``)), ['TokenExpired']);
  });

  it('say after how many seconds a pod is told that nobody has processed it', () => {
    const row = /^\| `AwaitingScheduler` \|.*$/m.exec(readFileSync(join(ROOT, 'docs/reasons.md'), 'utf8'))?.[0] ?? '';
    assert.ok(row.includes(`for ${REASON_AFTER_MS / 1_000} s.`), row);
  });

  it('stand in each table in order and once', () => {
    for (const section of readFileSync(join(ROOT, 'docs/reasons.md'), 'utf8').split(/^## /m)) {
      const reasons = [...section.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, reason = '']) => reason);
      assert.deepEqual(reasons, [...new Set(reasons)].toSorted());
    }
  });
});
