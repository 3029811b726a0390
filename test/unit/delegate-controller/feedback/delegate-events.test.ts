import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DelegateEvents, type TargetEvent } from '../../../../delegate-controller/feedback/delegate-events.ts';
import { aProxyRecord, withUid } from '../../../support/objects/builders.ts';

const event = (reason: string, note = 'what happened'): TargetEvent =>
  ({ metadata: {}, type: 'Warning', reason, note });

describe('DelegateEvents', () => {
  it('tells of the proxy what the target tells of the delegate, and where', () => {
    const told = new DelegateEvents().toProxyEvent(event('FailedMount'), aProxyRecord(), 'ClusterTarget/c2');
    assert.deepEqual(told, {
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'team-a', name: 'web', uid: 'proxy-uid' },
      type: 'Warning', reason: 'FailedMount', action: 'ShowDelegateEvent', note: 'ClusterTarget/c2: what happened',
      perNote: true,
    });
  });

  it('tells ten reasons of a proxy, each as often as it comes, and begins anew with its successor', () => {
    const events = new DelegateEvents();
    const tell = (reason: string, ...changes: Parameters<typeof aProxyRecord>) =>
      events.toProxyEvent(event(reason), aProxyRecord(...changes), 't')?.reason;
    for (let count = 0; count < 10; count += 1) assert.equal(tell(`Reason${count}`), `Reason${count}`);
    assert.equal(tell('Another'), undefined);
    assert.equal(tell('Reason3'), 'Reason3');
    assert.equal(tell('Another', withUid('successor')), 'Another');
    events.forget('proxy-uid');
    assert.equal(tell('Another'), 'Another');
  });

  it('shows twenty messages of a proxy, and counts more under one for each reason', () => {
    const events = new DelegateEvents();
    const tell = (note: string, reason = 'FailedMount') =>
      events.toProxyEvent(event(reason, note), aProxyRecord(), 't')?.note;
    for (let count = 0; count < 20; count += 1) assert.equal(tell(`volume ${count}`), `t: volume ${count}`);
    const further = tell('volume 20');
    assert.match(further ?? '', /^t: more warnings with this reason/);
    assert.deepEqual([tell('volume 21'), tell('crashed', 'BackOff')], [further, further]);
    assert.equal(tell('volume 7'), 't: volume 7', 'a known one goes on');
  });

  for (const reason of ['', 'not a reason', 'lowercase', 'X'.repeat(200), 'A\nB']) {
    it(`gives a reason of its own for ${JSON.stringify(reason.slice(0, 20))}`, () => {
      assert.equal(new DelegateEvents().toProxyEvent(event(reason), aProxyRecord(), 't')?.reason, 'DelegateWarning');
    });
  }

  it('lets no control characters and no long texts through', () => {
    const told =
      new DelegateEvents().toProxyEvent(event('R', `a\u001b[31m\nb${'x'.repeat(5_000)}`), aProxyRecord(), 't');
    assert.ok(told !== undefined && !/\p{Cc}/u.test(told.note) && told.note.length < 1_100);
  });
});
