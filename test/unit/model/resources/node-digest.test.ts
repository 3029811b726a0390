import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { nodeDigest, splitDigests } from '../../../../model/resources/node-digest.ts';

describe('nodeDigest', () => {
  it('is part of what targets and sources of different versions exchange, and so stays what it is', () => {
    assert.deepEqual(
      ['node-1', 'ip-10-0-0-1.eu-west-1.compute.internal', ''].map(nodeDigest), ['VMSw', 'pTlN', 'gRxY'],
    );
  });

  it('is four characters of base64url', () => {
    fc.assert(fc.property(fc.string(), (name) => assert.match(nodeDigest(name), /^[\w-]{4}$/)));
  });

  it('tells the nodes of a large cluster apart, but for one in a thousand', () => {
    const digests = new Set(
      Array.from({ length: 5_000 }, (_, i) => nodeDigest(`ip-10-${i >> 8}-${i & 255}-7.eu-west-1.compute.internal`)),
    );
    assert.ok(digests.size >= 4_995, `${digests.size}`);
  });
});

describe('splitDigests', () => {
  it('gives back what was joined', () => {
    fc.assert(fc.property(
      fc.array(fc.string().map(nodeDigest)), (digests) => assert.deepEqual(splitDigests(digests.join('')), digests),
    ));
  });

  it('passes over a rest that is no digest', () => assert.deepEqual(splitDigests('abcdef'), ['abcd']));
});
