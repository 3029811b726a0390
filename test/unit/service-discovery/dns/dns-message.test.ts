import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import packet, { type DecodedPacket, type Packet, type RecordType } from 'dns-packet';
import * as fc from 'fast-check';
import type { DnsAnswer, DnsRecord } from '../../../../service-discovery/dns/dns-answer.ts';
import { answerMessage } from '../../../../service-discovery/dns/dns-message.ts';

const WEB = 'web.shop.svc.clusterset.local';
const ask = (name: string, type: RecordType = 'A', more: Partial<Packet> = {}): Buffer =>
  packet.encode({ type: 'query', id: 7, flags: packet.RECURSION_DESIRED, questions: [{ type, name }], ...more });
const withOption = (udpPayloadSize: number): Partial<Packet> => ({
  additionals: [
    {
      type: 'OPT', name: '.', udpPayloadSize, flags: 0, options: [], extendedRcode: 0, ednsVersion: 0, flag_do: false,
    } as never,
  ],
});
const addresses = (count: number): readonly DnsRecord[] =>
  Array.from({ length: count }, (_, index) => ({ type: 'A', name: WEB, address: `10.0.${index >> 8}.${index & 255}` }));
const always = (answer: Partial<DnsAnswer>) =>
  (): DnsAnswer => ({ code: 'NOERROR', records: [], additional: [], ...answer });
const answered = (message: Buffer, answer: Partial<DnsAnswer>, over: 'udp' | 'tcp' = 'udp') => {
  const bytes = answerMessage(message, over, always(answer));
  assert.ok(bytes !== undefined);
  return { bytes, ...(packet.decode(bytes) as DecodedPacket & { readonly rcode: string }) };
};

describe('an answer', () => {
  it('has the ID and the question of what was asked, and says that nobody knows better', () => {
    const { id, questions, flag_aa: isAuthority, flag_rd: isDesired, flag_qr: isAnswer } =
      answered(ask('Web.Shop.svc.clusterset.local'), { records: addresses(1) });
    assert.deepEqual([id, questions?.map(({ name }) => name), isAuthority, isDesired, isAnswer], [
      7, ['Web.Shop.svc.clusterset.local'], true, true, true,
    ]);
  });
  it('holds for five seconds', () => assert.deepEqual(
    answered(ask(WEB), { records: addresses(1) }).answers,
    [{ name: WEB, type: 'A', ttl: 5, class: 'IN', flush: false, data: '10.0.0.0' }],
  ));
  it('has addresses of IPv6 in records of their own', () => assert.deepEqual(
    answered(ask(WEB, 'AAAA'), { records: [{ type: 'AAAA', name: WEB, address: 'fd00:96::9' }] }).answers
      ?.map((answer) => [answer.type, 'data' in answer && answer.data]),
    [['AAAA', 'fd00:96::9']],
  ));
  it('has targets of SRV with their addresses beside them', () => {
    const { answers, additionals } = answered(ask(`_http._tcp.${WEB}`, 'SRV'), {
      records: [{ type: 'SRV', name: `_http._tcp.${WEB}`, target: WEB, port: 80 }], additional: addresses(1),
    });
    assert.deepEqual([answers?.[0]?.type === 'SRV' && answers[0].data, additionals?.length], [
      { priority: 0, weight: 10, port: 80, target: WEB }, 1,
    ]);
  });
  it('of nothing says how long nothing may be believed', () => {
    for (const code of ['NXDOMAIN', 'NOERROR'] as const) {
      const { authorities, rcode } = answered(ask(WEB), { code });
      assert.deepEqual(
        [rcode, authorities?.map(({ type }) => type), authorities?.[0]?.type === 'SOA' && authorities[0].data.minimum],
        [code, ['SOA'], 5],
      );
    }
  });
  it('about another zone is a refusal that claims nothing of it', () => {
    const { rcode, authorities } = answered(ask('example.com'), { code: 'REFUSED' });
    assert.deepEqual([rcode, authorities], ['REFUSED', []]);
  });
});

