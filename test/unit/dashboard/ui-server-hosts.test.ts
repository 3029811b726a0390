// Which names a page in a cluster can have in its address: as browsers send them in the header Host.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { judge } from '../../../dashboard/server/request-guard.ts';
import { uiServerCommand } from '../../../dashboard/ui-server-command.ts';
import { AppError } from '../../../process/errors.ts';

/** The names with which the server would answer. */
function namesFor(...hosts: readonly string[]): readonly string[] {
  const command = uiServerCommand().exitOverride().action(() => undefined);
  command.parse(['--tls-folder', 'tls', ...hosts.flatMap((host) => ['--host', host])], { from: 'user' });
  return command.opts<{ readonly host: readonly string[] }>().host;
}

/** Whether a browser that was sent to this host gets the page, with and without a port in its address. */
function isServed(hosts: readonly string[], host: string): readonly boolean[] {
  return ['', ':8443'].map((port) => {
    const { host: sent } = new URL(`https://${host}${port}`);
    const document = {
      method: 'GET', path: '/', host: sent, origin: undefined, fetchSite: 'none', fetchDest: 'document',
        authorization: undefined,
    };
    return judge(document, { scheme: 'https', hosts }).kind === 'page';
  });
}

describe('the names of a page', () => {
  it('are those of a forwarded port, with those that are given', () => {
    assert.deepEqual(namesFor(), ['localhost', '127.0.0.1']);
    assert.deepEqual(namesFor('a.example', 'b.example'), ['localhost', '127.0.0.1', 'a.example', 'b.example']);
  });
  for (const host of ['isthmus', 'isthmus.example.com', 'xn--bcher-kva.example', '10.0.0.9', '1.example']) {
    it(`may be ${host}`, () => assert.deepEqual(isServed(namesFor(host), host), [true, true]));
  }
  for (const host of ['::1', 'fd00::1', 'FD00:0:0:0:0:0:0:1', 'fd00::0001', '::ffff:10.0.0.1', '2001:db8::a:0:0:1']) {
    it(`may be the IPv6 address ${host}, in brackets or not`, () => {
      for (const written of [host, `[${host}]`]) {
        assert.deepEqual(isServed(namesFor(written), `[${host}]`), [true, true], written);
      }
    });
  }
  it('may be any IPv6 address, and then no other is served', () => {
    fc.assert(fc.property(fc.ipV6(), fc.ipV6(), (host, other) => {
      const isSame = new URL(`https://[${host}]`).host === new URL(`https://[${other}]`).host;
      const names = namesFor(host);
      assert.deepEqual(isServed(names, `[${host}]`), [true, true]);
      assert.deepEqual(isServed(names, `[${other}]`), [isSame, isSame]);
    }), { numRuns: 50 });
  });
  for (const host of [
    'Isthmus.example', 'a b', 'a:443', '[::1]:443', '[::1', '::1]', '[]', '[10.0.0.1]', 'fe80::1%eth0', 'https://a',
      '*.example',
    'a..b', '-a', '', `${'a'.repeat(64)}.example`,
  ]) {
    it(`may not be ${JSON.stringify(host)}: no browser would send it`, () => assert.throws(
      () => namesFor(host), (error) => error instanceof AppError && error.code === 'BadInput'
        && error.message.includes(`"${host}"`),
    ));
  }
});
