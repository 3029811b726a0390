import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  beginRotation, readPlaneKeys, SPREAD_MS, toPlaneKeySecret, type PlaneKeys,
} from '../../../../pod-plane/plan/plane-keys.ts';
import { newPrivateKey } from '../../../../pod-plane/wireguard/make-wireguard-key.ts';
import { publicKeyOf } from '../../../../gateway/protocol/wireguard-keys.ts';

const [OLD, NEXT] = [newPrivateKey(), newPrivateKey()];
const [old, next] = [publicKeyOf(OLD), publicKeyOf(NEXT)];
const T = Date.parse('2026-01-01T00:00:00Z');
const fresh = toPlaneKeySecret('n', OLD).data ?? {};
const known = (data: Readonly<Record<string, string>>, nowMs: number): PlaneKeys =>
  readPlaneKeys(data, nowMs) ?? assert.fail('no key');
const used = ({ privateKey, publicKeys, next: step }: PlaneKeys) => [
  privateKey === OLD ? 'old' : 'next',
  publicKeys.map((key) => (key === old ? 'old' : key === next ? 'next' : key)).join(), step !== undefined,
];
const begun = beginRotation(fresh, NEXT, T) ?? assert.fail('not begun');

describe('the key of a pod plane', () => {
  it('is used and told alone while nothing is under way', () => assert.deepEqual(
    [used(known(fresh, T)), known(fresh, T).lookAgainMs], [['old', 'old', false], undefined],
  ));
  it('is told beside the next one before that is used', () => assert.deepEqual(
    [used(known(begun, T + 1)), known(begun, T + 1).lookAgainMs], [['old', 'old,next', false], SPREAD_MS - 1],
  ));
  it('gives way to the next one when all have been told', () => assert.deepEqual(
    used(known(begun, T + SPREAD_MS)), ['next', 'next,old', true],
  ));
  const switched = known(begun, T + SPREAD_MS).next ?? assert.fail('no step');
  it('is told still while some may not have heard', () => assert.deepEqual(
    used(known(switched, T + SPREAD_MS + 1)), ['next', 'next,old', false],
  ));
  it('is forgotten in the end', () => {
    const last = known(switched, T + 2 * SPREAD_MS);
    assert.deepEqual(used(last), ['next', 'next', true]);
    assert.deepEqual(used(known(last.next ?? {}, T + 3 * SPREAD_MS)), ['next', 'next', false]);
  });
  it('is the same for a gateway that takes over in the middle, whenever that is', () => {
    for (let at = 0; at < 3 * SPREAD_MS; at += 1_000) {
      const [first, second] = [known(begun, T + at), known({ ...begun }, T + at)];
      assert.deepEqual(first, second);
      assert.ok(first.publicKeys.includes(publicKeyOf(first.privateKey)), 'what is used is told');
    }
  });
  it('is none where the Secret has none', () => assert.deepEqual(
    [readPlaneKeys({}, T), readPlaneKeys({ 'private-key': Buffer.from('x').toString('base64') }, T)],
    [undefined, undefined],
  ));
});

describe('a change of the key', () => {
  it('does not begin while another one is under way', () => assert.deepEqual(
    [beginRotation(begun, newPrivateKey(), T + 1), beginRotation(
      known(begun, T + SPREAD_MS).next ?? {}, newPrivateKey(), T + SPREAD_MS,
    )],
    [undefined, undefined],
  ));
  it('does not begin where there is no key', () => assert.equal(beginRotation({}, NEXT, T), undefined));
});
