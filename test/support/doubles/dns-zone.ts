// A DNS server on loopback that answers by UDP as a test wants it to.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import packet, { type Answer, type DecodedPacket } from 'dns-packet';

/** The bytes that answer a query; none when undefined. */
export type Reply = (query: DecodedPacket) => Buffer | undefined;

/** A running server. */
export interface DnsZone {
  /** `ADDRESS:PORT`. */
  readonly address: string;
  /** What was asked, `TYPE NAME`. */
  readonly asked: string[];
  /** What it answers from now on. */
  answerBy(reply: Reply): void;
  stop(): void;
}

/** Starts it; it answers nothing at first. */
export async function startDnsZone(): Promise<DnsZone> {
  const server = createSocket('udp4');
  const asked: string[] = [];
  let reply: Reply = () => undefined;
  server.on('message', (message, { port, address }) => {
    const query = packet.decode(message);
    const [question] = query.questions ?? [];
    asked.push(`${question?.type} ${question?.name}`);
    const answer = reply(query);
    if (answer !== undefined) server.send(answer, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${server.address().port}`, asked,
    answerBy: (given) => {
      reply = given;
    },
    stop: () => void server.close(),
  };
}

/** A response with these answers. */
export function dnsAnswer(query: DecodedPacket, answers: readonly Answer[], rcode = 0): Buffer {
  return packet.encode({
    type: 'response', id: query.id ?? 0, flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE | rcode,
    questions: query.questions ?? [], answers: [...answers],
  });
}

/** A service of a domain. */
export interface ServiceRecords {
  readonly instance: string;
  readonly target: string;
  readonly port: number;
  readonly texts: readonly string[];
}

/** Answers for services of `_isthmus._tcp` in a domain. */
export function zoneOf(domain: string, services: readonly ServiceRecords[]): Reply {
  const browsed = `_isthmus._tcp.${domain}`;
  const records: readonly Answer[] = services.flatMap(({ instance, target, port, texts }) => {
    const name = `${instance}.${browsed}`;
    return [
      { type: 'PTR', name: browsed, data: name } as const,
      { type: 'SRV', name, data: { target, port, priority: 0, weight: 0 } } as const,
      { type: 'TXT', name, data: [...texts] } as const,
    ];
  });
  return (query) => {
    const [question] = query.questions ?? [];
    return dnsAnswer(query, records.filter(({ type, name }) =>
      type === question?.type && name.toLowerCase() === question.name.toLowerCase()));
  };
}
