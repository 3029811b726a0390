import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SourceLease } from '../../../../api/kinds/source-lease.ts';
import { SourceLeaseRenewal } from '../../../../delegate-controller/failover/source-lease-renewal.ts';

const S = 1_000;
const LEASE = { holder: 'run-1', durationSeconds: 60 };

/** The lease as a target answers: it has seen this renewal of ours. */
function answer(seenRenewTime?: string, seenHolder = 'run-1'): SourceLease {
  return {
    metadata: {}, spec: { ...LEASE, renewTime: 'now' },
    ...(seenRenewTime !== undefined && { status: { seenHolder, seenRenewTime } }),
  };
}

/** Renews at these seconds; each is answered at once, with the word that the one before was seen. */
function renewed(...seconds: readonly number[]): SourceLeaseRenewal {
  const holder = new SourceLeaseRenewal(LEASE);
  seconds.forEach((second, index) => {
    holder.sending(`r${second}`, second * S);
    holder.answered(answer(index === 0 ? undefined : `r${seconds[index - 1]}`), second * S);
  });
  return holder;
}

function lost(holder: SourceLeaseRenewal, second: number): SourceLeaseRenewal {
  holder.sending(`r${second}`, second * S);
  holder.unanswered();
  return holder;
}

describe('a lease is', () => {
  it('renewed at once', () => assert.deepEqual(new SourceLeaseRenewal(LEASE).next(0), { kind: 'renew' }));
  it('renewed every sixth of its duration', () => {
    assert.deepEqual(renewed(0, 10).next(14 * S), { kind: 'wait', ms: 6 * S });
    assert.deepEqual(renewed(0, 10).next(20 * S), { kind: 'renew' });
  });
  it('renewed faster until the target has seen it', () => assert.deepEqual(
    renewed(0).next(S), { kind: 'wait', ms: 1.5 * S },
  ));
  it('but not for long', () => {
    const holder = new SourceLeaseRenewal(LEASE);
    for (const second of [0, 3, 6, 9]) {
      holder.sending(`r${second}`, second * S);
      holder.answered(answer(), second * S);
    }
    assert.deepEqual(holder.next(12 * S), { kind: 'wait', ms: 7 * S });
  });
  it('read, and not renewed, after a renewal without an answer', () => assert.deepEqual(
    lost(renewed(0), 10).next(20 * S), { kind: 'read' },
  ));
  it('read no faster than it is renewed', () => {
    const holder = lost(renewed(0), 10);
    holder.reading(20 * S);
    holder.unanswered();
    assert.deepEqual(holder.next(21 * S), { kind: 'wait', ms: 9 * S });
  });
  it('renewed at once when it could be read', () => {
    const holder = lost(renewed(0), 10);
    holder.reading(20 * S);
    holder.answered(answer('r0'), 20 * S);
    assert.deepEqual(holder.next(20 * S), { kind: 'renew' });
  });
  it('renewed on after a no: the target may come to serve it', () => {
    const holder = new SourceLeaseRenewal(LEASE);
    holder.sending('r0', 0);
    holder.rejected();
    assert.deepEqual(holder.next(10 * S), { kind: 'renew' });
  });
});

describe('pods count as stopped', () => {
  // Sent at 20, 60 of the lease, 10 until the word of the one at 0 had come, 30 of margin, 5 of grace.
  it('when lease, lag, margin and grace have passed since the last renewal that may have been done', () => assert.equal(
    lost(renewed(0, 10), 20).stoppedAt(5), (20 + 60 + 10 + 30 + 5) * S,
  ));

  it('not while the target answers', () => assert.equal(renewed(0, 10, 20).stoppedAt(0), undefined));
  it('not in a target that has never seen a renewal', () => assert.equal(lost(renewed(0), 10).stoppedAt(0), undefined));
  it('not in one that has seen those of another run', () => {
    const holder = renewed(0);
    holder.answered(answer('r0', 'run-0'), S);
    assert.equal(lost(holder, 10).stoppedAt(0), undefined);
  });
  it('not in one that has stopped seeing them', () => {
    const holder = renewed(0, 10);
    for (const second of [20, 30, 40, 50]) {
      holder.sending(`r${second}`, second * S);
      holder.answered(answer('r0'), second * S);
    }
    assert.equal(lost(holder, 60).stoppedAt(0), undefined);
  });
  it('not in one that has said no last', () => {
    const holder = renewed(0, 10);
    holder.rejected();
    assert.equal(lost(holder, 20).stoppedAt(0), undefined);
  });
  it('no more when the target is back', () => {
    const holder = lost(renewed(0, 10), 20);
    holder.reading(30 * S);
    holder.answered(answer('r10'), 30 * S);
    assert.equal(holder.stoppedAt(0), undefined);
  });
  it('no sooner because it was read in vain', () => {
    const holder = lost(renewed(0, 10), 20);
    holder.reading(30 * S);
    holder.unanswered();
    assert.equal(holder.stoppedAt(5), (20 + 60 + 10 + 30 + 5) * S);
  });
});
