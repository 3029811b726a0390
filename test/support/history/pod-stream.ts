// exec and attach as tests use them: everything that was said is kept, and can be waited for.
import {
  CHANNELS, openPodChannels, type PodChannels, type PodChannelsRequest,
} from '../../../kubernetes/stream/pod-channels.ts';
import type { Transport } from '../../../kubernetes/http/transport.ts';

/** How long a test waits for what a stream should say, in ms. */
const TIMEOUT_MS = 60_000;

/** A stream that is open, or has ended. */
export class PodStream {
  readonly #channels: PodChannels;
  readonly #said = ['', '', '', ''];
  #changed: () => void = () => undefined;

  constructor(channels: PodChannels) {
    this.#channels = channels;
    channels.onMessage = (channel, data) => {
      this.#said[channel] = (this.#said[channel] ?? '') + data.toString();
      this.#changed();
    };
  }

  /** What standard output has said so far. */
  get stdout(): string {
    return this.#said[CHANNELS.stdout] ?? '';
  }

  write(input: string | Buffer): void {
    this.#channels.send(CHANNELS.stdin, Buffer.from(input));
  }

  resize(columns: number, rows: number): void {
    this.#channels.resize(columns, rows);
  }

  close(): void {
    this.#channels.close();
  }

  /** Waits for standard output to be as asked. */
  async until(what: string, holds: (stdout: string) => boolean): Promise<void> {
    await patient(`${what}; it said ${this.#said.join('|')}`, (async () => {
      while (!holds(this.#said[CHANNELS.stdout] ?? '')) {
        await Promise.race([
          new Promise<void>((resolve) => (this.#changed = resolve)),
          this.#channels.closed.then(() => Promise.reject(new Error(`it ended before ${what}`))),
        ]);
      }
    })());
  }

  /** All that was said, once the stream has ended. */
  async ended(): Promise<{ readonly stdout: string; readonly stderr: string; readonly status: string }> {
    await patient('the end of the stream', this.#channels.closed);
    const [, stdout = '', stderr = '', status = ''] = this.#said;
    return { stdout, stderr, status };
  }
}

/** Opens a stream to a pod's `exec` or `attach`. */
export async function openPodStream(
  transport: Transport, asked: Omit<PodChannelsRequest, 'protocols'>, signal: AbortSignal,
): Promise<PodStream> {
  return new PodStream(await openPodChannels(transport, { ...asked, protocols: ['v5.channel.k8s.io'] }, signal));
}

async function patient<T>(what: string, awaited: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), TIMEOUT_MS);
  });
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer));
}
