import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { DELEGATE_FINALIZER, PARENT_NAMESPACE_ANNOTATION } from '../../../api/objects/keys.ts';
import { breachesOf, type HistoryContext, type HistoryEvent } from '../../support/history/invariants.ts';
import {
  aDelegate, annotated, aPod, aProxy, inPhase, onNode, scheduled, terminating, unschedulable, withFinalizers, withUid,
  type Change,
} from '../../support/objects/builders.ts';

const CONTEXT: HistoryContext =
  { source: 'source', targetOfNode: (node) => node.replace('admiralty-', ''), toleranceMs: 100, endedAt: 100_000 };
const PROXY = 'team-a/web';
const DELEGATE = 'team-a/web-abc';

const proxy = (at: number, ...changes: Change<Pod>[]): HistoryEvent =>
  ({ at, cluster: 'source', key: PROXY, object: aProxy(...changes) });
const delegate = (at: number, cluster: string, ...changes: Change<Pod>[]): HistoryEvent =>
  ({ at, cluster, key: DELEGATE, object: aDelegate(...changes) });
const other = (at: number, ...changes: Change<Pod>[]): HistoryEvent =>
  ({ at, cluster: 'source', key: 'team-a/plain', object: aPod(...changes) });
const gone = (at: number, cluster: string): HistoryEvent =>
  ({ at, cluster, key: cluster === 'source' ? PROXY : DELEGATE, object: undefined });
const bound = onNode('admiralty-a');

/** The whole life of a pod in target `a`. */
const GOOD: readonly HistoryEvent[] = [
  proxy(0), delegate(10, 'a'), delegate(20, 'a', scheduled()),
  proxy(30, bound), delegate(40, 'a', inPhase('Running')), proxy(50, bound, inPhase('Running')),
  proxy(60, bound, terminating()), delegate(70, 'a', terminating()), gone(80, 'a'), gone(90, 'source'),
];

describe('the invariant checker', () => {
  const cases: Record<
    string, readonly [history: readonly HistoryEvent[], breach: RegExp | undefined, context?: Partial<HistoryContext>]
  > = {
    'finds nothing in a good life': [GOOD, undefined],
    'accepts a second candidate after the first has gone':
      [[proxy(0), delegate(10, 'b'), gone(20, 'b'), ...GOOD.slice(1)], undefined],
    'finds two delegates at a time': [
      [proxy(0), delegate(10, 'a'), delegate(20, 'b'), gone(500, 'a'), gone(600, 'b')],
      /^invariant 1: proxy-uid had two delegates for 480 ms/,
    ],
    'lets watches be a little out of step':
      [[proxy(0, unschedulable()), delegate(10, 'a'), delegate(20, 'b'), gone(100, 'a'), gone(600, 'b')], undefined],
    'does not count a delegate that has ended':
      [[proxy(0, bound), delegate(10, 'b', inPhase('Failed')), delegate(20, 'a'), gone(100, 'b')], undefined],
    'finds a delegate that outlives its proxy': [
      [proxy(0, bound), delegate(1, 'a'), gone(10, 'source')],
      /^invariant 2: a\/team-a\/web-abc outlived its proxy by 99990 ms/,
    ],
    'unless its target was away': [[proxy(0, bound), delegate(1, 'a'), gone(10, 'source')], undefined, {
      forced: new Set(['proxy-uid']), outages: [{ from: 0, until: 60_000 }],
    }],
    'finds a pod without a word': [[proxy(0)], /^invariant 3: team-a\/web was silent for 100000 ms/],
    'a reason is a word': [[proxy(0), proxy(29_000, unschedulable())], undefined],
    'finds a proxy that is let go too early': [
      [...GOOD.slice(0, 7), proxy(70, bound, terminating(), withFinalizers()), gone(500, 'a'), gone(600, 'source')],
      /^invariant 4, 13: .* 430 ms before/,
    ],
    'finds a delegate outside of the bound target':
      [[...GOOD.slice(0, 6), delegate(60, 'b', inPhase('Failed'))], /^invariant 5: b\/team-a\/web-abc is outside of a/],
    'finds a delegate that is deleted although it is wanted': [
      [...GOOD.slice(0, 6), delegate(500, 'a', terminating()), gone(510, 'a')],
      /^invariant 6: a\/team-a\/web-abc was deleted while team-a\/web wanted it/,
    ],
    'unless the test did it':
      [[...GOOD.slice(0, 6), delegate(500, 'a', terminating())], undefined, { endsDelegates: true }],
    'or something was away':
      [[...GOOD.slice(0, 6), delegate(500, 'a', terminating())], undefined, { outages: [{ from: 400, until: 600 }] }],
    'or it had ended': [[...GOOD.slice(0, 6), delegate(500, 'a', inPhase('Succeeded'), terminating())], undefined],
    'or its proxy is to go, as is heard a little later': [
      [...GOOD.slice(0, 6), delegate(500, 'a', terminating()), proxy(550, bound, terminating()), gone(560, 'a'), gone(
        570, 'source',
      )],
      undefined,
    ],
    'or the pod has not been bound': [
      [proxy(0), delegate(10, 'b'), delegate(500, 'b', terminating()), gone(520, 'b'), ...GOOD.slice(1).map(
        (event) => ({ ...event, at: event.at + 600 }),
      )],
      undefined,
    ],
    "finds marks of ours in another's pod":
      [[other(0, withFinalizers(DELEGATE_FINALIZER))], /^invariant 8: team-a\/plain is nobody's to elect/],
    "and nothing in one that was left alone": [[other(0)], undefined],
    'finds a finalizer that is there twice': [
      [proxy(0, bound, withFinalizers(DELEGATE_FINALIZER, DELEGATE_FINALIZER))],
      /^invariant 8: team-a\/web has its finalizer twice/,
    ],
    'finds a lost annotation':
      [[proxy(0, bound, annotated({ 'a.io/x': '1' })), delegate(1, 'a')], /^invariant 7: annotation a.io\/x/],
    'finds an end that came undone': [
      [proxy(0, bound, inPhase('Succeeded')), proxy(1, bound, inPhase('Running'))],
      /^invariant 9: team-a\/web was Succeeded and then Running/,
    ],
    'finds an end that became another':
      [[proxy(0, bound, inPhase('Succeeded')), proxy(1, bound, inPhase('Failed'))], /^invariant 9/],
    'finds a write at rest': [
      [proxy(0, bound), proxy(50_000, bound)], /^invariant 11: source\/team-a\/web was written 1 times at rest/,
      { quietSince: 40_000 },
    ],
    'finds a delegate in a foreign namespace':
      [[proxy(0, bound), delegate(1, 'a', annotated({ [PARENT_NAMESPACE_ANNOTATION]: 'other' }))], /^invariant 12/],
    'tells two pods of one name apart': [[...GOOD, proxy(100, withUid('second'), bound)], undefined],
  };
  for (const [sentence, [history, breach, context]] of Object.entries(cases)) {
    it(sentence, () => {
      const breaches = breachesOf(history, { ...CONTEXT, ...context });
      if (breach === undefined) assert.deepEqual(breaches, []);
      else assert.ok(breaches.some((found) => breach.test(found)), breaches.join('\n'));
    });
  }
});
