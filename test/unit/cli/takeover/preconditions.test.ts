import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  accountOfToken, requirePreconditions, targetFiles, type Preconditions,
} from '../../../../cli/takeover/preconditions.ts';

const GOOD: Preconditions = {
  installed: { kind: 'chart', namespace: 'isthmus-system' }, installNamespace: 'isthmus-system', mayInstall: false,
  admiraltyTargets: [], targetsLater: false,
};
const refusal = (wrong: Partial<Preconditions>): string => {
  try {
    requirePreconditions({ ...GOOD, ...wrong });
    return '';
  } catch (error) {
    return String(error);
  }
};

describe('what must be so before a takeover', () => {
  it('is a chart in the namespace that is named, or what "isthmus install" made', () => {
    assert.equal(refusal({}), '');
    assert.equal(refusal({ installed: { kind: 'command' } }), '');
    assert.match(
      refusal({ installed: { kind: 'chart', namespace: 'admiralty' } }),
      /in namespace admiralty, not in isthmus-system\. Add --install-namespace admiralty\./,
    );
    assert.equal(
      refusal({ installed: { kind: 'chart', namespace: 'admiralty' }, installNamespace: 'admiralty' }), '',
    );
  });

  it('is something installed, unless the command may install: a chart would be refused after it', () => {
    assert.match(refusal({ installed: { kind: 'nothing' } }), /not installed in this cluster.*--install /);
    assert.equal(refusal({ installed: { kind: 'nothing' }, mayInstall: true }), '');
  });

  it('is that targets went first, unless they may follow', () => {
    assert.match(
      refusal({ admiraltyTargets: ['eu', 'team/own'] }), /Admiralty still runs in eu, team\/own\. .*--targets-later/,
    );
    assert.equal(refusal({ admiraltyTargets: ['eu'], targetsLater: true }), '');
  });
});

describe('files of targets', () => {
  const targets = [
    { kind: 'ClusterTarget', name: 'eu' }, { kind: 'Target', namespace: 'team', name: 'own' },
  ] as const;

  it('are given for every target by its name, and may have "=" in theirs', () => {
    assert.deepEqual(
      [...targetFiles(targets, ['eu=a.yaml', 'team/own=b=c.yaml'])], [['eu', 'a.yaml'], ['team/own', 'b=c.yaml']],
    );
    assert.equal(targetFiles([], []).size, 0);
  });

  it('are asked for where one is missing', () => {
    assert.throws(() => targetFiles(targets, ['eu=a']), { code: 'BadInput', message: /: --target team\/own=FILE\./ });
    assert.throws(() => targetFiles(targets, []), { message: /--target eu=FILE --target team\/own=FILE\./ });
  });

  it('are refused for names that no target has, with the names of those there are', () => {
    assert.throws(
      () => targetFiles(targets, ['eu=a', 'own=b']), { message: /called "own"\. Its targets: eu, team\/own\./ },
    );
    assert.throws(() => targetFiles(targets, ['a.yaml']), { message: /called ""\./ });
    assert.throws(() => targetFiles([], ['eu=a']), { message: /no targets; leave out --target eu, or name the kube/ });
  });
});

describe('the account of a token', () => {
  const tokenWith = (claims: unknown): string =>
    `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

  it('is what its API server wrote into it, bound or from a Secret', () => {
    const account = { namespace: 'team', name: 'from-own', uid: 'u1' };
    assert.deepEqual(
      accountOfToken(tokenWith(
        { 'kubernetes.io': { namespace: 'team', serviceaccount: { name: 'from-own', uid: 'u1' } } },
      )), account,
    );
    const p = 'kubernetes.io/serviceaccount';
    assert.deepEqual(
      accountOfToken(tokenWith(
        { [`${p}/namespace`]: 'team', [`${p}/service-account.name`]: 'from-own', [`${p}/service-account.uid`]: 'u1' },
      )), account,
    );
  });

  it('is unknown of anything else', () => {
    for (const token of ['', 'opaque', 'a.%%%.c', tokenWith(null), tokenWith({ sub: 'me' }), tokenWith(
      { 'kubernetes.io': { namespace: 'team', serviceaccount: 7 } },
    )]) assert.equal(accountOfToken(token), undefined, token);
  });
});
