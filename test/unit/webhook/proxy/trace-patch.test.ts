import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TRACE_ANNOTATION } from '../../../../api/objects/keys.ts';
import { traceOf } from '../../../../model/proxy/trace.ts';
import type { Admission } from '../../../../webhook/review/admission-answer.ts';
import { withTrace } from '../../../../webhook/proxy/trace-patch.ts';

const TRACE = { traceId: 'a'.repeat(32), rootId: 'b'.repeat(16), startedAt: 1 };
const elected: Admission =
  { kind: 'mutate', patch: [{ op: 'add', path: '/metadata/annotations', value: { a: 'b' } }], warnings: [] };

describe('withTrace', () => {
  it('adds an annotation from which the trace can be read', () => {
    const admission = withTrace(elected, undefined, TRACE);
    const operation = admission.kind === 'mutate' ? admission.patch.at(-1) : undefined;
    assert.ok(operation?.op === 'add' && operation.path === '/metadata/annotations/isthmus.dev~1trace');
    assert.deepEqual(traceOf({ [TRACE_ANNOTATION]: String(operation.value) }), TRACE);
  });

  const unchanged: readonly (readonly [string, Admission, Record<string, string> | undefined])[] = [
    ['a pod that is none of ours', { kind: 'pass' }, undefined],
    ['a pod that is refused', { kind: 'deny', reason: 'R', message: 'm' }, undefined],
    ['a proxy that is as it should be', { kind: 'mutate', patch: [], warnings: [] }, {}],
    ['a pod that has a trace', elected, { [TRACE_ANNOTATION]: 'x' }],
  ];
  for (const [what, admission, annotations] of unchanged) {
    it(`leaves alone ${what}`, () => assert.equal(withTrace(admission, annotations, TRACE), admission));
  }
});
