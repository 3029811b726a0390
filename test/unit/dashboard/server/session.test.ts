import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Session } from '../../../../dashboard/server/session.ts';

describe('a session', () => {
  it('gives its token for the key, once', () => {
    const session = new Session({ key: 'key', token: 'token' });
    assert.equal(session.redeem('key'), 'token');
    assert.equal(session.redeem('key'), undefined);
  });

  it('keeps the key through wrong ones', () => {
    const session = new Session({ key: 'key', token: 'token' });
    for (const wrong of ['', 'kez', 'token', 'key ', 'k'.repeat(1_000)]) assert.equal(session.redeem(wrong), undefined);
    assert.equal(session.redeem('key'), 'token');
  });

  it('admits the token only once it was given away', () => {
    const session = new Session({ key: 'key', token: 'token' });
    assert.equal(session.admits('token'), false);
    session.redeem('key');
    assert.equal(session.admits('token'), true);
    for (const wrong of ['', 'key', 'Token', 'token ']) assert.equal(session.admits(wrong), false);
  });
});
