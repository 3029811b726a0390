// WebSocket frames (RFC 6455 §5) for a client on an existing connection: pod streams use our own dialers and
// credentials, which no library accepts. Text and binary messages are treated alike.

/** Frame opcodes (RFC 6455 §11.8). */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A whole message, or a control frame. */
export interface WebSocketMessage {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Largest message in bytes, beyond which the connection is closed; API servers send 32 KiB at most. */
const MAX_MESSAGE_BYTES = 16 << 20;
const FINAL = 0x80;
const MASKED = 0x80;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

/** A frame with one whole message, masked as a client's must be (RFC 6455 §5.3); `mask` are four random bytes. */
export function encodeFrame(opcode: number, payload: Uint8Array, mask: Uint8Array): Buffer {
  const size = payload.length;
  const header = size < TWO_BYTES ? Buffer.alloc(2) : Buffer.alloc(size <= 0xffff ? 4 : 10);
  header[0] = FINAL | opcode;
  if (header.length === 2) header[1] = MASKED | size;
  else if (header.length === 4) {
    header[1] = MASKED | TWO_BYTES;
    header.writeUInt16BE(size, 2);
  } else {
    header[1] = MASKED | EIGHT_BYTES;
    header.writeBigUInt64BE(BigInt(size), 2);
  }
  const body = Buffer.from(payload);
  for (let at = 0; at < size; at += 1) body[at] = (body[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return Buffer.concat([header, mask, body]);
}

/** Reassembles messages from chunks of any size. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #begun: { readonly opcode: number; readonly parts: Buffer[]; size: number } | undefined;

  /** The messages completed so far. Throws Error on a protocol violation by the server. */
  push(chunk: Buffer): WebSocketMessage[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: WebSocketMessage[] = [];
    for (;;) {
      const frame = this.#next();
      if (frame === undefined) return messages;
      const message = this.#join(frame);
      if (message !== undefined) messages.push(message);
    }
  }

  #next(): (WebSocketMessage & { readonly final: boolean }) | undefined {
    const [first, second] = this.#rest;
    if (first === undefined || second === undefined) return undefined;
    if ((second & MASKED) !== 0) throw new Error('the server masks its frames');
    const short = second & 0x7f;
    const begin = short === TWO_BYTES ? 4 : short === EIGHT_BYTES ? 10 : 2;
    if (this.#rest.length < begin) return undefined;
    const size = begin === 2 ? short : begin === 4 ? this.#rest.readUInt16BE(2) : Number(this.#rest.readBigUInt64BE(2));
    if (size > MAX_MESSAGE_BYTES) throw new Error('the server sends a message that is too long');
    if (this.#rest.length < begin + size) return undefined;
    const payload = this.#rest.subarray(begin, begin + size);
    this.#rest = this.#rest.subarray(begin + size);
    return { final: (first & FINAL) !== 0, opcode: first & 0x0f, payload };
  }

  #join({ final, opcode, payload }: WebSocketMessage & { readonly final: boolean }): WebSocketMessage | undefined {
    if (opcode >= OPCODES.close) return { opcode, payload };
    const begun = this.#begun ?? { opcode, parts: [], size: 0 };
    begun.parts.push(payload);
    begun.size += payload.length;
    if (begun.size > MAX_MESSAGE_BYTES) throw new Error('the server sends a message that is too long');
    this.#begun = final ? undefined : begun;
    return final ? { opcode: begun.opcode, payload: Buffer.concat(begun.parts) } : undefined;
  }
}
