import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DecisionLog, Replayer, type DecisionLine, type Replay } from '../../../../scheduler/explain/decision-log.ts';
import {
  parseRecordText, recordTarget, restoreTarget, toRecordText,
} from '../../../../scheduler/explain/recorded-inputs.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes, withoutSummary } from '../../../support/objects/builders.ts';
import {
  aPlace, aPodWithConstraints, full, placed, rulesOf, withNodeInfo,
} from '../../../support/objects/placement.ts';

const EU = { matchLabels: { region: 'eu' } };

function lines(
  log: DecisionLog, pod: PodToSchedule, targets: readonly TargetSnapshot[], anew = false,
): readonly string[] {
  return log.linesOf(
    { time: '2026-01-01T00:00:00Z', name: 'team-a/web', pod, targets, decision: schedulePod(pod, targets) }, anew,
  );
}

const kinds = (texts: readonly string[]) => texts.map((text) => (parseRecordText(text) as DecisionLine).kind);

describe('records of targets', () => {
  const grown = withNodeInfo({
    labels: { region: 'eu' }, rttMs: 3, cordoned: true, taints: [{ key: 'k', effect: 'NoSchedule' }],
    spec: { self: true, prices: { cpu: '0.1' }, headroom: [{ count: 2, allocatable: { cpu: '4' } }] },
  });
  const targets: Record<string, TargetSnapshot> = {
    'with everything': aPlace('a', {}, grown),
    'without a summary': aPlace('a', {}, withoutSummary()),
    'that cannot be reached': aPlace('a', {}, unavailable('Unreachable', 'm')),
  };
  for (const [sentence, target] of Object.entries(targets)) {
    it(`come back as they were: a target ${sentence}`, () => {
      const text = toRecordText(recordTarget(target));
      const restored = restoreTarget(parseRecordText(text) as ReturnType<typeof recordTarget>);
      assert.equal(toRecordText(recordTarget(restored)), text);
      const { capacity: _c, nodeInfo: _t, ...identity } = target;
      const { capacity: _rc, nodeInfo: _rt, ...restoredIdentity } = restored;
      assert.deepEqual(restoredIdentity, identity);
      assert.deepEqual(restored.nodeInfo?.prices, target.nodeInfo?.prices);
    });
  }

  it('keep Maps, also empty ones and nested ones', () => {
    const value = { a: new Map([['k', new Map([['x', 1]])]]), b: new Map() };
    assert.deepEqual(parseRecordText(toRecordText(value)), value);
  });
});

describe('DecisionLog', () => {
  it('writes a target again only when it has changed', () => {
    const log = new DecisionLog();
    const [a, b] = [aPlace('a'), aPlace('b')];
    assert.deepEqual(kinds(lines(log, aPodWithConstraints(), [a, b])), ['target', 'target', 'decision']);
    assert.deepEqual(kinds(lines(log, aPodWithConstraints(), [a, b])), ['decision']);
    assert.deepEqual(kinds(lines(log, aPodWithConstraints(), [a, aPlace('b', {}, full())])), ['target', 'decision']);
    assert.deepEqual(kinds(lines(log, aPodWithConstraints(), [a])), ['removed', 'decision']);
  });

  it('begins a new file with all targets', () => {
    const log = new DecisionLog();
    const targets = [aPlace('a'), aPlace('b')];
    lines(log, aPodWithConstraints(), targets);
    assert.deepEqual(kinds(lines(log, aPodWithConstraints(), targets, true)), ['target', 'target', 'decision']);
  });
});

function replay(lines: readonly string[]): Replay {
  const replayer = new Replayer();
  for (const line of lines) replayer.read(line);
  return replayer.result;
}

