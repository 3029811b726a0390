import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import {
  findService, hostOf, parseAddress, parseServices, serviceOf,
} from '../../../../gateway/protocol/allowed-services.ts';

describe('addresses', () => {
  const good: Record<string, { host: string; port: number }> = {
    '10.0.0.1:6443': { host: '10.0.0.1', port: 6443 }, 'kubernetes.default.svc:443':
      { host: 'kubernetes.default.svc', port: 443 }, '[fd00::1]:443': { host: 'fd00::1', port: 443 },
  };
  for (const [text, address] of Object.entries(good)) {
    it(`${text} is one`, () => assert.deepEqual(parseAddress(text), address));
  }
  for (const text of [
    '', 'host', 'host:', 'host:0', 'host:65536', ':443', 'fd00::1:443', 'https://host:443', 'a b:443', 'host:4a',
    '[fd00::1]', 'host:443/x', 'user@host:443',
  ]) {
    it(`"${text}" is none`, () => assert.equal(parseAddress(text), undefined));
  }
});

describe('the host of what a program printed', () => {
  for (const [text, expected] of [
    ['192.0.2.1:51820', '192.0.2.1'], ['[fd00::1]:51820', 'fd00::1'], ['nothing', 'nothing'],
  ] as const) {
    it(`${text} is ${expected}`, () => assert.equal(hostOf(text), expected));
  }
});

describe('the list of services', () => {
  it('maps names to addresses', () => {
    const parsed = parseServices(['kube-apiserver=127.0.0.1:6443', 'metrics=[::1]:9090']);
    assert.deepEqual(parsed, {
      kind: 'services',
      services:
        new Map([['kube-apiserver', { host: '127.0.0.1', port: 6443 }], ['metrics', { host: '::1', port: 9090 }]]),
    });
  });
  const bad: Record<string, readonly string[]> = {
    'without an address': ['a'], 'without a name': ['=h:1'], 'with a name that is no DNS label': ['A.b=h:1'],
    'given twice': ['a=h:1', 'a=h:2'],
  };
  for (const [what, entries] of Object.entries(bad)) {
    it(`refuses an entry ${what}`, () => assert.equal(parseServices(entries).kind, 'invalid'));
  }

  const services = new Map([['kube-apiserver', { host: '10.0.0.1', port: 6443 }]]);
  it('finds what is on it', () => assert.deepEqual(
    findService(services, 'kube-apiserver:443'), { host: '10.0.0.1', port: 6443 },
  ));
  for (const authority of [
    '10.0.0.1:6443', 'kube-apiserver:6443', 'KUBE-APISERVER:443', 'kube-apiserver:443:443', '', '__proto__:443',
    'constructor:443', 'kube-apiserver.:443',
  ]) {
    it(`does not find "${authority}"`, () => assert.equal(findService(services, authority), undefined));
  }
  it('leads nowhere else, whatever is asked for', () => {
    fc.assert(
      fc.property(fc.string(), (authority) => assert.equal(
        findService(services, authority),
        serviceOf(authority) === 'kube-apiserver' ? services.get('kube-apiserver') : undefined,
      )),
    );
  });
});
