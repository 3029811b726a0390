import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import {
  PARENT_NAMESPACE_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL,
} from '../../../../api/objects/keys.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { pendingCandidates } from '../../../../scheduler/cache/pending-candidates.ts';
import {
  aChaperonRecord, aDelegateRecord, inPhase, terminating, withCondition, withMetadata, type Change,
} from '../../../support/objects/builders.ts';

const summary =
  { metadata: {}, observed: { podsResourceVersion: '100', time: '2026-01-01T00:01:00.300Z' } } as ClusterSummary;
const version = (resourceVersion: string) => withMetadata({ resourceVersion });
const scheduledAt = (time: string) =>
  withCondition({ type: 'PodScheduled', status: 'True', lastTransitionTime: `2026-01-01T00:${time}Z` });

interface There {
  readonly chaperon?: readonly Change<PodChaperon>[];
  readonly delegate?: readonly Change<Pod>[];
  readonly summary?: ClusterSummary | undefined;
}

function found(there: There): readonly string[] {
  const chaperons = there.chaperon === undefined ? [] : [aChaperonRecord(...there.chaperon)];
  const delegates = there.delegate === undefined ? [] : [aDelegateRecord(...there.delegate)];
  return pendingCandidates(
    { chaperons, delegates, summary: 'summary' in there ? there.summary : summary },
  ).map(({ key }) => key);
}

describe('pods on their way', () => {
  const ofPod = (name: string): Change<PodChaperon & Pod> => (object) => ({ ...object, metadata: {
    ...object.metadata, name, labels: { [PARENT_UID_LABEL]: `uid-${name}` },
    annotations: { [PARENT_NAME_ANNOTATION]: name, [PARENT_NAMESPACE_ANNOTATION]: 'team-a' },
  } });
  it('are told by name, each once', () => {
    const found = pendingCandidates({
      chaperons: ['c', 'a', 'b'].map((name) => aChaperonRecord(ofPod(name) as Change<PodChaperon>)),
      delegates: ['b', 'd'].map((name) => aDelegateRecord(ofPod(name) as Change<Pod>)), summary,
    });
    assert.deepEqual(found, ['a', 'b', 'c', 'd'].map((name) => ({ key: `team-a/${name}`, uid: `uid-${name}` })));
  });
  it('of one name and two lives are two', () => {
    const chaperons = ['1', '2'].map((uid) => aChaperonRecord((object) => ({ ...object, metadata: {
      ...object.metadata, labels: { [PARENT_UID_LABEL]: uid } } })));
    assert.equal(pendingCandidates({ chaperons, delegates: [], summary }).length, 2);
  });
});

describe('a pod is on its way to a target', () => {
  const cases: Record<string, readonly [There, boolean]> = {
    'while there is only its chaperon': [{ chaperon: [] }, true],
    'while its delegate has no node': [{ chaperon: [], delegate: [version('90')] }, true],
    'until the figures count it': [{ chaperon: [], delegate: [version('110'), scheduledAt('01:00')] }, true],
    'not after that': [{ chaperon: [], delegate: [version('90'), scheduledAt('00:30')] }, false],
    'not after that, though it has changed since':
      [{ delegate: [version('110'), scheduledAt('00:30'), inPhase('Running')] }, false],
    'not when it has ended': [{ chaperon: [inPhase('Succeeded')] }, false],
    'nor when its delegate has': [{ chaperon: [], delegate: [version('110'), inPhase('Failed')] }, false],
    'nor when it is taken back': [{ chaperon: [terminating()], delegate: [version('110'), terminating()] }, false],
    'as long as the target has told no figures': [{ delegate: [scheduledAt('00:30')], summary: undefined }, true],
    'while its delegate runs there since a moment ago, by the second that the condition names':
      [{ delegate: [version('110'), scheduledAt('01:00'), inPhase('Running')] }, true],
    'until a second after, as times are rounded': [{ delegate: [version('110'), scheduledAt('00:59')] }, false],
    'where nothing says when it was scheduled':
      [{ delegate: [version('110'), withCondition({ type: 'PodScheduled', status: 'True' })] }, true],
    'not when versions are compared as numbers':
      [{ delegate: [version('99'), scheduledAt('01:30')] }, false],
    'where the figures do not tell up to when they count':
      [{ delegate: [version('90'), scheduledAt('00:30')], summary: { metadata: {} } }, true],
    'while its delegate is rejected, until that is taken back':
      [{ delegate: [version('90'), withCondition({ type: 'PodScheduled', status: 'False',
        reason: 'Unschedulable' })] }, true],
    'not when its delegate goes while its chaperon stays':
      [{ chaperon: [], delegate: [version('90'), terminating()] }, false],
    'not when there is nothing of it': [{}, false],
  };
  for (const [sentence, [there, answer]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(found(there), answer ? ['team-a/web'] : []));
  }
});
