// Lookups against a DNS server of the test, which answers as it likes: nothing of it ends the process, fills it, or
// reaches a reading in another form.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import packet, { type DecodedPacket } from 'dns-packet';
import { DnsServices, isDnsServer, type DnsReading } from '../../../../discovery/watch/dns-services.ts';
import {
  dnsAnswer, startDnsZone, zoneOf, type DnsZone, type Reply, type ServiceRecords,
} from '../../../support/doubles/dns-zone.ts';

const DOMAIN = 'clusters.example';
const BROWSED = `_isthmus._tcp.${DOMAIN}`;

let server: DnsZone;
before(async () => {
  server = await startDnsZone();
});
after(() => server.stop());
const endedEach = (): void => afterEach(() => {
  for (const one of stop.splice(0)) one.abort();
  server.asked.length = 0;
});

const stop: AbortController[] = [];

/** The first reading. */
async function look(given: Reply): Promise<DnsReading> {
  server.answerBy(given);
  const services = new DnsServices({ domain: DOMAIN, server: server.address });
  const stopped = new AbortController();
  stop.push(stopped);
  await new Promise<void>((resolve) => void services.run(resolve, stopped.signal));
  return services.reading;
}

const EU: ServiceRecords =
  { instance: 'eu', target: 'api.eu.example', port: 6443, texts: ['txtvers=1', 'id=id-eu'] };
const READ = { name: 'eu', address: 'api.eu.example:6443', clusterId: 'id-eu', authority: undefined };
const good = zoneOf(DOMAIN, [EU]);

describe('a domain that announces services', () => {
  endedEach();
  it('is read: PTR, then SRV and TXT of each instance', async () => {
    assert.deepEqual(await look(good), { kind: 'read', services: [READ] });
    const asked = [...new Set(server.asked)].toSorted();
    assert.deepEqual(asked, [`PTR ${BROWSED}`, `SRV eu.${BROWSED}`, `TXT eu.${BROWSED}`]);
  });

  it('has none where there is no such name', async () => {
    assert.deepEqual(await look((query) => dnsAnswer(query, [], 3)), { kind: 'read', services: [] });
  });

  it('that cannot be looked up is not one that has none', async () => {
    const reading = await look((query) => dnsAnswer(query, [], 5));
    assert.ok(reading.kind === 'unreadable');
    assert.match(reading.message, /^_isthmus\._tcp\.clusters\.example cannot be looked up: .*EREFUSED/);
  });

  it('of which one service cannot be looked up has the others, and is known to be incomplete', async () => {
    const both = zoneOf(DOMAIN, [EU, { ...EU, instance: 'lame' }]);
    const reading = await look((query) =>
      query.questions?.[0]?.name.startsWith('lame.') === true ? dnsAnswer(query, [], 2) : both(query));
    assert.deepEqual(reading, { kind: 'read', services: [READ], isStale: true });
  });

  it('of whose only service a part cannot be looked up is not read in part', async () => {
    const reading = await look((query) =>
      query.questions?.[0]?.type === 'TXT' ? dnsAnswer(query, [], 2) : good(query));
    assert.equal(reading.kind, 'unreadable');
  });
});

describe('the address of a DNS server', () => {
  const rows: Readonly<Record<string, boolean>> = {
    '10.0.0.53': true, '10.0.0.53:53': true, '10.0.0.53:65535': true, 'fd00::53': true, '[fd00::53]:5353': true,
    '10.0.0.53:0': false, '10.0.0.53:00': false, '10.0.0.53:99999': false, '10.0.0.53:053': false, '999.1.1.1': false,
    abc: false, ':::': false, 'a:b': false, '[fd00::53]': false, '[10.0.0.53]:53': false, ':53': false, '': false,
  };
  for (const [server, isValid] of Object.entries(rows)) {
    it(`${server} ${isValid ? 'is one' : 'is none, which the reading says, and nothing is asked'}`, async () => {
      assert.equal(isDnsServer(server), isValid);
      if (isValid) return;
      const services = new DnsServices({ domain: DOMAIN, server });
      await new Promise<void>((resolve) => void services.run(resolve, new AbortController().signal));
      const message = `server ${server} is no IP address with a port from 1 to 65535`;
      assert.deepEqual(services.reading, { kind: 'unreadable', message });
    });
  }
});

