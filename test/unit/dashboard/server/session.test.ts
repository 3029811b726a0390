import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Session } from '../../../../dashboard/server/session.ts';
import { ScriptedScreens } from '../../../support/page/scripted-screens.ts';

const screens = new ScriptedScreens();
const begin = (): Session => new Session({ key: 'key', token: 'token' }, screens);

describe('a session', () => {
  it('gives its token for the key, once', () => {
    const session = begin();
    assert.equal(session.redeem('key'), 'token');
    assert.equal(session.redeem('key'), undefined);
  });

  it('keeps the key through wrong ones', () => {
    const session = begin();
    for (const wrong of ['', 'kez', 'token', 'key ', 'k'.repeat(1_000)]) {
      assert.equal(session.redeem(wrong), undefined);
    }
    assert.equal(session.redeem('key'), 'token');
  });

  it('shows its screens to the token, and only once it was given away', () => {
    const session = begin();
    assert.equal(session.viewerOf('token'), undefined);
    session.redeem('key');
    assert.equal(session.viewerOf('token')?.screens, screens);
    for (const wrong of ['', 'key', 'Token', 'token ']) assert.equal(session.viewerOf(wrong), undefined);
  });
});
