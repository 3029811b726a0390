import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostPort, unmapped } from '../../../../model/network/socket-address.ts';

describe('a host with its port', () => {
  for (const [host, expected] of [
    ['192.0.2.1', '192.0.2.1:443'], ['fd00::1', '[fd00::1]:443'], ['::', '[::]:443'], ['a.example', 'a.example:443'],
  ] as const) {
    it(`is ${expected}, and a URL takes it`, () => {
      assert.equal(hostPort(host, 443), expected);
      assert.ok(URL.canParse(`https://${expected}`));
    });
  }
});

describe("a peer's address", () => {
  for (const [seen, expected] of [
    ['::ffff:192.0.2.1', '192.0.2.1'], ['::FFFF:192.0.2.1', '192.0.2.1'], ['192.0.2.1', '192.0.2.1'],
    ['fd00::ffff:1', 'fd00::ffff:1'], ['::ffff:c000:201', '::ffff:c000:201'], ['', ''],
  ] as const) {
    it(`seen as "${seen}" is "${expected}"`, () => assert.equal(unmapped(seen), expected));
  }
});
