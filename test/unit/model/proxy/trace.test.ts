import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { TRACE_ANNOTATION } from '../../../../api/objects/keys.ts';
import { printTrace, toOtlp, traceOf, type Span } from '../../../../model/proxy/trace.ts';

const hex = (digits: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`));
const SPAN: Span = {
  name: 'schedule', traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentId: 'c'.repeat(16),
  startMs: 1_700_000_000_123, endMs: 1_700_000_000_456, attributes: { 'k8s.pod.name': 'web', count: 2 },
};

describe('the annotation of a trace', () => {
  it('says what it was printed from', () => {
    fc.assert(fc.property(hex(32), hex(16), fc.nat({ max: 10 ** 15 - 1 }), (traceId, rootId, startedAt) => {
      assert.deepEqual(
        traceOf({ [TRACE_ANNOTATION]: printTrace({ traceId, rootId, startedAt }) }), { traceId, rootId, startedAt },
      );
    }));
  });

  const others = {
    'none at all': undefined, 'no trace': {}, 'one of a user who guesses': { [TRACE_ANNOTATION]: 'yes' },
    'too long a time': { [TRACE_ANNOTATION]: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01/${'9'.repeat(16)}` },
  };
  for (const [what, annotations] of Object.entries(others)) {
    it(`is none: ${what}`, () => assert.equal(traceOf(annotations), undefined));
  }
});

describe('the body of an export', () => {
  it('is what a collector takes as OTLP in JSON', () => {
    assert.deepEqual(toOtlp([SPAN], { 'service.name': 'isthmus' }), {
      resourceSpans: [{
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'isthmus' } }] },
        scopeSpans: [{
          scope: { name: 'isthmus' },
          spans: [{
            traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: 'c'.repeat(16), name: 'schedule', kind: 1,
            startTimeUnixNano: '1700000000123000000', endTimeUnixNano: '1700000000456000000',
            attributes:
              [{ key: 'k8s.pod.name', value: { stringValue: 'web' } }, { key: 'count', value: { intValue: '2' } }],
          }],
        }],
      }],
    });
  });

  it('tells what failed, and never ends before it begins', () => {
    const { parentId: _, ...root } = SPAN;
    const [{ scopeSpans: [{ spans: [span] }] }] = (toOtlp([{ ...root, endMs: 0, error: 'no room' }], {}) as {
      resourceSpans: [{ scopeSpans: [{ spans: [Record<string, unknown>] }] }]
    }).resourceSpans;
    assert.deepEqual([span['status'], span['endTimeUnixNano'], 'parentSpanId' in span], [
      { code: 2, message: 'no room' }, span['startTimeUnixNano'], false,
    ]);
  });
});
