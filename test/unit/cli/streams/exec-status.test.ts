import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { exitCodeOf } from '../../../../cli/streams/exec-status.ts';

const failed = (causes: readonly unknown[], message = 'command terminated') =>
  JSON.stringify({ kind: 'Status', status: 'Failure', message, reason: 'NonZeroExitCode', details: { causes } });
const exit = (code: unknown) => failed([{ reason: 'ExitCode', message: code }]);

describe('the end of an exec stream', () => {
  const rows: readonly (readonly [what: string, text: string, code: number, message: string | undefined])[] = [
    ['of a command that succeeded', '{"status":"Success"}', 0, undefined],
    ['of a command that failed', exit('3'), 3, undefined],
    ['with the highest code', exit('255'), 255, undefined],
    [
      'with another cause first', failed([{ reason: 'Other', message: '9' }, { reason: 'ExitCode', message: '2' }]), 2,
      undefined,
    ],
    ['with code 0, which is no failure', exit('0'), 1, 'command terminated'],
    ['with a code that no process has', exit('256'), 1, 'command terminated'],
    ['with a fraction', exit('1.5'), 1, 'command terminated'],
    ['with a word', exit('none'), 1, 'command terminated'],
    ['without a cause', failed([]), 1, 'command terminated'],
    ['with a code that is no text', exit([{ toString: false }]), 1, 'command terminated'],
    ['with a cause that is null', failed([null, { reason: 'ExitCode', message: '2' }]), 2, undefined],
    ['with causes that are no list', '{"status":"Failure","details":{"causes":"ExitCode"}}', 1, 'the command failed'],
    ['with details that are null', '{"status":"Failure","details":null}', 1, 'the command failed'],
    ['of a container that is gone', '{"status":"Failure","message":"not found"}', 1, 'not found'],
    ['without a message', '{"status":"Failure"}', 1, 'the command failed'],
    ['without a status', '', 1, 'the stream broke off'],
    ['that is not JSON', '{"status":', 1, 'the stream broke off'],
    ['that is no object', '"Success"', 1, 'the stream broke off'],
    ['that is null', 'null', 1, 'the stream broke off'],
  ];
  for (const [what, text, code, message] of rows) {
    it(what, () => assert.deepEqual(exitCodeOf(text), message === undefined ? { code } : { code, message }));
  }

  it('is a code of the shell whatever is sent', () => fc.assert(fc.property(
    fc.oneof(fc.string(), fc.json(), fc.jsonValue().map(exit)),
    (text) => {
      const { code, message } = exitCodeOf(text);
      assert.ok(Number.isInteger(code) && code >= 0 && code < 256);
      if (code === 0) assert.equal(message, undefined);
    },
  )));
});
