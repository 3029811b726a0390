import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planChaperon } from '../../../../delegate-controller/chaperon/chaperon-plan.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const made = admiraltyChaperon(
  { ...admiraltyProxy({ namespace: 'web', name: 'a' }), metadata: { namespace: 'web', name: 'a', uid: 'u1' } }, '',
);
const chaperon = (annotations: Readonly<Record<string, string>>, schedulerName = 'admiralty-candidate') => ({
  ...made, metadata: { ...made.metadata, uid: 'c', resourceVersion: '3', annotations },
  spec: { ...made.spec, schedulerName },
});
const next = (annotations: Readonly<Record<string, string>>, schedulerName?: string) => planChaperon(
  { chaperon: chaperon(annotations, schedulerName), pod: undefined, podSeen: false, statusChangedAt: 0 }, 0,
);

describe("a PodChaperon of an Admiralty's source", () => {
  it('is reserved at once, so that its proxy scheduler does not wait', () => {
    const step = next({});
    assert.ok(step.kind === 'write' && JSON.stringify(step.plan).includes(`"${P}is-reserved":"true"`), step.kind);
  });

  it('has no delegate before the source has chosen this target', () => assert.deepEqual(
    next({ [`${P}is-reserved`]: 'true' }), { kind: 'no-change' },
  ));

  it("gets its delegate then, from this cluster's own scheduler", () => {
    const step = next({ [`${P}is-reserved`]: 'true', [`${P}is-allowed`]: 'true' });
    assert.deepEqual(
      step.kind === 'create' && ['schedulerName' in step.pod.spec, step.pod.metadata.name], [false, made.metadata.name],
    );
  });

  it('that reserves nothing gets its delegate at once, from the scheduler that it names', () => {
    const step = next({}, 'my-scheduler');
    assert.equal(step.kind === 'create' && step.pod.spec.schedulerName, 'my-scheduler');
  });
});
