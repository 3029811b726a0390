import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exitCodeOf } from '../../../../cli/streams/exec-status.ts';
import { parsePorts } from '../../../../cli/streams/pod-streams.ts';

describe('the end of a command', () => {
  const failed = (...causes: object[]) => JSON.stringify(
    { status: 'Failure', message: 'command terminated', reason: 'NonZeroExitCode', details: { causes } },
  );
  const rows: Record<string, readonly [status: string, end: object]> = {
    'success is 0': ['{"status":"Success","metadata":{}}', { code: 0 }],
    'an exit code is ours': [failed({ reason: 'ExitCode', message: '3' }), { code: 3 }],
    'an exit code beside other causes':
      [failed({ reason: 'Other', message: 'x' }, { reason: 'ExitCode', message: '137' }), { code: 137 }],
    'an exit code that is none':
      [failed({ reason: 'ExitCode', message: 'many' }), { code: 1, message: 'command terminated' }],
    'a failure before the command':
      ['{"status":"Failure","message":"container is not running"}', { code: 1, message: 'container is not running' }],
    'a stream that broke off': ['', { code: 1, message: 'the stream broke off' }],
    'no JSON': ['oops', { code: 1, message: 'the stream broke off' }],
  };
  for (const [what, [status, end]] of Object.entries(rows)) it(what, () => assert.deepEqual(exitCodeOf(status), end));
});

describe('ports', () => {
  const rows: Record<string, object> = {
    '80': { local: 80, remote: 80 }, '8080:80': { local: 8_080, remote: 80 }, ':80': { local: 0, remote: 80 },
    '0:80': { local: 0, remote: 80 },
  };
  for (const [argument, ports] of Object.entries(rows)) {
    it(`${argument} is understood`, () => assert.deepEqual(parsePorts(argument), ports));
  }
  for (const argument of ['', '0', '80:', '80:0', '65536', '70000:80', 'a:80', '80:http', '1:2:3']) {
    it(`${JSON.stringify(argument)} is refused`, () => assert.throws(() => parsePorts(argument), { code: 'BadInput' }));
  }
});
