// Client for exec, attach and port-forward: a WebSocket to a pod's subresource whose messages begin with a channel
// number (Kubernetes `v4.channel.k8s.io`, `v5.channel.k8s.io`; version 5 can close a single channel, which ends a
// command's input).
import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { toApiError } from '../http/api-answer.ts';
import { openExchange } from './stream-exchange.ts';
import type { Transport } from '../http/transport.ts';
import { encodeFrame, FrameReader, OPCODES } from './websocket-frames.ts';

/**
 * Channels of exec and attach. `error` carries one `meta/v1` Status at the end; `resize` takes `{"Width", "Height"}`.
 */
export const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** The subresource of the pod, as its path in the API. */
export interface PodChannelsRequest {
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** In order of preference. */
  readonly protocols: readonly string[];
}

const CLOSE_CHANNEL = 255;
/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const HEADERS_TIMEOUT_MS = 60_000;

/**
 * Opens the stream by `open`; it closes when `signal` is aborted.
 * @throws ApiError when the API server rejects it, UnreachableError when there is no response.
 */
export async function openPodChannels(
  transport: Transport, { path, query, protocols }: PodChannelsRequest, signal: AbortSignal, open = openExchange,
): Promise<PodChannels> {
  const key = randomBytes(16).toString('base64');
  const headers = {
    connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key,
    'sec-websocket-protocol': protocols.join(', '),
  };
  const answer = await open(
    transport, { method: 'GET', path, query, headers, headersTimeoutMs: HEADERS_TIMEOUT_MS }, signal,
  );
  if (answer.kind === 'answer') {
    const { statusCode: status = 0, headers } = answer.response;
    throw toApiError({ status, retryAfter: headers['retry-after'], body: Buffer.from(await text(answer.response)) });
  }
  const accepted = createHash('sha1').update(key + ACCEPT_SUFFIX).digest('base64');
  if (answer.response.headers['sec-websocket-accept'] !== accepted) {
    answer.socket.destroy();
    throw new Error('the server does not agree to a WebSocket');
  }
  return new PodChannels(answer.socket, answer.head, answer.response.headers['sec-websocket-protocol'] ?? '');
}

/** An open stream. Add listeners at once: data arrives from the next iteration of the event loop. */
export class PodChannels {
  /** The negotiated protocol. */
  readonly protocol: string;
  /** Called with each message. */
  onMessage: (channel: number, data: Buffer) => void = () => undefined;
  /** Resolves when the stream has closed for any reason. */
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

  /** Sends on a channel; false means: wait for {@link drained} before the next. */
  send(channel: number, data: Uint8Array): boolean {
    return this.#write(OPCODES.binary, Buffer.concat([Buffer.from([channel]), data]));
  }

  /** Closes a channel; false when the protocol cannot. */
  closeChannel(channel: number): boolean {
    if (!this.protocol.startsWith('v5')) return false;
    this.send(CLOSE_CHANNEL, Buffer.from([channel]));
    return true;
  }

  /** Sends the terminal size. */
  resize(columns: number, rows: number): void {
    this.send(CHANNELS.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  /** Resolves when sent data was flushed, or never can be. */
  drained(): Promise<void> {
    const socket = this.#socket;
    if (!socket.writableNeedDrain) return Promise.resolve();
    // no race with `closed`, which would keep what waited for it as long as the stream lasts
    return new Promise((resolve) => {
      const done = (): void => {
        socket.off('drain', done).off('close', done);
        resolve();
      };
      socket.once('drain', done).once('close', done);
    });
  }

  /** Pauses reading until {@link resume}: backpressure. */
  pause(): void {
    this.#socket.pause();
  }

  /** Resumes reading. */
  resume(): void {
    this.#socket.resume();
  }

  /** Closes the stream. */
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
