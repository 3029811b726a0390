import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FENCE_ANNOTATION } from '../../../../api/objects/keys.ts';
import { withFailover, failoverGraceSecondsOf, leaseName } from '../../../../model/pod/source-lease.ts';
import { aChaperon, aChaperonRecord, annotated, aProxyRecord, withSpec } from '../../../support/objects/builders.ts';

describe('a pod that its target may have to stop', () => {
  it('says how long its containers may take', () => assert.equal(
    failoverGraceSecondsOf(withFailover(aChaperon(withSpec({ terminationGracePeriodSeconds: 5 }))).metadata), 5,
  ));
  it('says how long they take where the pod says nothing', () => assert.equal(
    failoverGraceSecondsOf(withFailover(aChaperon()).metadata), 30,
  ));
  it('keeps its other annotations', () => assert.deepEqual(
    Object.keys(withFailover(aChaperon()).metadata.annotations ?? {}).length,
    Object.keys(aChaperon().metadata.annotations ?? {}).length + 1,
  ));
  for (const text of ['', 'x', '-1', '1.5', '1e3', '99999999999']) {
    it(`does not say "${text}"`, () => assert.equal(
      failoverGraceSecondsOf({ annotations: { [FENCE_ANNOTATION]: text } }), undefined,
    ));
  }

  it('is remembered as one by its chaperon, and by its proxy once that is bound', () => {
    const marked = annotated({ [FENCE_ANNOTATION]: '7' });
    assert.equal(aChaperonRecord(marked).failoverGraceSeconds, 7);
    assert.equal(aProxyRecord(marked).failoverGraceSeconds, undefined);
    assert.equal(aProxyRecord(marked, withSpec({ nodeName: 'n' })).failoverGraceSeconds, 7);
  });
});

it('each source has a lease of its own in a namespace', () => assert.notEqual(leaseName('a'), leaseName('b')));