describe('what does not fit', () => {
  const rows: [string, Buffer, 'udp' | 'tcp', number, boolean][] = [
    ['over UDP is cut to 512 bytes', ask(WEB), 'udp', 512, true],
    ['over UDP is cut to what the asker takes', ask(WEB, 'A', withOption(900)), 'udp', 900, true],
    [
      'over UDP is cut to what passes everywhere, whatever the asker takes', ask(WEB, 'A', withOption(65_000)), 'udp',
      1_232, true,
    ],
    ['over UDP is never cut below 512 bytes', ask(WEB, 'A', withOption(10)), 'udp', 512, true],
    ['over TCP is told whole', ask(WEB), 'tcp', 65_535, false],
  ];
  for (const [what, message, over, size, isCut] of rows) {
    it(what, () => {
      const { bytes, flag_tc: cut, answers = [] } = answered(message, { records: addresses(256) }, over);
      assert.ok(bytes.length <= size && answers.length > 0, `${bytes.length} bytes, ${answers.length} answers`);
      assert.deepEqual([cut, answers.length === 256], [isCut, !isCut]);
    });
  }
  it('goes without addresses of targets before anything is cut', () => {
    const { flag_tc: cut, answers, additionals } =
      answered(ask(WEB), { records: addresses(2), additional: addresses(100) });
    assert.deepEqual([cut, answers?.length, additionals?.length], [false, 2, 0]);
  });
});

describe('a question of a type that nobody has named', () => {
  for (const type of [64, 65, 99, 257, 65_280]) {
    it(`${type} is told back as it came`, () => {
      const message = ask(WEB);
      message.writeUInt16BE(type, message.length - 4);
      const bytes = answerMessage(message, 'udp', always({}));
      assert.deepEqual(
        [bytes?.subarray(12, message.length), (bytes?.readUInt16BE(2) ?? 15) & 15], [message.subarray(12), 0],
      );
    });
  }
});

describe('what is no question', () => {
  const codeOf = (message: Buffer) => {
    const bytes = answerMessage(message, 'udp', always({ records: addresses(1) }));
    return bytes && [bytes.readUInt16BE(0), bytes.readUInt16BE(2) & 15];
  };
  const update = ask(WEB);
  update.writeUInt16BE(5 << 11, 2);
  const rows: [string, Buffer, readonly number[] | undefined][] = [
    [
      'because it is an answer gets none: servers would talk for ever',
      packet.encode({ type: 'response', id: 7, questions: [{ type: 'A', name: WEB }] }), undefined,
    ],
    ['because it is too short gets none', Buffer.from([0, 7, 0, 0]), undefined],
    ['because it is an update is not understood', update, [7, 4]],
    ['because nothing is asked is malformed', packet.encode({ type: 'query', id: 7 }), [7, 1]],
    [
      'because two things are asked is malformed',
      packet.encode({ type: 'query', id: 7, questions: [{ type: 'A', name: WEB }, { type: 'A', name: 'x.y' }] }),
      [7, 1],
    ],
    ['because it is cut off is malformed', ask(WEB).subarray(0, 20), [7, 1]],
    [
      'because its name points at itself is malformed',
      Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]), [7, 1],
    ],
    [
      'because a label has a dot in it is malformed: it could not be told back',
      Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0x2e, 0x75, 3, 0x77, 0x65, 0x62, 0, 0, 1, 0, 1]), [7, 1],
    ],
    [
      'because its name has bytes that are no text is malformed',
      Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xfe, 0, 0, 1, 0, 1]), [7, 1],
    ],
  ];
  for (const [what, message, expected] of rows) it(what, () => assert.deepEqual(codeOf(message), expected));

  it('does not end the process where a record has what no message can hold', () => {
    const records: readonly DnsRecord[] = [{ type: 'SRV', name: WEB, target: WEB, port: 70_000 }];
    const bytes = answerMessage(ask(WEB, 'SRV'), 'udp', always({ records }));
    assert.deepEqual(bytes && [bytes.readUInt16BE(0), bytes.readUInt16BE(2) & 15], [7, 2]);
  });

  it('never breaks the server, and is never answered with more than a datagram', () => {
    const question =
      fc.record({ name: fc.string({ minLength: 1, maxLength: 80 }), at: fc.nat(100), byte: fc.nat(255) });
    fc.assert(fc.property(
      fc.uint8Array({ maxLength: 600 }),
      (bytes) => (answerMessage(Buffer.from(bytes), 'udp', always({ records: addresses(300) }))?.length ?? 0) <= 1_232,
    ));
    fc.assert(fc.property(question, ({ name, at, byte }) => {
      const message = ask(name.replaceAll(/[^a-z.]/g, 'a').slice(0, 60), 'A', withOption(4_096));
      message[at % message.length] = byte;
      return (answerMessage(message, 'udp', always({ records: addresses(300) }))?.length ?? 0) <= 1_232;
    }));
  });
});
