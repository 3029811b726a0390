import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  addressOf, LISTS, LONGEST_SPEC, MOST_REPLICAS, parseRoute, specProblem, type Filters, type Route,
} from '../../../../dashboard/wire/routes.ts';

function parsed(address: string): Route | undefined {
  const { pathname, searchParams } = new URL(address, 'http://127.0.0.1');
  return parseRoute(pathname, new Map(searchParams));
}

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const filter = fc.string({ minLength: 1, maxLength: 60 }).map((text) => text.trim()).filter((text) => text !== '');
const filters: fc.Arbitrary<Filters> = fc.record(
  { namespace: filter, target: filter, status: filter, workload: filter, text: filter },
  { requiredKeys: [], noNullPrototype: true },
);
const route: fc.Arbitrary<Route> = fc.oneof(
  fc.record({ screen: fc.constantFrom(...LISTS), filters }, { noNullPrototype: true }),
  fc.record(
    {
      screen: fc.constant('pod' as const), namespace: label, name: label, without: filter,
      replicas: fc.integer({ min: 1, max: MOST_REPLICAS }), policy: filter,
      spec: fc.string({ minLength: 1, maxLength: LONGEST_SPEC }).filter((text) => text.trim() !== ''),
    },
    { requiredKeys: ['screen', 'namespace', 'name'], noNullPrototype: true },
  ),
  fc.record({ screen: fc.constant('decision' as const), namespace: label, name: label }, { noNullPrototype: true }),
);

describe('addresses of screens', () => {
  it('name every state of the page and nothing else', () => {
    fc.assert(fc.property(route, (given) => assert.deepEqual(parsed(addressOf(given)), given)));
  });

  for (const text of ['0', '101', '-1', '1.5', 'ten', '']) it(`have no ${text || 'missing'} replicas`, () => {
    assert.deepEqual(parsed(`/pods/shop/web?replicas=${text}`), { screen: 'pod', namespace: 'shop', name: 'web' });
  });

  it('keep the lines of a spec as they are written, also one that is too long to be read', () => {
    const spec = `require:\n  matchLabels:\n    region: eu # ${'x'.repeat(LONGEST_SPEC)}\n`;
    assert.deepEqual(parsed(addressOf({ screen: 'pod', namespace: 'shop', name: 'web', spec })), {
      screen: 'pod', namespace: 'shop', name: 'web', spec,
    });
    assert.deepEqual(parsed('/pods/shop/web?policy=+&spec=%0A'), { screen: 'pod', namespace: 'shop', name: 'web' });
  });

  for (const [character, bytes] of [
    ['x', 1], ['\u{20}', 3], ['"', 3], ['\u{E4}', 6], ['\u{4E2D}', 9], ['\u{1F600}', 12],
  ] as const) {
    it(`of a longest spec of ${character} fit into the headers of a request, and a longer one is refused`, () => {
      const spec = character.repeat(LONGEST_SPEC / bytes);
      assert.equal(specProblem(spec), undefined);
      assert.ok(addressOf({ screen: 'pod', namespace: 'shop', name: 'web', spec }).length < 8_192);
      assert.match(specProblem(spec + character.repeat(6)) ?? '', /and at most 6000 are read/);
    });
  }

  it('have a mark in place of half a character', () => {
    const address = addressOf({ screen: 'pod', namespace: 'shop', name: 'web', spec: 'a\u{D83D}' });
    assert.equal(address, '/pods/shop/web?spec=a%EF%BF%BD');
    assert.equal(specProblem('a\u{D83D}'), undefined);
  });

  it('begin with the targets', () => assert.deepEqual(parsed('/'), { screen: 'targets', filters: {} }));

  it('drop what is no filter, and filters without text', () => {
    const shop = { screen: 'pods', filters: { namespace: 'shop' } };
    assert.deepEqual(parsed('/pods?namespace=shop&color=red&text=++'), shop);
    assert.deepEqual(parsed(`/pods?text=${'x'.repeat(300)}`), { screen: 'pods', filters: {} });
  });

  for (const address of [
    '/nothing', '/targets/eu', '/pods/shop', '/pods/shop/web/log', '/pods/Shop/web', '/pods/../x', '/pods//web',
    '/pods/shop/%3Cscript%3E', '//evil.example', '/targets/', '/decisions/shop', '/decisions/shop/Web',
  ]) it(`are not ${address}`, () => assert.equal(parseRoute(address), undefined));
});
