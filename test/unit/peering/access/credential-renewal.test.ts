import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DEFAULT_TOKEN_SECONDS } from '../../../../api/kinds/invitation.ts';
import type { Secret } from '../../../../api/objects/core.ts';
import { sourcePolicies } from '../../../../manifests/policies/source-policy.ts';
import { planRenewal } from '../../../../peering/access/credential-renewal.ts';
import { tokenKubeconfig } from '../../../../peering/access/target-access.ts';

const HOUR = 3_600;
const ISSUED = 1_800_000_000;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims: unknown): string => `${encode({ alg: 'RS256' })}.${encode(claims)}.signature`;
const kubeconfig = (token: string): string =>
  tokenKubeconfig({ server: 'https://b.example', token, cluster: 'c2', user: 'u' });
const secretOf = (text: string, annotation: string | undefined = 'ns/account'): Secret => ({
  metadata:
    { name: 's', namespace: 'n', annotations: annotation === '' ? {} : { 'isthmus.dev/service-account': annotation } },
  data: { config: Buffer.from(text).toString('base64') },
});
const dayLong = kubeconfig(jwt({ iat: ISSUED, exp: ISSUED + 24 * HOUR }));
const at = (seconds: number): number => (ISSUED + seconds) * 1_000;

describe('planRenewal', () => {
  const rows: readonly [string, number, unknown][] = [
    ['looks again soon while there is long to go, for another token may be written', 0, { kind: 'later', ms: 120_000 }],
    ['looks again when it is due', 16 * HOUR - 60, { kind: 'later', ms: 60_000 }],
    ['renews at two thirds, for the same life', 16 * HOUR, {
      kind: 'now', account: { namespace: 'ns', name: 'account' }, seconds: 24 * HOUR, kubeconfig: dayLong,
    }],
    ['renews what has run out: the API server may be more patient', 30 * HOUR, {
      kind: 'now', account: { namespace: 'ns', name: 'account' }, seconds: 24 * HOUR, kubeconfig: dayLong,
    }],
  ];
  for (const [what, seconds, expected] of rows) {
    it(what, () => assert.deepEqual(planRenewal(secretOf(dayLong), 'config', at(seconds)), expected));
  }

  const notOurs: readonly [string, Secret, RegExp][] = [
    ['a Secret that peering did not write', secretOf(dayLong, ''), /annotation isthmus\.dev\/service-account/],
    ['an annotation that names no account', secretOf(dayLong, 'account'), /annotation/],
    ['an annotation with too many parts', secretOf(dayLong, 'a/b/c'), /annotation/],
    ['a kubeconfig without a token', secretOf('users: []'), /key config/],
    ['a kubeconfig that is not YAML', secretOf('users: ['), /key config/],
    ['a token that is no JWT', secretOf(kubeconfig('abc')), /key config/],
    [
      'a token of another account, which somebody has put there',
      secretOf(kubeconfig(jwt({ iat: ISSUED, exp: ISSUED + 1, sub: 'system:serviceaccount:ns:mine' }))), /ns\/account/,
    ],
    ['a token without an end', secretOf(kubeconfig(jwt({ iat: ISSUED }))), /key config/],
    ['a token that ended before it began', secretOf(kubeconfig(jwt({ iat: ISSUED, exp: ISSUED - 1 }))), /key config/],
    ['claims that are no object', secretOf(kubeconfig(jwt(null))), /key config/],
    [
      'an empty Secret', { metadata: { name: 's', annotations: { 'isthmus.dev/service-account': 'a/b' } } },
      /key config/,
    ],
  ];
  for (const [what, secret, why] of notOurs) {
    it(`leaves ${what} alone and says why`, () => {
      const renewal = planRenewal(secret, 'config', at(0));
      assert.equal(renewal.kind, 'none');
      assert.match(renewal.kind === 'none' ? renewal.why : '', why);
    });
  }

  it('renews the token of the account that peering made', () => {
    const text = kubeconfig(jwt({ iat: ISSUED, exp: ISSUED + HOUR, sub: 'system:serviceaccount:ns:account' }));
    assert.equal(planRenewal(secretOf(text), 'config', at(HOUR)).kind, 'now');
  });

  const renewedFor = (seconds: number): number | undefined => {
    const text = kubeconfig(jwt({ iat: ISSUED, exp: ISSUED + seconds }));
    const renewal = planRenewal(secretOf(text), 'config', at(seconds));
    return renewal.kind === 'now' ? renewal.seconds : undefined;
  };
  /** The longest life in s that the admission policy of a target lets a source request. */
  const policy = JSON.stringify(sourcePolicies('isthmus-system'));
  const allowed = Number(/expirationSeconds <= (\d+)/.exec(policy)?.[1]);

  it('keeps the life that an administrator chose, up to what the admission policy of the target allows', () => {
    assert.ok(allowed >= DEFAULT_TOKEN_SECONDS, `a source may not even request the default: ${allowed}`);
    for (const seconds of [600, 2 * HOUR, allowed - 1, allowed]) assert.equal(renewedFor(seconds), seconds);
  });

  it('asks for no more than that policy allows: a longer first token would otherwise never be renewed', () => {
    for (const seconds of [allowed + 1, 30 * allowed]) assert.equal(renewedFor(seconds), allowed);
  });

  it('never waits beyond two thirds of any life, and renews from then on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 600, max: 400 * 24 * HOUR }),
        fc.double({ min: 0, max: 1, noNaN: true }), (life, part) => {
        const renewal =
          planRenewal(secretOf(kubeconfig(jwt({ iat: ISSUED, exp: ISSUED + life }))), 'config', at(life * part));
        assert.equal(renewal.kind, part < 2 / 3 ? 'later' : 'now');
        if (renewal.kind === 'later') assert.ok(renewal.ms / 1_000 <= life * (2 / 3 - part) + 1e-3);
      }),
    );
  });
});
