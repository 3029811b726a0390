// What `tcpdump -w` has written, as far as a test asks: which connections there were, how each began, and everything in
// it.

/** One TCP payload of a capture. */
export interface Segment {
  /** `address:port-address:port`, in this direction. */
  readonly flow: string;
  readonly ports: readonly [from: number, to: number];
  readonly payload: Buffer;
}

/** Everything of a capture of Ethernet frames. */
export interface Capture {
  readonly segments: readonly Segment[];
  /** Protocol numbers of IPv4 packets that are no TCP. */
  readonly otherProtocols: readonly number[];
}

const FILE_HEADER = 24;
const PACKET_HEADER = 16;
const ETHERNET = 14;
const IPV4 = 0x0800;
const TCP = 6;

/** Reads a capture (pcap, little endian, link type Ethernet). Throws RangeError for another format. */
export function readCapture(file: Buffer): Capture {
  if (file.readUInt32LE(0) !== 0xa1b2c3d4 || file.readUInt32LE(20) !== 1) {
    throw new RangeError('this is no capture of Ethernet frames');
  }
  const segments: Segment[] = [];
  const otherProtocols: number[] = [];
  for (let at = FILE_HEADER; at + PACKET_HEADER <= file.length; ) {
    const length = file.readUInt32LE(at + 8);
    const frame = file.subarray(at + PACKET_HEADER, at + PACKET_HEADER + length);
    at += PACKET_HEADER + length;
    if (frame.length < ETHERNET + 20 || frame.readUInt16BE(12) !== IPV4) continue;
    const packet = frame.subarray(ETHERNET, ETHERNET + frame.readUInt16BE(ETHERNET + 2));
    if (packet.readUInt8(9) === TCP) segments.push(toSegment(packet));
    else otherProtocols.push(packet.readUInt8(9));
  }
  return { segments, otherProtocols };
}

function toSegment(packet: Buffer): Segment {
  const tcp = packet.subarray((packet.readUInt8(0) & 15) * 4);
  const address = (offset: number) => [...packet.subarray(offset, offset + 4)].join('.');
  const ports = [tcp.readUInt16BE(0), tcp.readUInt16BE(2)] as const;
  return {
    flow: `${address(12)}:${ports[0]}-${address(16)}:${ports[1]}`, ports,
    payload: tcp.subarray((tcp.readUInt8(12) >> 4) * 4),
  };
}

/** The first payload of each flow. */
export function beginnings({ segments }: Capture): ReadonlyMap<string, Buffer> {
  const firsts = new Map<string, Buffer>();
  for (const { flow, payload } of segments) if (payload.length > 0 && !firsts.has(flow)) firsts.set(flow, payload);
  return firsts;
}
