// DNS messages as bytes (RFC 1035, 2308, 6891). A response too large for the client is truncated with TC set, so that
// it retries over TCP. Responses are never answered, so that two servers cannot loop.
import packet, { type Answer, type DecodedPacket, type Packet, type Question } from 'dns-packet';
import { CLUSTERSET_ZONE, parseName } from './dns-names.ts';
import { TTL_SECONDS, type DnsAnswer, type DnsRecord } from './dns-answer.ts';

/** Answers one question. */
export type Resolve = (question: { readonly name: string; readonly type: string }) => DnsAnswer;

/** Largest message over UDP without EDNS, in bytes (RFC 1035, 4.2.1). */
const PLAIN_BYTES = 512;
/** Largest response over UDP: avoids IP fragmentation (DNS Flag Day 2020). */
const SAFE_BYTES = 1_232;
/** Header size (RFC 1035, 4.1.1). */
const HEADER_BYTES = 12;
/** Largest message over TCP, in bytes. */
export const MAX_MESSAGE_BYTES = 65_535;

const CODES: Readonly<Record<DnsAnswer['code'] | 'FORMERR' | 'NOTIMP', number>> =
  { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };
const RESPONSE_BIT = 0x8000;
const OPCODE_BITS = 0x7800;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The response to a message; undefined when there must be none. */
export function answerMessage(message: Buffer, over: 'udp' | 'tcp', resolve: Resolve): Buffer | undefined {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & RESPONSE_BIT) !== 0) return undefined;
  if ((message.readUInt16BE(2) & OPCODE_BITS) !== 0) return headerOnly(message, CODES.NOTIMP);
  const asked = decode(message);
  if (asked === undefined) return headerOnly(message, CODES.FORMERR);
  const { name, type } = asked.question;
  const size = over === 'tcp' ? MAX_MESSAGE_BYTES : bufferOf(asked.query);
  try {
    return encode(asked.query, toSections(resolve({ name, type }), name), size);
  } catch {
    return headerOnly(message, CODES.SERVFAIL); // a record that no message can hold must not end the process
  }
}

function toSections({ code, records, additional }: DnsAnswer, name: string): Sections {
  const isNegative = code === 'NXDOMAIN' || (code === 'NOERROR' && records.length === 0);
  const isOurs = parseName(name).kind !== 'outside';
  return {
    code: CODES[code], answers: records.map(toRecord), additionals: additional.map(toRecord),
    authorities: isNegative && isOurs ? [AUTHORITY] : [],
  };
}

/**
 * Accepts one question with printable characters; others cannot be echoed unchanged. Nor can a label that contains a
 * dot, which would read as two.
 */
function decode(message: Buffer): { readonly query: DecodedPacket; readonly question: Question } | undefined {
  try {
    const query = packet.decode(message);
    const [question, ...more] = query.questions ?? [];
    if (question === undefined || more.length > 0 || !PRINTABLE.test(question.name)) return undefined;
    const repeated = packet.encode({ questions: [question] }).subarray(HEADER_BYTES);
    return repeated.equals(message.subarray(HEADER_BYTES, HEADER_BYTES + repeated.length))
      ? { query, question }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The client's UDP payload size. */
function bufferOf({ additionals = [] }: DecodedPacket): number {
  const option = additionals.find(({ type }) => type === 'OPT') as { readonly udpPayloadSize?: number } | undefined;
  return option === undefined ? PLAIN_BYTES : Math.min(Math.max(option.udpPayloadSize ?? 0, PLAIN_BYTES), SAFE_BYTES);
}

interface Sections {
  readonly code: number;
  readonly answers: readonly Answer[];
  readonly additionals: readonly Answer[];
  readonly authorities: readonly Answer[];
}

/** TTL of negative answers (RFC 2308): as short as that of an answer, because a Service may be exported at any time. */
const AUTHORITY: Answer = {
  type: 'SOA', name: CLUSTERSET_ZONE, ttl: TTL_SECONDS,
  data: {
    mname: `ns.${CLUSTERSET_ZONE}`, rname: `hostmaster.${CLUSTERSET_ZONE}`, serial: 1, refresh: 60, retry: 60,
    expire: 60, minimum: TTL_SECONDS,
  },
};

function encode(query: DecodedPacket, sections: Sections, size: number): Buffer {
  const whole = write(query, sections, false);
  if (whole.length <= size) return whole;
  const spare = write(query, { ...sections, additionals: [] }, false);
  if (spare.length <= size) return spare;
  let count = sections.answers.length;
  for (;;) {
    count = Math.floor(count / 2);
    const cut = write(query, { ...sections, answers: sections.answers.slice(0, count), additionals: [] }, true);
    if (cut.length <= size || count === 0) return cut;
  }
}

function write(
  { id, flags = 0, questions = [], additionals: asked = [] }: DecodedPacket,
  { code, answers, additionals, authorities }: Sections, isCut: boolean,
): Buffer {
  const option = asked.find(({ type }) => type === 'OPT');
  const message: Packet = {
    type: 'response', id: id ?? 0,
    flags: packet.AUTHORITATIVE_ANSWER | (flags & packet.RECURSION_DESIRED) | (isCut ? packet.TRUNCATED_RESPONSE : 0)
      | code,
    questions, answers: [...answers], authorities: [...authorities],
    additionals: [...additionals, ...(
      option === undefined ? [] : [
        {
          type: 'OPT', name: '.', udpPayloadSize: SAFE_BYTES, flags: 0, options: [], extendedRcode: 0, ednsVersion: 0,
          flag_do: false,
        } as unknown as Answer,
      ]
    )],
  };
  return packet.encode(message);
}

/** An error response: a header without a question. */
function headerOnly(message: Buffer, code: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(RESPONSE_BIT | (message.readUInt16BE(2) & 0x7900) | code, 2);
  return header;
}

function toRecord(record: DnsRecord): Answer {
  const common = { name: record.name, ttl: TTL_SECONDS } as const;
  if (record.type === 'TXT') return { ...common, type: 'TXT', data: record.text };
  if (record.type !== 'SRV') return { ...common, type: record.type, data: record.address };
  return { ...common, type: 'SRV', data: { priority: 0, weight: 10, port: record.port, target: record.target } };
}
