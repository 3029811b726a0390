import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  instancesOf, MOST_SERVICES, toDnsService, type ServiceAddress,
} from '../../../../discovery/entry/dns-service.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const DOMAIN = 'clusters.example';
const named = (instance: string) => `${instance}._isthmus._tcp.${DOMAIN}`;
const at = (name: string, more: Partial<ServiceAddress> = {}): ServiceAddress =>
  ({ name, port: 6443, priority: 0, weight: 0, ...more });
const CONTROL = String.fromCharCode(27, 91, 50, 74);

describe('instances that DNS announces', () => {
  it('have names that objects can have, each once, in order', () => {
    assert.deepEqual(
      instancesOf(DOMAIN, [named('us'), `${named('EU')}.`, named('eu'), named('us')]), ['eu', 'us'],
    );
  });

  const rows: readonly (readonly [string, string])[] = [
    ['has control characters', named(`eu${CONTROL}`)], ['has spaces', named('eu\\032west')],
    ['has a dot', named('eu\\.west')], ['has none', `_isthmus._tcp.${DOMAIN}`], ['is empty', named('')],
    ['is of another domain', `eu._isthmus._tcp.elsewhere.example`],
    ['is of another service', `eu._http._tcp.${DOMAIN}`],
    ['is too long', named('a'.repeat(64))], ['begins with a dash', named('-eu')],
  ];
  for (const [what, name] of rows) {
    it(`are left out when the name ${what}`, () => assert.deepEqual(instancesOf(DOMAIN, [name]), []));
  }

  it('are no more than so many', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => named(`c${index}`));
    assert.equal(instancesOf(DOMAIN, names).length, MOST_SERVICES);
  });
});

describe('a service that DNS announces', () => {
  const addressOf = (...addresses: readonly ServiceAddress[]) => toDnsService('eu', addresses, []).address;

  it('is at the address of the lowest priority, then of the highest weight', () => {
    const first = at('a.example', { priority: 1, weight: 9 });
    const others = [at('c.example', { priority: 2 }), at('b.example', { priority: 1 })];
    assert.equal(addressOf(...others, first), 'a.example:6443');
    assert.equal(addressOf(at('b.example'), at('A.example.')), 'a.example:6443');
  });

  const wrong: readonly ServiceAddress[] = [
    at(''), at('.'), at('a b'), at(`a${CONTROL}`), at('user@host'), at('host/path'), at('host?x'), at('host#x'),
    at('a..b'), at('-a'), at(`${'a'.repeat(63)}.`.repeat(5)), at('a', { port: 0 }), at('a', { port: 65_536 }),
    at('a', { port: Number.NaN }), at('[::1]'), at('a:1'), at('ä.example'),
  ];
  it('has no address that is no host name and port', () => {
    for (const one of wrong) assert.equal(addressOf(one), undefined, JSON.stringify(one));
    assert.equal(addressOf(...wrong, at('good.example', { priority: 9 })), 'good.example:6443');
  });

  it('has an ID and an authority of their forms alone', () => {
    const sha = 'ab'.repeat(32);
    const read = (...texts: readonly string[]) => {
      const { clusterId, authority } = toDnsService('eu', [], texts);
      return [clusterId, authority];
    };
    assert.deepEqual(read('id=0b7e-1', `CA=SHA256:${sha.toUpperCase()}`), ['0b7e-1', sha]);
    assert.deepEqual(read('id=one', 'id=two', 'idx=3'), ['one', undefined]);
    for (const text of ['id=', `id=a${CONTROL}`, `id=${'x'.repeat(65)}`, 'ca=sha256:1', 'ca=md5:1', 'ca', '=']) {
      assert.deepEqual(read(text), [undefined, undefined], text);
    }
  });

  it('never has a text that a terminal or a URL would read in another way', () => {
    const anything = fc.string({ unit: codePoint, maxLength: 80 });
    fc.assert(fc.property(fc.array(anything), fc.array(anything), anything, (names, texts, host) => {
      const [name = 'eu'] = instancesOf(DOMAIN, names.map(named));
      const { address = 'a:1', clusterId = '', authority = '' } = toDnsService(name, [at(host)], texts);
      assert.match([name, address, clusterId, authority].join(' '), /^[\w.:\- ]*$/);
    }));
  });
});
