import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseReview } from '../../../../webhook/review/admission-review.ts';
import { excessOf, frameOf, MAX_DEPTH, MAX_VALUES } from '../../../../webhook/review/review-size.ts';
import { reviewOf } from '../../../support/objects/admission.ts';

const annotations = (count: number): object => ({
  metadata: { annotations: Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, ''])) },
  spec: {},
});
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const long = (text: string): string => `${text}${' '.repeat(20_000)}`;

describe('what there is too much of', () => {
  const rows: Readonly<Record<string, readonly [text: string, excess: RegExp | undefined]>> = {
    'many values': [long(`[${'0,'.repeat(MAX_VALUES)}0]`), /more than 50000 values/],
    'just not too many': [long(`[${'0,'.repeat(MAX_VALUES - 1)}0]`), undefined],
    'many empty objects': [long(`[${'{},'.repeat(MAX_VALUES)}{}]`), /values/],
    'many levels': [long(nested(MAX_DEPTH + 1)), /200 levels/],
    'just not too many levels': [long(nested(MAX_DEPTH)), undefined],
    'levels that are closed again': [long(`[${'[],'.repeat(MAX_DEPTH * 2)}0]`), undefined],
    'a text of commas': [JSON.stringify({ a: ','.repeat(100_000) }), undefined],
    'a text of brackets': [JSON.stringify({ a: '[{'.repeat(100_000) }), undefined],
    'a text of quotes': [JSON.stringify({ a: '"'.repeat(100_000) }), undefined],
    'a text that ends with a backslash, then too many values':
      [`["${'\\\\'.repeat(9_999)}",${'0,'.repeat(MAX_VALUES)}0]`, /values/],
    'a text without an end': [`["${'x,'.repeat(100_000)}`, undefined],
    'closes without opens': [long(']'.repeat(1_000)), undefined],
    'a short text, whatever it is': [nested(1_000), undefined],
  };
  for (const [what, [text, excess]] of Object.entries(rows)) {
    it(`${what}: ${excess === undefined ? 'nothing' : 'refused'}`, () => {
      if (excess === undefined) assert.equal(excessOf(text), undefined);
      else assert.match(excessOf(text) ?? '', excess);
    });
  }

  it('is nothing in any JSON of fewer values, whatever its texts hold', () => {
    fc.assert(fc.property(fc.json({ maxDepth: 20 }), (text) => assert.equal(excessOf(long(text)), undefined)));
  });
});

describe('a review with too much', () => {
  it("is refused with its uid and with what to change, unread: what comes after the frame need not even be JSON",
    () => {
    const text = JSON.stringify(reviewOf(annotations(MAX_VALUES)));
    const parsed = parseReview(`${text.slice(0, -1)}nonsense`);
    assert.deepEqual(parsed, {
      kind: 'answered', apiVersion: 'admission.k8s.io/v1', uid: 'review-uid',
      admission: {
        kind: 'deny', reason: 'TooManyValues',
        message: 'the object has more than 50000 values: move its data into a ConfigMap or Secret',
      },
    });
  });

  it('is no review where no API server wrote it', () => {
    assert.deepEqual(parseReview(long(`{"request":${nested(500)}}`)), {
      kind: 'invalid', message: 'the body is more than 200 levels deep',
    });
  });

  it('of the size that pods have is read as before', () => {
    assert.equal(parseReview(JSON.stringify(reviewOf(annotations(5_000)))).kind, 'review');
  });

  it('is told by the beginning that API servers write', () => {
    assert.deepEqual(frameOf(JSON.stringify(reviewOf({}, {}, 'admission.k8s.io/v1beta1'))), {
      apiVersion: 'admission.k8s.io/v1beta1', uid: 'review-uid',
    });
    assert.equal(frameOf('{"kind":"AdmissionReview","apiVersion":"v1","request":{"uid":"u"}}'), undefined);
  });
});
