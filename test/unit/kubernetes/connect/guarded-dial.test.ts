// Where a tenant's target leads: names are resolved by the test, servers are real, and nobody is connected to whose
// address was not looked at.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ClusterAccess, TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { tenantLimits } from '../../../../kubernetes/connect/connection-limits.ts';
import { guardedLookup, type Resolve } from '../../../../kubernetes/connect/guarded-dial.ts';
import { plainSocket } from '../../../../kubernetes/connect/secure-socket.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { mayDial } from '../../../../model/network/dialled-addresses.ts';

const NO_CHOICES = { allowed: [], denied: [], own: [] };
const byDefault = (address: string) => mayDial(address, NO_CHOICES);

/** Gives these answers one after another. */
function answers(...given: readonly (readonly string[])[]): Resolve & { readonly asked: string[] } {
  const left = [...given];
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    asked.push(hostname);
    const addresses = left.shift() ?? [];
    callback(null, addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return Object.assign(resolve, { asked });
}

describe('a name', () => {
  const found = (resolve: Resolve, all: boolean) =>
    new Promise((done) => guardedLookup(byDefault, resolve)(
      'name', { all }, (error, address) => done(error === null ? address : `${error.name}: ${error.message}`),
    ));
  const refused = (address: string) =>
    `AddressRefusedError: name resolves to ${address}, an address that Targets may not use`;
  const cases: Record<string, readonly [found: unknown, addresses: readonly string[], all: boolean]> = {
    'that leads to a public address has it': ['8.8.8.8', ['8.8.8.8', '9.9.9.9'], false],
    'has all of them for who tries them in turn':
      [[{ address: '8.8.8.8', family: 4 }, { address: '2600::1', family: 6 }], ['8.8.8.8', '2600::1'], true],
    'that leads to this host has none': [refused('127.0.0.1'), ['127.0.0.1'], false],
    'that leads elsewhere as well has none':
      [refused('::ffff:169.254.169.254'), ['8.8.8.8', '::ffff:169.254.169.254'], true],
    'that leads nowhere has none': ['Error: name has no address', [], false],
  };
  for (const [sentence, [expected, addresses, all]] of Object.entries(cases)) {
    it(sentence, async () => assert.deepEqual(await found(answers(addresses), all), expected));
  }
});

describe("a connection to a tenant's target", () => {
  let listener: Server;
  let connections = 0;
  beforeEach(async () => {
    connections = 0;
    listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
  });
  afterEach(() => void listener.close());
  const port = () => (listener.address() as AddressInfo).port;
  const connectionTo = (host: string) => ({
    server: new URL(`https://${host}:${port()}`), insecure: false, credentials: { kind: 'none' } as const,
    limits: tenantLimits(byDefault),
  });
  const NOT_REACHED =
    { name: 'UnreachableError', message: /^the API server of the target cannot be reached, or is not an API server/ };

  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '[::1]', '2130706433', '0x7f.1']) {
    it(`is not made to https://${host}, by calls, watches and streams alike`, async () => {
      const transport = new Transport(connectionTo(host), 'isthmus-test');
      const { signal } = new AbortController();
      await assert.rejects(transport.call({ method: 'GET', path: '/api' }), NOT_REACHED);
      await assert.rejects(transport.stream({ method: 'GET', path: '/api' }, signal), NOT_REACHED);
      await assert.rejects((await transport.access()).dial(), { name: 'AddressRefusedError' });
      await transport.close();
      assert.equal(connections, 0);
    });
  }

  it('is made to the address that was looked at, and to no other that its name leads to a moment later', async () => {
    const resolve = answers(['127.0.0.1'], ['127.0.0.1']);
    const judged: string[] = [];
    const lookup = guardedLookup((address) => (judged.push(address), judged.length === 1), resolve);
    const server = new URL(`http://rebinding.example:${port()}`);
    await plainSocket(server, 5_000, lookup);
    await assert.rejects(plainSocket(server, 5_000, lookup), { name: 'AddressRefusedError' });
    assert.deepEqual(
      [judged, resolve.asked.length], [['127.0.0.1', '127.0.0.1'], 2],
      'each connection resolves once, and judges what it connects to',
    );
  });

  it('of an administrator is made anywhere', async () => {
    const { limits: _none, ...connection } = connectionTo('127.0.0.1');
    const access = new ClusterAccess(connection, {}, TRANSPORT_TIMINGS);
    await assert.rejects(access.dial());
    await access.destroy();
    assert.equal(connections, 1);
  });
});
