// The expected names were given by Admiralty 0.17's own code.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { delegateName, joinName, MAX_LABEL_LENGTH, virtualNodeName } from '../../../../model/naming/names.ts';
import type { TargetRef } from '../../../../model/naming/target-ref.ts';

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const UID = '0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0';

function targetOf(namespace: string, name: string): TargetRef {
  return namespace === '' ? { kind: 'ClusterTarget', name } : { kind: 'Target', namespace, name };
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => DNS_LABEL.test(label));
}

const verified: readonly (readonly [namespace: string, name: string, virtualNode: string, finalizer: string])[] = [
  ['default', 'c2', 'admiralty-default-c2', 'default-c2'],
  ['', 'c2', 'admiralty-c2', 'c2'],
  ['default', 'eu-west-3-1', 'admiralty-default-eu-west-3-1-8984c76b96', 'default-eu-west-3-1-707ea16b4a'],
  ['team-a', 'c2', 'admiralty-team-a-c2-d2b2a8a1b2', 'team-a-c2-0ba4508354'],
  ['', 'eu-1', 'admiralty-eu-1-9a0fcb7d53', 'eu-1-38d34397cd'],
];

describe('names that Admiralty gave', () => {
  for (const [namespace, name, virtualNode, finalizer] of verified) {
    const target = namespace === '' ? `ClusterTarget ${name}` : `Target ${namespace}/${name}`;
    it(`the virtual node of ${target} is ${virtualNode}`, () => assert.equal(
      virtualNodeName(targetOf(namespace, name)), virtualNode,
    ));
    it(`the finalizer of ${target} ends in ${finalizer}`, () => assert.equal(
      joinName([namespace, name], MAX_LABEL_LENGTH), finalizer,
    ));
  }
});

describe('joinName', () => {
  it('appends no hash for a dash in the only variable part', () => {
    assert.equal(joinName([{ constant: 'admiralty-source' }, 'team-a'], 253), 'admiralty-source-team-a');
  });

  it('appends no hash for a dash in a constant part', () => {
    assert.equal(joinName([{ constant: 'x-y' }, 'a', 'b', { constant: 'p-q' }], 253), 'x-y-a-b-p-q');
  });

  it('appends no hash at exactly the longest length', () => {
    assert.equal(joinName(['a'.repeat(31), 'b'.repeat(31)], 63), `${'a'.repeat(31)}-${'b'.repeat(31)}`);
  });

  it('cuts a name that is one character too long and appends the hash', () => {
    const [first, second] = ['a'.repeat(31), 'b'.repeat(32)];
    const hash = createHash('sha256').update(`${first}/${second}`).digest('hex').slice(0, 10);
    assert.equal(joinName([first, second], 63), `${first}-${'b'.repeat(20)}-${hash}`);
  });

  it('leaves no dash or dot at the cut', () => {
    assert.match(joinName([`${'a'.repeat(50)}.-.${'b'.repeat(30)}`], 63), /^a{50}-[0-9a-f]{10}$/);
  });

  it('tells apart where the dash belongs', () => {
    assert.notEqual(joinName(['a-b', 'c'], 253), joinName(['a', 'b-c'], 253));
  });

  const part = fc.stringMatching(/^[a-c]([a-c-]{0,6}[a-c])?$/);
  const long = fc.tuple(part, fc.constantFrom(1, 100)).map(([text, times]) => text.repeat(times));
  const namespaced = fc.tuple(fc.oneof(fc.constant(''), long), long);

  it('gives different names to different targets, and never too long ones', () => {
    fc.assert(
      fc.property(namespaced, namespaced, fc.constantFrom(63, 253), (left, right, maxLength) => {
        const [a, b] = [joinName(left, maxLength), joinName(right, maxLength)];
        assert.equal(a === b, left.join('/') === right.join('/'));
        assert(a.length <= maxLength && DNS_LABEL.test(a));
      }),
      { numRuns: 500 },
    );
  });

  it('gives different names to all short targets made of the same letters and dashes', () => {
    const texts = ['a', 'b', 'a-a', 'a-b', 'a-b-a', 'b-a'];
    const targets = ['', ...texts].flatMap((namespace) => texts.map((name) => targetOf(namespace, name)));
    assert.equal(new Set(targets.map(virtualNodeName)).size, targets.length);
  });
});

describe('delegateName', () => {
  const hash = createHash('sha256').update(UID).digest('hex').slice(0, 10);
  const cases: Record<string, readonly [proxyName: string, delegate: string]> = {
    'is the name of the proxy and a hash of its UID': ['web-5d4f', `web-5d4f-${hash}`],
    'keeps 52 characters': ['a'.repeat(52), `${'a'.repeat(52)}-${hash}`],
    'cuts the 53rd character': ['a'.repeat(53), `${'a'.repeat(52)}-${hash}`],
    'leaves no dash at the cut': [`${'a'.repeat(51)}-b`, `${'a'.repeat(51)}-${hash}`],
    'leaves no dot at the cut': [`${'a'.repeat(51)}.b`, `${'a'.repeat(51)}-${hash}`],
    'leaves no row of dashes at the cut': [`${'a'.repeat(40)}${'-'.repeat(20)}b`, `${'a'.repeat(40)}-${hash}`],
    'keeps dots inside': ['a.b', `a.b-${hash}`],
  };
  for (const [sentence, [proxyName, delegate]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(delegateName(proxyName, UID), delegate));
  }

  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,80}[a-z0-9])?$/);

  it('is a DNS-1123 label of at most 63 characters for every label', () => {
    fc.assert(
      fc.property(label, fc.uuid(), (name, uid) => {
        const delegate = delegateName(name, uid);
        assert(delegate.length <= 63 && DNS_LABEL.test(delegate));
      }),
    );
  });

  it('is a DNS-1123 subdomain of at most 63 characters for every subdomain', () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), fc.uuid(), (labels, uid) => {
        const delegate = delegateName(labels.join('.'), uid);
        assert(delegate.length <= 63 && isSubdomain(delegate));
      }),
    );
  });

  it('differs for different UIDs of one name', () => {
    const twoUids = fc.uniqueArray(fc.uuid(), { minLength: 2, maxLength: 2 });
    fc.assert(fc.property(label, twoUids, (name, [a, b]) => delegateName(name, a!) !== delegateName(name, b!)));
  });
});