describe('replay', () => {
  it('comes to the same decisions, whatever they were made on', () => {
    const spec = fc.constantFrom({}, { require: EU }, { tiers: [{ targets: EU, waitSeconds: 5 }, { targets: {} }] }, {
      replicas: { shares: [{ targets: EU, weight: 1 }, { targets: {}, weight: 2 }] },
    });
    const pod = fc.tuple(fc.nat(6), spec, fc.record({ a: fc.nat(3), b: fc.nat(3) })).map(([cpu, policy, byTarget]) => ({
      ...aPodWithConstraints(
        { rules: rulesOf(policy), placed: [placed(byTarget)], waitedSeconds: cpu, weights: { cost: 1 } },
        { cpu: `${cpu}` },
      ),
      rejectedBy: new Map(cpu === 3 ? [['ClusterTarget/a', { reason: 'Unschedulable', message: 'm' }]] : []),
    }));
    const target = (name: string) => fc.tuple(fc.nat(8), fc.constantFrom('eu', 'us'), fc.nat(3))
      .map(([cpu, region, price]) => (
      aPlace(name, {}, withNodes({ cpu: `${cpu}`, memory: '8Gi', pods: '9' }), withNodeInfo(
        { labels: { region }, spec: { prices: { cpu: `${price}` } } },
      ))
    ));
    const step = fc.tuple(pod, fc.tuple(target('a'), target('b')), fc.boolean());
    fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
      const log = new DecisionLog();
      const texts = steps.flatMap(([one, targets, both]) => lines(log, one, both ? targets : targets.slice(0, 1)));
      assert.deepEqual(replay(texts), { decisions: steps.length, differences: [], unreadable: [] });
    }));
  });

  it('shows a decision that would come out otherwise', () => {
    const [target = '', decision = ''] = lines(new DecisionLog(), aPodWithConstraints(), [aPlace('a')]);
    const other = decision.replace('"chosen":"ClusterTarget/a"', '"chosen":"ClusterTarget/b"');
    const { differences } = replay([target, other]);
    assert.deepEqual(differences.map(({ name, before, now }) => [name, before.chosen, now.chosen]), [
      ['team-a/web', 'ClusterTarget/b', 'ClusterTarget/a'],
    ]);
  });

  const odd: Record<string, string> = {
    'a target without fields': '{"kind":"target"}', 'a target that is null': '{"kind":"target","target":null}',
    'a target whose summary is a word': '{"kind":"target","target":{"key":"k","summary":{"nodeGroups":"x"}}}',
    'a decision without a pod': '{"kind":"decision","time":"t","name":"n"}',
    'a decision about half a pod': '{"kind":"decision","time":"t","name":"n","pod":{"namespace":"x"},"outcome":{}}',
    'a list': '[]', 'a number': '7', 'a Map of no entries': '{"kind":"target","target":{"$map":[1]}}',
    'a kind of a later version': '{"kind":"policy"}',
  };
  for (const [what, line] of Object.entries(odd)) {
    it(`names ${what} as unreadable, and goes on`, () => {
      const texts = lines(new DecisionLog(), aPodWithConstraints(), [aPlace('a')]);
      const { decisions, differences, unreadable } = replay([...texts, line, ...texts]);
      assert.deepEqual([decisions, differences, unreadable], [2, [], [3]]);
    });
  }

  it('forgets targets that were removed, and takes the last word about one', () => {
    const log = new DecisionLog();
    const pod = aPodWithConstraints();
    const texts = [
      ...lines(log, pod, [aPlace('a'), aPlace('b')]), ...lines(log, pod, [aPlace('b', {}, full())]),
      ...lines(log, pod, []),
    ];
    assert.deepEqual(replay(texts), { decisions: 3, differences: [], unreadable: [] });
  });

  it('counts a difference in why a target was rejected', () => {
    const texts = lines(new DecisionLog(), aPodWithConstraints(), [aPlace('a', {}, full())]);
    const other = texts.map((text) => text.replace('["ClusterTarget/a","InsufficientResources"]',
      '["ClusterTarget/a","X"]'));
    const [difference] = replay(other).differences;
    assert.deepEqual([difference?.before.rejected, difference?.now.rejected], [
      [['ClusterTarget/a', 'X']], [['ClusterTarget/a', 'InsufficientResources']],
    ]);
  });

  it('keeps amounts, labels and names of any characters', () => {
    const labels = { '\u00e9t\u00e9': '\u{1f600}', region: 'eu' };
    const texts = lines(new DecisionLog(), aPodWithConstraints({ labels }, { memory: '7Ei' }), [aPlace('a', labels)]);
    assert.deepEqual(replay(texts).differences, []);
    assert.ok(texts.every((text) => !text.includes('\n')));
  });

  it('names lines that it cannot read, and goes on', () => {
    const texts = lines(new DecisionLog(), aPodWithConstraints(), [aPlace('a')]);
    assert.deepEqual(
      replay(['{"kind":', ...texts, '{}', '', 'null']), { decisions: 1, differences: [], unreadable: [1, 4, 6] },
    );
  });
});
