import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { AssumedLedger } from '../../../../scheduler/cache/assumed-ledger.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';

const one: NodeRequirements = { requests: new Map([['cpu', 1000]]) };
const two: NodeRequirements = { requests: new Map([['cpu', 2000]]) };

function requirementsOn(ledger: AssumedLedger, target: string): NodeRequirements[] {
  return [...ledger.on(target)].map(({ requirements }) => requirements);
}

function releaseEverywhere(ledger: AssumedLedger, uid: string): void {
  for (const target of ledger.targetsOf(uid)) ledger.release(target, uid);
}

describe('AssumedLedger', () => {
  it('holds what was assumed, oldest first, by target', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod-1', two);
    ledger.assume('a', 'pod-2', one);
    ledger.assume('b', 'pod-3', one);
    assert.deepEqual(requirementsOn(ledger, 'a'), [two, one]);
    assert.deepEqual([...ledger.on('c')], []);
    assert.equal(ledger.size, 3);
  });

  it('notes a pod once', () => {
    const ledger = new AssumedLedger();
    assert.notEqual(ledger.assume('a', 'pod', one), undefined);
    assert.equal(ledger.assume('a', 'pod', two), undefined);
    assert.deepEqual(requirementsOn(ledger, 'a'), [one]);
  });

  it('drops an entry once the summary has seen its delegate on a node', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.scheduled('a', 'pod', '100');
    assert.equal(ledger.observed('a', '99'), 0);
    assert.equal(ledger.size, 1);
    assert.equal(ledger.observed('a', '100'), 1);
    assert.equal(ledger.size, 0);
  });

  // Pods and summaries come over two watches: the summary may be the faster one, and be the last for a long time.
  it('drops an entry at once whose delegate the last summary has seen already', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.observed('a', '120');
    assert.equal(ledger.scheduled('a', 'pod', '100')?.requirements, one);
    assert.equal(ledger.size, 0);
  });

  it('compares versions as numbers', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.scheduled('a', 'pod', '1000');
    ledger.observed('a', '999');
    assert.equal(ledger.size, 1);
  });

  it('keeps an entry whose delegate has no node, whatever the summary has seen', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.observed('a', '1000000');
    assert.equal(ledger.size, 1);
  });

  it('goes by the version at which the delegate got its node, not by later ones', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.scheduled('a', 'pod', '100');
    ledger.scheduled('a', 'pod', '200');
    ledger.observed('a', '150');
    assert.equal(ledger.size, 0);
  });

  it('does not take one target for another', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.scheduled('b', 'pod', '1');
    ledger.observed('b', '9');
    assert.equal(ledger.release('b', 'pod'), undefined);
    assert.equal(ledger.size, 1);
  });

  it('knows on which targets a pod is held', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.assume('b', 'pod', one);
    ledger.assume('b', 'other', one);
    assert.deepEqual(ledger.targetsOf('pod'), ['a', 'b']);
    ledger.release('a', 'pod');
    assert.deepEqual(ledger.targetsOf('pod'), ['b']);
    ledger.forget('b');
    assert.deepEqual([ledger.targetsOf('pod'), ledger.targetsOf('other'), ledger.size], [[], [], 0]);
  });

  it('forgets a target with all that was seen of it', () => {
    const ledger = new AssumedLedger();
    ledger.assume('a', 'pod', one);
    ledger.observed('a', '500');
    ledger.forget('a');
    assert.equal(ledger.size, 0);
    ledger.assume('a', 'pod', one); // a target of the same name, with versions of its own
    ledger.scheduled('a', 'pod', '7');
    assert.equal(ledger.size, 1);
  });
});

type Step = {
  readonly kind: 'assume' | 'scheduled' | 'observed' | 'release' | 'everywhere'; readonly target: string;
  readonly uid: string; readonly version: number
};
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('assume', 'scheduled', 'observed', 'release', 'everywhere'),
  target: fc.constantFrom('a', 'b'),
  uid: fc.constantFrom('1', '2', '3'),
  version: fc.integer({ min: 1, max: 50 }),
});

function perform(ledger: AssumedLedger, { kind, target, uid, version }: Step): void {
  switch (kind) {
    case 'assume': ledger.assume(target, uid, one); break;
    case 'scheduled': ledger.scheduled(target, uid, `${version}`); break;
    case 'observed': ledger.observed(target, `${version}`); break;
    case 'release': ledger.release(target, uid); break;
    case 'everywhere': releaseEverywhere(ledger, uid); break;
  }
}

describe('laws of the ledger', () => {
  it('is empty once every pod got its node and every target was seen up to there, in any order', () => {
    const entry =
      fc.record({ target: fc.constantFrom('a', 'b'), uid: fc.uuid(), version: fc.integer({ min: 1, max: 100 }) });
    const scenario = fc.uniqueArray(entry, { selector: ({ uid }) => uid, maxLength: 6 }).chain((entries) => {
      const events = [
        ...entries.map((entry) => ({ kind: 'scheduled' as const, ...entry })),
        ...['a', 'b'].map((target) => ({ kind: 'observed' as const, target, uid: '', version: 100 })),
      ];
      return fc.tuple(
        fc.constant(entries), fc.shuffledSubarray(events, { minLength: events.length, maxLength: events.length }),
      );
    });
    fc.assert(
      fc.property(scenario, ([entries, events]) => {
        const ledger = new AssumedLedger();
        for (const { target, uid } of entries) ledger.assume(target, uid, one);
        for (const event of events) perform(ledger, event);
        assert.equal(ledger.size, 0);
      }),
    );
  });

  it('is empty once every pod was released, whatever happened before', () => {
    fc.assert(
      fc.property(fc.array(step), fc.shuffledSubarray(['1', '2', '3'], { minLength: 3 }), (steps, uids) => {
        const ledger = new AssumedLedger();
        for (const step of steps) perform(ledger, step);
        for (const uid of uids) releaseEverywhere(ledger, uid);
        assert.equal(ledger.size, 0);
      }),
    );
  });

  it('gives as many entries by target as it counts', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const ledger = new AssumedLedger();
        for (const step of steps) perform(ledger, step);
        assert.equal([...ledger.on('a'), ...ledger.on('b')].length, ledger.size);
      }),
    );
  });
});
