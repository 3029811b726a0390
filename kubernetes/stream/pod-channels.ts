// exec, attach and port-forward as a client: a WebSocket to a pod's subresource whose messages begin with the number of a channel (Kubernetes
// `v4.channel.k8s.io`, `v5.channel.k8s.io`; with 5 a channel can be closed alone, which ends a command's input).
import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { toApiError } from '../http/api-answer.ts';
import { openExchange } from './stream-exchange.ts';
import type { Transport } from '../http/transport.ts';
import { encodeFrame, FrameReader, OPCODES } from './websocket-frames.ts';

/** Channels of exec and attach. `error` carries one `meta/v1` Status at the end; `resize` takes `{"Width", "Height"}`. */
export const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** Which subresource of which pod, as its path in the API. */
export interface PodChannelsRequest {
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Best first. */
  readonly protocols: readonly string[];
}

const CLOSE_CHANNEL = 255;
/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const HEAD_MS = 60_000;

/**
 * Opens the stream; it ends when `signal` is aborted.
 * @throws ApiError when the API server says no, UnreachableError without an answer.
 */
export async function openPodChannels(transport: Transport, { path, query, protocols }: PodChannelsRequest, signal: AbortSignal): Promise<PodChannels> {
  const key = randomBytes(16).toString('base64');
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key, 'sec-websocket-protocol': protocols.join(', ') };
  const answer = await openExchange(transport, { method: 'GET', path, query, headers, headTimeoutMs: HEAD_MS }, signal);
  if (answer.kind === 'answer') {
    const { statusCode: status = 0, headers: said } = answer.response;
    throw toApiError({ status, retryAfter: said['retry-after'], body: Buffer.from(await text(answer.response)) });
  }
  const accepted = createHash('sha1').update(key + ACCEPT_SUFFIX).digest('base64');
  if (answer.response.headers['sec-websocket-accept'] !== accepted) {
    answer.socket.destroy();
    throw new Error('the server does not agree to a WebSocket');
  }
  return new PodChannels(answer.socket, answer.head, answer.response.headers['sec-websocket-protocol'] ?? '');
}

/** An open stream. Give it its listeners at once: bytes arrive from the next turn of the loop on. */
export class PodChannels {
  /** The protocol that was agreed on. */
  readonly protocol: string;
  /** Hears each message. */
  onMessage: (channel: number, data: Buffer) => void = () => undefined;
  /** Resolves when the stream has ended, however it did. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();

  constructor(socket: Socket, head: Buffer, protocol: string) {
    this.protocol = protocol;
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => socket.end());
    if (head.length > 0) socket.unshift(head);
  }

  /** Sends on a channel; false says that it is better to wait for {@link drained} before the next. */
  send(channel: number, data: Uint8Array): boolean {
    return this.#write(OPCODES.binary, Buffer.concat([Buffer.from([channel]), data]));
  }

  /** Says that nothing more comes on a channel; false where the protocol cannot. */
  closeChannel(channel: number): boolean {
    if (!this.protocol.startsWith('v5')) return false;
    this.send(CLOSE_CHANNEL, Buffer.from([channel]));
    return true;
  }

  /** Tells the size of the terminal. */
  resize(columns: number, rows: number): void {
    this.send(CHANNELS.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  /** Resolves when what was sent is on its way, or can never be. */
  drained(): Promise<void> {
    if (!this.#socket.writableNeedDrain) return Promise.resolve();
    return Promise.race([this.closed, new Promise<void>((resolve) => this.#socket.once('drain', () => resolve()))]);
  }

  /** Reads no more until {@link resume}: what was read is not taken as fast as it comes. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads on. */
  resume(): void {
    this.#socket.resume();
  }

  /** Ends the stream. */
  close(): void {
    this.#write(OPCODES.close, Buffer.alloc(0));
    this.#socket.end();
  }

  #read(chunk: Buffer): void {
    try {
      for (const { opcode, payload } of this.#reader.push(chunk)) this.#take(opcode, payload);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : undefined);
    }
  }

  #take(opcode: number, payload: Buffer): void {
    if (opcode === OPCODES.ping) this.#write(OPCODES.pong, payload);
    else if (opcode === OPCODES.close) this.close();
    else if (opcode <= OPCODES.binary && payload.length > 0) this.onMessage(payload.readUInt8(0), payload.subarray(1));
  }

  #write(opcode: number, payload: Uint8Array): boolean {
    return this.#socket.writable && this.#socket.write(encodeFrame(opcode, payload, randomBytes(4)));
  }
}
