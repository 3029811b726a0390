import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { DELEGATE_FINALIZER, FENCE_ANNOTATION } from '../../../../api/objects/keys.ts';
import { failedOver, mayFailOver, planFailover } from '../../../../delegate-controller/failover/failover-plan.ts';
import {
  annotated, aProxyRecord, inPhase, terminating, withFinalizers, withMetadata, withSpec, type Change,
} from '../../../support/objects/builders.ts';

const bound = withSpec({ nodeName: 'admiralty-a' });
const fenced = annotated({ [FENCE_ANNOTATION]: '30' });
const proxy = (...changes: Change<Pod>[]) => aProxyRecord(bound, fenced, ...changes);
const deletedWithin = (seconds: number) =>
  withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: seconds });

describe('a pod may leave a lost target', () => {
  const cases: Record<string, readonly [ReturnType<typeof aProxyRecord>, boolean]> = {
    'when its target stops it': [proxy(), true],
    'not without that': [aProxyRecord(bound), false],
    'not before it is bound': [aProxyRecord(fenced), false],
    'not when it has ended': [proxy(inPhase('Succeeded')), false],
    'when it is being deleted': [proxy(terminating()), true],
    'when it has ended and is being deleted': [proxy(inPhase('Failed'), terminating()), true],
  };
  for (const [sentence, [record, answer]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(mayFailOver(record), answer));
  }
});

describe('planFailover', () => {
  const planned = (record: ReturnType<typeof aProxyRecord>) => planFailover(record, '2026-01-01T00:00:00Z');
  const told = (record: ReturnType<typeof aProxyRecord>) => planned(record).map((command) =>
    command.kind === 'delete'
      ? `delete ${command.preconditions.uid} within ${command.gracePeriodSeconds}`
      : command.kind === 'patch' ? `patch ${JSON.stringify(command.patch)}` : command.kind);

  it('deletes the proxy at once, and lets it go', () => assert.deepEqual(
    told(proxy()), [
      'delete proxy-uid within 0',
      `patch {"metadata":{"uid":"proxy-uid","$deleteFromPrimitiveList/finalizers":["${DELEGATE_FINALIZER}"]}}`,
    ],
  ));
  it(
    'does so for one whose deletion waits for a kubelet', () => assert.equal(told(proxy(deletedWithin(30))).length, 2),
  );
  it('lets one go that was deleted before', () => assert.deepEqual(
    told(proxy(deletedWithin(0))), ['patch {"metadata":{"resourceVersion":"1","finalizers":[]}}'],
  ));
  const awaited = withFinalizers(DELEGATE_FINALIZER, 'a.io/x');
  it("leaves others' finalizers, and gives them an end", () => {
    const [end, deletion, release] = told(proxy(awaited));
    assert.match(end ?? '', /"resourceVersion":"1".*"phase":"Failed","reason":"EndUnknown"/);
    assert.match(end ?? '', /"conditions":\[\{"type":"DisruptionTarget","status":"True","reason":"FailedOver"/);
    assert.match(deletion ?? '', /^delete/);
    assert.doesNotMatch(release ?? '', /a\.io/);
  });
  it('gives one that was deleted before an end first', () => {
    const plans = [proxy(deletedWithin(0), awaited), proxy(deletedWithin(0), awaited, inPhase('Failed'))].map(told);
    assert.deepEqual(plans.map(({ length }) => length), [1, 1]);
    assert.match(plans[0]?.[0] ?? '', /EndUnknown/);
    assert.match(plans[1]?.[0] ?? '', /finalizers/);
  });
  it('has nothing to do for one that only others hold', () => assert.deepEqual(
    told(proxy(deletedWithin(0), withFinalizers('a.io/x'))), [],
  ));

  it('tells users where it was', () => assert.match(
    failedOver(proxy(), 'ClusterTarget/a').note, /^ClusterTarget\/a is lost/,
  ));
});
