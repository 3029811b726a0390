import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { LimitError } from '../../../../kubernetes/connect/connection-limits.ts';
import { readErrorBody, toApiError, withQuery, type Answer } from '../../../../kubernetes/http/api-answer.ts';

const answer = (status: number, body = '', retryAfter?: string): Answer =>
  ({ status, retryAfter, body: Buffer.from(body) });
const status = (more: object) => JSON.stringify({ kind: 'Status', ...more });

describe('a query', () => {
  it('is left out when it is empty', () => {
    assert.equal(withQuery('/api/v1/pods', undefined), '/api/v1/pods');
    assert.equal(withQuery('/api/v1/pods', {}), '/api/v1/pods');
    assert.equal(withQuery('/api/v1/pods', { watch: undefined }), '/api/v1/pods');
  });

  it('reads back as it was written, without what is undefined', () => fc.assert(fc.property(
    fc.dictionary(
      fc.string({ minLength: 1, unit: 'grapheme' }), fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
    ),
    (query) => {
      const { searchParams } = new URL(withQuery('/path', query), 'http://host');
      const wanted = Object.entries(query).filter(([, value]) => value !== undefined);
      const byText = (one: unknown, other: unknown) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
      assert.deepEqual([...searchParams].toSorted(byText), wanted.toSorted(byText));
    },
  )));
});

describe('the error of an answer', () => {
  const rows: readonly (readonly [what: string, body: string, reason: string, message: string])[] = [
    ['of an API server', status({ reason: 'Conflict', message: 'changed' }), 'Conflict', 'changed'],
    ['without a reason', status({ message: 'changed' }), '', 'changed'],
    ['without a message', status({ reason: 'Gone' }), 'Gone', status({ reason: 'Gone' })],
    ['of a proxy', '<html>Bad gateway</html>', '', '<html>Bad gateway</html>'],
    ['that is another object', '{"kind":"Pod","reason":"r"}', '', '{"kind":"Pod","reason":"r"}'],
    ['that is no object', 'null', '', 'null'],
    ['whose fields have other types', status({ reason: 1, message: {} }), '', status({ reason: 1, message: {} })],
  ];
  for (const [what, body, reason, message] of rows) {
    it(`${what} has its reason and text`, () => {
      const error = toApiError(answer(409, body));
      assert.deepEqual([error.status, error.reason, error.message], [409, reason, message]);
    });
  }

  it('quotes at most 4096 characters', () =>
    assert.equal(toApiError(answer(500, 'x'.repeat(9_000))).message.length, 4_096));

  it('shows nothing of a body that is not a Status where a tenant named the server', () => fc.assert(fc.property(
    fc.stringMatching(/^[a-f0-9]{8,64}$/),
    (secret) => assert.ok(!toApiError(answer(502, `token=${secret}`), false).message.includes(secret)),
  )));

  it('still shows a Status there', () =>
    assert.equal(toApiError(answer(403, status({ message: 'forbidden' })), false).message, 'forbidden'));

  const pauses: readonly (readonly [header: string | undefined, ms: number | undefined])[] = [
    [undefined, undefined], ['2', 2_000], ['0', undefined], ['-1', undefined], ['soon', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined], ['86400', 300_000],
  ];
  for (const [header, ms] of pauses) {
    it(`has the pause ${ms} ms for Retry-After ${header}`, () =>
      assert.equal(toApiError(answer(429, '', header)).retryAfterMs, ms));
  }
});

describe('the body of an error', () => {
  it('is read whole', async () => assert.equal(
    String(await readErrorBody(
      Readable.from([Buffer.from('a'), Buffer.from('b')]), { maxBytes: 2, timeoutMs: 60_000 },
    )),
    'ab',
  ));

  it('is given up when it is too long', async () => {
    const endless = Readable.from((function* body() {
      for (;;) yield Buffer.alloc(64);
    })());
    await assert.rejects(readErrorBody(endless, { maxBytes: 1_000, timeoutMs: 60_000 }), LimitError);
    assert.equal(endless.destroyed, true);
  });

  it('is given up when it stalls', async () => {
    const stalled = new Readable({ read: () => undefined });
    await assert.rejects(readErrorBody(stalled, { maxBytes: 1_000, timeoutMs: 1 }), { name: 'DeadlineError' });
    assert.equal(stalled.destroyed, true);
  });
});
