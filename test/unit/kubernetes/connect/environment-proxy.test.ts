import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environmentProxy } from '../../../../kubernetes/connect/environment-proxy.ts';

const PROXY = 'http://proxy.example:3128';
const through = (server: string, env: Readonly<Record<string, string>>): string | undefined =>
  environmentProxy(new URL(server), env)?.href;

describe('the proxy of the environment', () => {
  it('is that of HTTPS_PROXY, in either case and with or without a scheme', () => {
    const server = 'https://api.example:6443';
    for (const env of [
      { HTTPS_PROXY: PROXY }, { https_proxy: PROXY }, { HTTPS_PROXY: 'proxy.example:3128' },
      { HTTPS_PROXY: '', https_proxy: PROXY },
    ]) assert.equal(through(server, env as unknown as Record<string, string>), `${PROXY}/`, JSON.stringify(env));
    assert.equal(through(server, { HTTPS_PROXY: 'https://me:pass@proxy.example' }), 'https://me:pass@proxy.example/');
    for (const none of ['', ' ', 'socks5://proxy.example', 'http://']) {
      assert.equal(through(server, { HTTPS_PROXY: none }), undefined, none);
    }
    assert.equal(through(server, { HTTP_PROXY: PROXY, ALL_PROXY: PROXY }), undefined, 'servers are https');
  });

  it('is not used for servers that NO_PROXY names, nor for those of this machine', () => {
    const table: readonly (readonly [server: string, noProxy: string, isDirect: boolean])[] = [
      ['https://localhost:6443', '', true], ['https://127.0.0.9', '', true], ['https://[::1]:6443', '', true],
      ['https://api.example', '*', true], ['https://api.example', 'other.example, API.example', true],
      ['https://api.eu.example', 'example', true], ['https://api.example', 'pi.example', false],
      ['https://eu.api.example', '.api.example', true], ['https://api.example', '.api.example', false],
      ['https://eu.api.example', '*.api.example', true], ['https://api.example', 'api.example:443', true],
      ['https://api.example:6443', 'api.example:443', false], ['https://api.example', ',', false],
      ['https://10.1.2.3:6443', '10.0.0.0/8', true], ['https://11.1.2.3', '10.0.0.0/8', false],
      ['https://10.1.2.3', '10.1.2.3', true], ['https://110.1.2.3', '10.1.2.3', false],
      ['https://10.1.2.3:6443', '10.1.2.3:6443', true], ['https://[fd00::1]:6443', 'fd00:0::1', true],
      ['https://[fd00::1]:6443', '[fd00::1]:6443', true], ['https://[fd00::1]', '[fd00::1]:6443', false],
      ['https://[fd00::1]', 'fd00::/8', true], ['https://10.1.2.3', 'fd00::/8', false],
    ];
    for (const [server, noProxy, isDirect] of table) {
      const proxy = through(server, { HTTPS_PROXY: PROXY, no_proxy: noProxy });
      assert.equal(proxy === undefined, isDirect, `${server} ${noProxy}`);
    }
  });
});
