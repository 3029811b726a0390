import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { boundedEntry, boundedMessage } from '../../../../discovery/entry/bounded-entry.ts';
import { waiting, type RegisteredCluster } from '../../../../discovery/entry/registered-cluster.ts';

const cluster = (entry: string, name: string): RegisteredCluster =>
  ({ entry, name, labels: {}, access: waiting('for a test') });

describe('an entry whose texts are too long to be told', () => {
  it('is cut, and others are the same object', () => {
    const usual = cluster('Secret argocd/eu', 'eu');
    assert.equal(boundedEntry(usual), usual);
    const long = cluster(`Secret a/b key ${'k'.repeat(100_000)}`, 'n'.repeat(1_000_000));
    const { entry, name, access } = boundedEntry(long);
    assert.ok(entry.length <= 800 && name.length <= 253);
    assert.deepEqual(access, usual.access);
  });

  it('goes on to differ from others', () => {
    const [one, other] = ['a', 'b'].map((end) => boundedEntry(cluster(`${'k'.repeat(1_000)}${end}`, 'eu')).entry);
    assert.notEqual(one, other);
  });

  it('is never cut within a character, which would be stored as another one', () => {
    fc.assert(fc.property(fc.array(fc.constantFrom('a', '😀'), { minLength: 500, maxLength: 600 }), (characters) => {
      const text = characters.join('');
      const { name } = boundedEntry(cluster('e', text));
      for (const told of [name, boundedMessage(text)]) {
        assert.ok(told === text || told.endsWith('…'));
        assert.equal(Buffer.from(told, 'utf8').toString('utf8'), told);
      }
    }));
  });
});
