// Recorded inputs: what a decision log holds, and `isthmus replay` decides again, must be the same decision.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { evaluateTargets, schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import {
  parseRecordText, recordTarget, restoreTarget, toRecordText, type RecordedTarget,
} from '../../../../scheduler/explain/recorded-inputs.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes, withoutSummary, withRef, type Change } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, placed, rulesOf, withNodeInfo } from '../../../support/objects/placement.ts';

/** As it is written into a log and read from it. */
const throughText = (target: TargetSnapshot): TargetSnapshot =>
  restoreTarget(parseRecordText(toRecordText(recordTarget(target))) as RecordedTarget);

const cpu = fc.constantFrom('0', '500m', '1', '2', '8');
const change: fc.Arbitrary<Change<TargetSnapshot>> = fc.oneof(
  fc.array(cpu, { maxLength: 3 }).map((rooms) => withNodes(...rooms.map((each) =>
    ({ cpu: each, memory: '4Gi', pods: '9' })))),
  fc.constant(withoutSummary()), fc.constant(unavailable('Unreachable', 'it is away')),
  fc.constant(withNodeInfo({ cordoned: true })), fc.constant(withNodeInfo({ taints: [{ key: 'a',
    effect: 'NoSchedule' }] })),
  cpu.map((price) => withNodeInfo({ spec: { prices: { cpu: price === '0' ? '1' : price } } })),
  cpu.map((each) => withNodeInfo({ spec: { headroom: [{ count: 1, shape: { cpu: each, pods: '9' } }] } as never })),
  fc.nat({ max: 300 }).map((rttMs) => withNodeInfo({ rttMs })),
);
const targets = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.array(change, { maxLength: 2 })), { maxLength: 4 })
  .map((all) => all.map(([zone, changes], index) =>
    aPlace(`t${index}`, { 'topology.kubernetes.io/zone': zone, region: 'r' }, ...changes)));
const pod: fc.Arbitrary<PodToSchedule> = fc.record({
  request: cpu, inA: fc.nat({ max: 3 }), waitedSeconds: fc.nat({ max: 600 }), isRefused: fc.boolean(),
}).map(({ request, inA, waitedSeconds, isRefused }) => ({
  ...aPodWithConstraints({
    waitedSeconds, placed: [placed({ t0: inA, t1: 1 })],
    rules: rulesOf({ spread: [{ topologyKey: 'topology.kubernetes.io/zone' }],
      require: { matchLabels: { region: 'r' } } }),
  }, { cpu: request }),
  rejectedBy: new Map(isRefused ? [['ClusterTarget/t0', { reason: 'Conflict', message: 'a quota' }]] : []),
}));

/** Everything that a decision says, without the objects that it was made on. */
const said = (one: PodToSchedule, all: readonly TargetSnapshot[]): unknown => {
  const { ranked, rejected } = evaluateTargets(one, all);
  const decision = schedulePod(one, all);
  return {
    rejected, ranked: ranked.map(({ target, ...rest }) => [target.key, rest]),
    chosen: decision.kind === 'chosen' ? decision.target.key : decision.retryInSeconds,
  };
};

describe('recorded targets', () => {
  it('lead to the same decision, with the same scores and the same reasons', () => {
    fc.assert(fc.property(targets, pod, (all, one) => {
      assert.deepEqual(said(one, all.map(throughText)), said(one, all));
    }), { numRuns: 150 });
  });
  it('are recorded the same when they are recorded again', () => {
    fc.assert(fc.property(targets, (all) => {
      for (const target of all) assert.equal(toRecordText(recordTarget(throughText(target))),
        toRecordText(recordTarget(target)));
    }), { numRuns: 60 });
  });
  it('have a capacity of their own: what is taken from it is not taken from the live one', () => {
    const target = aPlace('a');
    assert.notEqual(throughText(target).capacity, target.capacity);
    assert.equal(throughText(target).nodeInfo?.prices, undefined);
  });
  it('of a namespace stay targets of that namespace', () => {
    const target = aPlace('a', {}, withRef({ kind: 'Target', namespace: 'team-a', name: 'a' }));
    assert.deepEqual(throughText(target).ref, { kind: 'Target', namespace: 'team-a', name: 'a' });
  });
});

describe('a recorded pod', () => {
  it('leads to the same decision as the pod', () => {
    fc.assert(fc.property(targets, pod, (all, one) => {
      assert.deepEqual(said(parseRecordText(toRecordText(one)) as PodToSchedule, all), said(one, all));
    }), { numRuns: 150 });
  });
});

describe('a recorded value', () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 }, fc.constantFrom(null, true, 0, '', 'x', '$map'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'map'), tie('value'), { noNullPrototype: true }),
      fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    ),
  })).value;

  it('is read as it was, maps within maps included', () => {
    fc.assert(fc.property(value, (one) => assert.deepEqual(parseRecordText(toRecordText(one)), one)), { numRuns: 300 });
  });
  it('that is not JSON is an error, not a value', () => assert.throws(() => parseRecordText('{'), SyntaxError));
});
