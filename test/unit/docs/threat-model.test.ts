// docs/threat-model.md tells the worst case of each identity, as the grants do that are tried against API servers.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { environment } from '../../../process/config.ts';
import { GRANTS, isGranted, powersOf } from '../../support/attackers/escalation-grants.ts';

const PAGE = new URL('../../../../docs/threat-model.md', import.meta.url);
const HEAD = '| Identity | In the worst case |\n|---|---|\n';

describe('the threat model', () => {
  it('tells the worst case of each identity; `npm run update-golden` makes it so', () => {
    const text = readFileSync(PAGE, 'utf8');
    const [before, after = ''] = text.split(HEAD);
    const rest = after.slice(after.indexOf('\n\n'));
    const wanted =
      `${before}${HEAD}${GRANTS.map(({ identity, worstCase }) => `| ${identity} | ${worstCase} |`).join('\n')}${rest}`;
    if (environment().updateGolden) writeFileSync(PAGE, wanted);
    assert.equal(text, wanted);
  });

  it('is linked from where people look', () => {
    for (const page of ['README.md', 'SECURITY.md', 'docs/README.md', 'docs/how-it-works.md']) {
      assert.match(readFileSync(new URL(`../../../../${page}`, import.meta.url), 'utf8'), /threat-model\.md/, page);
    }
  });
});

describe('a grant', () => {
  const readsPods = { identity: 'i', worstCase: '', grants: [[['a'], 'read', 'pods services']] as const };
  const rows: readonly [string, { readonly power: string; readonly place: string }, boolean][] = [
    ['is for its place', { power: 'read pods', place: 'a' }, true],
    ['is for no other place', { power: 'read pods', place: 'b' }, false],
    ['is for no other verb', { power: 'write pods', place: 'a' }, false],
    ['is for no subresource', { power: 'read pods/exec', place: 'a' }, false],
    ['is not for what is of others', { power: 'read pods of others', place: 'a' }, false],
    ['covers what follows from it', { power: 'learn environment of pods in a', place: 'a' }, true],
    ['covers nothing else', { power: 'learn Secrets in a', place: 'a' }, false],
  ];
  for (const [what, power, expected] of rows) {
    it(what, () => assert.equal(isGranted(readsPods, { ...power, evidence: '' }), expected));
  }
  it('says whose', () => assert.deepEqual(
    powersOf([['a'], 'write', 'pods secrets', 'of its own']), ['write pods of its own', 'write secrets of its own'],
  ));
});
