import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePort, parseSeconds, wholeNumber } from '../../../../cli/clusters/run-flags.ts';

describe('numbers of the command line', () => {
  const parseLease = wholeNumber('--failover-lease-seconds', 5, 86_400);
  it('of a lease', () => assert.equal(parseLease('120'), 120));
  for (const text of ['', '4', '5.5', '90000', 'x']) {
    it(`of a lease, not "${text}"`, () => assert.throws(
      () => parseLease(text), /--failover-lease-seconds takes a whole number from 5 to 86400/,
    ));
  }
  it('of seconds', () => assert.equal(parseSeconds('2.5'), 2.5));
  for (const text of ['', '-1', 'x']) {
    it(`of seconds, not "${text}"`, () => assert.throws(() => parseSeconds(text), /takes a number of seconds/));
  }
  it('of a port', () => assert.equal(parsePort('--port')('9443'), 9_443));
  for (const text of ['', '65536', '1.5', 'x']) {
    it(`of a port, not "${text}"`, () => assert.throws(
      () => parsePort('--port')(text), /--port takes a whole number from 0 to 65535/,
    ));
  }
});
