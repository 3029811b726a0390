import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { targetsLostAtPlacement } from '../../../../model/proxy/lost-at-placement.ts';
import {
  mayFailBack, PAUSE_MS, planFailback, STABLE_MS, type FailbackStep, type ReturnedTarget,
} from '../../../../scheduler/failback/failback.ts';
import {
  annotated, aProxyRecord, inPhase, named, terminating, withMetadata, withSpec, type Change,
} from '../../../support/objects/builders.ts';

const HOME = { key: 'ClusterTarget/home', nodeName: 'admiralty-home' };
const record = (not: object) =>
  annotated({ [PLACEMENT_ANNOTATION]: JSON.stringify({ target: 'ClusterTarget/b', not }) });
const lostHome = record({ 'ClusterTarget/home': 'Unreachable', 'ClusterTarget/full': 'InsufficientCpu' });
const owned = withMetadata(
  { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r-uid', controller: true }] },
);
const elsewhere = withSpec({ nodeName: 'admiralty-b' });
const away = (...changes: Change<Pod>[]) => aProxyRecord(lostHome, owned, elsewhere, ...changes);

describe('targetsLostAtPlacement', () => {
  const cases: Record<string, readonly [annotation: string | undefined, keys: readonly string[] | undefined]> = {
    'names what could not be reached':
      ['{"not":{"ClusterTarget/a":"Unreachable","ClusterTarget/b":"Cordoned"}}', ['ClusterTarget/a']],
    'names nothing where all could': ['{"not":{"ClusterTarget/b":"Cordoned"}}', undefined],
    'nor where the word stands for something else': ['{"target":"Unreachable"}', undefined],
    'nor without a record': [undefined, undefined],
    'nor of one that is not ours': ['"Unreachable"', undefined],
    'nor of one that cannot be read': ['{"Unreachable"', undefined],
  };
  for (const [sentence, [annotation, keys]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(
      targetsLostAtPlacement({ annotations: annotation === undefined ? {} : { [PLACEMENT_ANNOTATION]: annotation } }),
      keys,
    ));
  }
});

describe('a pod is away from a target', () => {
  const cases: Record<string, readonly [ReturnType<typeof aProxyRecord>, boolean]> = {
    'that was lost when it was placed elsewhere': [away(), true],
    'not when it runs there': [away(withSpec({ nodeName: HOME.nodeName })), false],
    'not when that had no room': [aProxyRecord(record({ [HOME.key]: 'InsufficientCpu' }), owned, elsewhere), false],
    'not when nobody would make it again': [aProxyRecord(lostHome, elsewhere), false],
    'not when it goes anyway': [away(terminating()), false],
    'not when it has ended': [away(inPhase('Succeeded')), false],
    'not before it is bound': [aProxyRecord(lostHome, owned), false],
  };
  for (const [sentence, [proxy, answer]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(mayFailBack(proxy, HOME), answer));
  }
});

describe('planFailback', () => {
  const state = (rest: Partial<ReturnedTarget> = {}): ReturnedTarget =>
    ({ readySince: 0, evictedAt: undefined, away: [away(named('b')), away(named('a'))], ...rest });
  const told = (step: FailbackStep) =>
    (step.kind === 'evict' ? `evict ${step.proxy.name}` : step.kind === 'wait' ? `wait ${step.ms}` : step.kind);
  const cases: Record<string, readonly [ReturnedTarget, number, string]> = {
    'waits until the target is stable': [state(), 1_000, `wait ${STABLE_MS - 1_000}`],
    'then evicts one pod': [state(), STABLE_MS, 'evict a'],
    'and the next after a pause': [state({ evictedAt: STABLE_MS }), STABLE_MS + 1, `wait ${PAUSE_MS - 1}`],
    'evicts none while the target is away again': [state({ readySince: undefined }), STABLE_MS, 'no-change'],
    'does not wait for the pause where the target is stable only later':
      [state({ readySince: 50_000, evictedAt: 0 }), STABLE_MS, 'wait 50000'],
    'waits for whichever ends later': [state({ evictedAt: STABLE_MS - 1 }), STABLE_MS, `wait ${PAUSE_MS - 1}`],
    'goes on to the millisecond': [state({ evictedAt: STABLE_MS }), STABLE_MS + PAUSE_MS, 'evict a'],
    'takes names by code units, as keys are sorted':
      [state({ away: [away(named('a')), away(named('B')), away(named('a-1'))] }), STABLE_MS, 'evict B'],
    'is done when none is away': [state({ away: [] }), STABLE_MS, 'no-change'],
  };
  for (const [sentence, [before, now, step]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(told(planFailback(before, now)), step));
  }
});
