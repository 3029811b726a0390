// Two delegates at once are found to the millisecond, and nothing else is taken for that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditedLives, doublesIn } from '../../support/history/audited-lives.ts';

const at = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

/** A line of an audit log: a write of `team-a/web` that took 10 ms. */
function line(verb: string, ms: number, more: { readonly code?: number; readonly subresource?: string } = {}): string {
  const { code = verb === 'create' ? 201 : 200, subresource } = more;
  return JSON.stringify({
    stage: 'ResponseComplete', verb, requestReceivedTimestamp: at(ms - 10), stageTimestamp: at(ms),
    objectRef: { resource: 'pods', namespace: 'team-a', name: 'web', ...(subresource && { subresource }) },
    responseStatus: { code },
  });
}

function doubles(a: readonly string[], b: readonly string[], counts = () => true): readonly string[] {
  const logs = Object.entries({ a, b }).map(([cluster, lines]) => ({ cluster, log: lines.join('\n'), counts }));
  return doublesIn(auditedLives(logs));
}

describe('delegates of one proxy by audit logs', () => {
  it('are found where they met, however short', () => {
    const found = doubles([line('create', 0), line('delete', 1_000)], [line('create', 989), line('delete', 2_000)]);
    assert.deepEqual(found, ['team-a/web was in a and in b for 1 ms at least']);
  });

  it('are none where the one had gone, or may have', () => {
    const gone = [line('create', 0), line('patch', 500, { subresource: 'status' }), line('delete', 1_000)];
    assert.deepEqual(doubles(gone, [line('create', 1_001), line('delete', 2_000)]), []);
    assert.deepEqual(doubles(gone, [line('create', 995), line('delete', 2_000)]), [], 'the last write was under way');
  });

  it('are none where a write was refused, is no create, or is of a pod that does not count', () => {
    const alone = [line('create', 0), line('delete', 1_000)];
    assert.deepEqual(doubles(alone, [line('create', 500, { code: 409 }), line('delete', 900, { code: 404 })]), []);
    assert.deepEqual(doubles(alone, [line('create', 500, { subresource: 'binding' })]), []);
    assert.deepEqual(doubles(alone, [line('create', 500), line('delete', 900)], () => false), []);
    assert.deepEqual(doubles(alone, ['{"resource":"pods"', line('create', 2_000)]), [], 'a line that was cut');
  });

  it('are there from their first write on where the log does not tell the name with which they were made', () => {
    const unnamed = [line('patch', 500, { subresource: 'status' }), line('delete', 900)];
    assert.deepEqual(
      doubles([line('create', 0), line('delete', 1_000)], unnamed),
      ['team-a/web was in a and in b for 390 ms at least'],
    );
    assert.deepEqual(doubles([line('create', 0), line('delete', 500)], unnamed), []);
  });

  it('are lives of their own when one is made again', () => {
    const again = [line('create', 0), line('delete', 100), line('create', 5_000), line('delete', 6_000)];
    assert.deepEqual(doubles(again, [line('create', 1_000), line('delete', 2_000)]), []);
    assert.equal(doubles(again, [line('create', 1_000), line('delete', 5_500)]).length, 1);
  });
});
