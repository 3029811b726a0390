// Streams to pod `demo/web` by the API of the source, alone and in crowds.
import type { IncomingMessage } from 'node:http';
import { openPodChannels, type PodChannels } from '../../../kubernetes/stream/pod-channels.ts';
import { openExchange } from '../../../kubernetes/stream/stream-exchange.ts';
import type { StreamsWorld } from '../worlds/streams-world.ts';

const EXEC = { path: '/api/v1/namespaces/demo/pods/web/exec', protocols: ['v5.channel.k8s.io'] } as const;

/** Streams that count what comes, and say when they were cut before their signal. */
export class ManyStreams {
  /** Which were refused or ended, and how; empty when all go on. */
  readonly cut: string[] = [];
  readonly #streams: StreamsWorld;
  readonly #signal: AbortSignal;
  #logs: number[] = [];
  #execs: number[] = [];

  constructor(streams: StreamsWorld, signal: AbortSignal) {
    this.#streams = streams;
    this.#signal = signal;
  }

  /** Resolves when so many are open. */
  async open(logs: number, execs: number): Promise<void> {
    [this.#logs, this.#execs] = [Array.from({ length: logs }, () => 0), Array.from({ length: execs }, () => 0)];
    await Promise.all(
      [...this.#logs.map((_, index) => this.#follow(index)), ...this.#execs.map((_, index) => this.#run(index))],
    );
  }

  /** Pieces that have come by now, of each log and of each exec. */
  counts(): readonly (readonly number[])[] {
    return [[...this.#logs], [...this.#execs]];
  }

  async #follow(index: number): Promise<void> {
    const response = await followLog(this.#streams, this.#signal);
    if (response.statusCode !== 200) this.cut.push(`log ${index} was refused with ${response.statusCode}`);
    response.on('data', () => (this.#logs[index] = (this.#logs[index] ?? 0) + 1));
    response.on('close', () => this.#ended(`log ${index}`));
  }

  async #run(index: number): Promise<void> {
    const channels = await openExec(this.#streams, 'while sleep 1; do echo tick; done', this.#signal);
    channels.onMessage = () => (this.#execs[index] = (this.#execs[index] ?? 0) + 1);
    void channels.closed.then(() => this.#ended(`exec ${index}`));
  }

  #ended(what: string): void {
    if (!this.#signal.aborted) this.cut.push(`${what} was cut`);
  }
}

/** Runs a shell in the pod, without input. Throws what {@link openPodChannels} throws. */
export function openExec({ world }: StreamsWorld, script: string, signal: AbortSignal): Promise<PodChannels> {
  const command = ['sh', '-c', script].map((word) => ['command', word] as const);
  return openPodChannels(
    world.source.client.transport, { ...EXEC, query: [['container', 'main'], ['stdout', 'true'], ...command] }, signal,
  );
}

/**
 * Follows the log from now on. Throws what {@link openExchange} throws; that it breaks off later is no error, but the
 * end.
 */
export async function followLog({ world }: StreamsWorld, signal: AbortSignal): Promise<IncomingMessage> {
  const query = [['container', 'main'], ['follow', 'true'], ['tailLines', '0']] as const;
  const { response } = await openExchange(
    world.source.client.transport, { method: 'GET', path: '/api/v1/namespaces/demo/pods/web/log', query }, signal,
  );
  response.on('error', () => undefined);
  return response;
}
