import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listenHost } from '../../../process/listen-host.ts';

describe('the host that a server listens on', () => {
  for (const [host, withIpv6, expected] of [
    ['::', true, '::'], ['::', false, '0.0.0.0'], ['127.0.0.1', false, '127.0.0.1'], ['0.0.0.0', true, '0.0.0.0'],
    ['::1', false, '::1'],
  ] as const) {
    it(`given ${host} ${withIpv6 ? 'with' : 'without'} IPv6 is ${expected}`, () =>
      assert.equal(listenHost(host, withIpv6), expected));
  }
});