/** The header of a response to a query, with so many answers. */
function head(query: DecodedPacket, answers: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.id ?? 0, 0);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers, 6);
  return Buffer.concat([header, packet.encode({ questions: query.questions ?? [] }).subarray(12)]);
}

/** A PTR record whose name and data are these bytes. */
function raw(name: Buffer, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(12, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, fixed, data]);
}

it('what DNS said stays while it cannot be asked, and is known to be old', async (t) => {
  server.answerBy(good);
  const services = new DnsServices({ domain: DOMAIN, server: server.address }, 1);
  const stopped = new AbortController();
  t.after(() => stopped.abort());
  let changed: () => void = () => undefined;
  const next = (then: () => void) => new Promise<DnsReading>((resolve) => {
    changed = () => resolve(services.reading);
    then();
  });
  const first = await next(() => void services.run(() => changed(), stopped.signal));
  assert.deepEqual(first, { kind: 'read', services: [READ] });
  const old = await next(() => server.answerBy((query) => dnsAnswer(query, [], 5)));
  assert.deepEqual(old, { kind: 'read', services: [READ], isStale: true });
  assert.deepEqual(await next(() => server.answerBy(zoneOf(DOMAIN, []))), { kind: 'read', services: [] });
});

describe('a hostile answer', () => {
  endedEach();
  const POINTER = Buffer.from([0xc0, 12]);
  const bytes: readonly (readonly [string, (query: DecodedPacket) => Buffer])[] = [
    ['whose name points at itself', (query) => {
      const start = head(query, 1);
      const self = Buffer.from([0xc0 | (start.length >> 8), start.length & 255]);
      return Buffer.concat([start, raw(self, POINTER)]);
    }],
    ['whose names point at one another', (query) => {
      const start = head(query, 2);
      const at = (offset: number) => Buffer.from([0xc0 | (offset >> 8), offset & 255]);
      const first = raw(at(start.length + 14), at(start.length + 14));
      return Buffer.concat([start, first, raw(at(start.length), at(start.length))]);
    }],
    ['of thousands of records that are pointers', (query) => {
      const records = Array.from({ length: 4_000 }, () => raw(POINTER, POINTER));
      return Buffer.concat([head(query, 4_000), ...records]).subarray(0, 60_000);
    }],
    ['that says to have more records than it has', (query) => head(query, 65_535)],
    ['that ends within a record', (query) => Buffer.concat([head(query, 1), POINTER, Buffer.from([0, 12, 0])])],
    ['of nothing but zeros', (query) => Buffer.concat([head(query, 1).subarray(0, 12), Buffer.alloc(500)])],
    ['of random bytes', (query) => Buffer.concat([head(query, 3), Buffer.from('f00d'.repeat(100), 'hex')])],
  ];
  for (const [what, hostile] of bytes) {
    it(`${what} tells nothing, and the next one is read`, async () => {
      const reading = await look(hostile);
      assert.ok(reading.kind === 'unreadable' || (reading.kind === 'read' && reading.services.length === 0));
      assert.deepEqual(await look(good), { kind: 'read', services: [READ] });
    });
  }

  it('with names of control characters announces nothing of them', async () => {
    const evil = '\u001b[2J';
    const us = { instance: 'us', target: `api${evil}`, port: 6443, texts: [`id=${evil}`, 'ca=sha256:\u0000'] };
    const reading = await look(zoneOf(DOMAIN, [EU, us, { ...EU, instance: `eu${evil}` }]));
    const read = { name: 'us', address: undefined, clusterId: undefined, authority: undefined };
    assert.deepEqual(reading, { kind: 'read', services: [READ, read] });
  });

  it('with a text as large as a datagram is read as far as it has the form', async () => {
    const large = Array.from({ length: 200 }, () => 'x'.repeat(250));
    const reading = await look(zoneOf(DOMAIN, [{ ...EU, texts: ['id=id-eu', ...large] }]));
    assert.deepEqual(reading, { kind: 'read', services: [READ] });
  });

  it('that leads back to itself is followed once', async () => {
    const reading = await look(zoneOf(DOMAIN, [{ ...EU, target: `eu.${BROWSED}` }]));
    assert.equal(reading.kind === 'read' && reading.services[0]?.address, undefined); // no host name has underscores
    assert.equal(new Set(server.asked).size, 3); // a query may be repeated on a slow machine
  });
});
