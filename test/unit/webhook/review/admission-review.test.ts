import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { answerFailure, answerReview, parseReview, printReview } from '../../../../webhook/review/admission-review.ts';
import { diffJson } from '../../../../webhook/review/json-patch.ts';
import { RequestBudget } from '../../../../webhook/server/request-budget.ts';
import jsonPatch from 'fast-json-patch';
import { reviewOf } from '../../../support/objects/admission.ts';

const POD = { metadata: { name: 'web' }, spec: { containers: [] } };
const parsed = (body: unknown): ReturnType<typeof parseReview> => parseReview(JSON.stringify(body));

describe('parseReview', () => {
  for (const version of ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']) {
    it(`reads ${version}, and the answer is of the same version`, () => {
      const review = parsed(reviewOf(POD, {}, version));
      assert.ok(review.kind === 'review');
      assert.deepEqual(review.request.object, POD);
      assert.equal(answerReview(review.apiVersion, review.request.uid, { kind: 'pass' }).apiVersion, version);
    });
  }

  it('reads whatever else is in the frame, and never takes one object for another', () => {
    const bodies = [
      { ...reviewOf(POD), extra: { object: POD, oldObject: null } },
      reviewOf({ ...POD, object: { metadata: {}, spec: {} }, oldObject: 'x' }),
      reviewOf({ ...POD, status: { '","oldObject":': 1, '"object":{': 2 } }),
      reviewOf(POD, { userInfo: { username: '"object":{},"oldObject":', extra: { 'x"object': ['y'], object: [{}] } } }),
      reviewOf(POD, { oldObject: POD }),
      {
        apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview',
        request: { object: POD, uid: 'review-uid', operation: 'CREATE' },
      },
      {
        request: { options: { object: {} }, object: POD, oldObject: null, uid: 'review-uid', operation: 'CREATE' },
        apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview',
      },
    ];
    for (const body of bodies) {
      const review = parsed(body);
      assert.ok(review.kind === 'review', JSON.stringify(body));
      assert.deepEqual(review.request, (JSON.parse(JSON.stringify(body)) as { request: unknown }).request);
    }
  });

  it('reads any review as a plain parser does', () => {
    fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(),
      fc.dictionary(fc.constantFrom('object', 'oldObject', 'x"object', 'a'), fc.jsonValue()), (object, extra, more) => {
      const body = JSON.stringify({ more, ...reviewOf(object, { extra, ...more }) });
      const review = parseReview(body);
      const { request } = JSON.parse(body) as { request: unknown };
      if (review.kind === 'review') assert.deepEqual(review.request, request);
      else assert.equal(review.kind, 'answered');
    }), { numRuns: 300 });
  });

  const invalid: Readonly<Record<string, string>> = {
    'nothing': '', 'no JSON': '{', 'null': 'null', 'a list': '[]', 'a number': '7', 'another kind': '{"kind":"Pod"}',
    'another version': JSON.stringify(reviewOf(POD, {}, 'admission.k8s.io/v2')),
    'no request': '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
    'no uid': JSON.stringify(reviewOf(POD, { uid: 7 })), 'a bom': `\ufeff${JSON.stringify(reviewOf(POD))}`,
  };
  for (const [what, body] of Object.entries(invalid)) {
    it(`says of ${what} that it is no review`, () => assert.equal(parseReview(body).kind, 'invalid'));
  }

  it('refuses an object that is none, under its uid, and lets a deletion pass', () => {
    for (const object of [null, 'x', [], {}, { metadata: {} }, { metadata: null, spec: {} }]) {
      const review = parsed(reviewOf(object));
      assert.ok(review.kind === 'answered' && review.admission.kind === 'deny');
      assert.equal(review.uid, 'review-uid');
    }
    const deletion = parsed(reviewOf(null, { operation: 'DELETE' }));
    assert.ok(deletion.kind === 'answered' && deletion.admission.kind === 'pass');
  });
});

describe('the printed answer', () => {
  it('is the same JSON with a patch and without', () => {
    const uid = 'u"\\';
    const patch = [{ op: 'replace', path: '/metadata/name', value: 'other' }] as const;
    const answers = [
      answerReview('v', uid, { kind: 'pass' }),
      answerReview('v', uid, { kind: 'deny', reason: 'No', message: 'quote " and \n' }),
      answerReview('v', uid, { kind: 'mutate', patch, warnings: ['a "b"', 'x'.repeat(300)] }),
      answerFailure('v', 'u'),
    ];
    for (const answer of answers) {
      assert.deepEqual(JSON.parse(printReview(answer).toString()), JSON.parse(JSON.stringify(answer)));
    }
    assert.ok(answers[2]?.response.warnings?.every((warning) => warning.length <= 256));
  });
});

describe('diffJson', () => {
  it('leads from any object to any other, by a patch that another implementation applies', () => {
    const object = fc.dictionary(
      fc.oneof(fc.constantFrom('a/b', '~1', '~', '', '0', '-', 'constructor'), fc.string())
        .filter((key) => key !== '__proto__'),
      fc.jsonValue(), { maxKeys: 6 },
    );
    fc.assert(fc.property(object, object, (one, other) => {
      const [before, after] = [JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other))] as [object, object];
      const patch = JSON.parse(JSON.stringify(diffJson(before as never, after as never))) as jsonPatch.Operation[];
      assert.deepEqual(jsonPatch.applyPatch(structuredClone(before), patch, true, true, false).newDocument, after);
    }), { numRuns: 500 });
  });

  it('says nothing where nothing differs', () => assert.deepEqual(
    diffJson({ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2 }] } }), [],
  ));
});

describe('RequestBudget', () => {
  it('takes on what it has room for, and more when something has ended', () => {
    const budget = new RequestBudget({ requests: 2, bytes: 100 });
    const first = budget.take(60);
    assert.equal(budget.take(50), undefined, 'too many bytes');
    const second = budget.take(40);
    assert.equal(budget.take(0), undefined, 'too many requests');
    first?.();
    first?.();
    assert.equal(budget.requests, 1, 'an end counts once');
    second?.();
    assert.ok(budget.take(1_000), 'one that is too large for all is taken alone');
  });
});
