// The WireGuard program (pod-plane/wireguard/program): a child process, configured over its standard input. When this
// process ends in any way, the child's input ends, and the interface is removed.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { messageOf } from '../../process/errors.ts';
import {
  parseAnswer, toSetOperation, type WireguardConfiguration, type WireguardPeerState,
} from '../plan/wireguard-protocol.ts';

/** What to start. */
export interface WireguardProcessOptions {
  readonly program: string;
  readonly interfaceName: string;
  readonly mtu: number;
  /** Called once with its output when the program exits unexpectedly. */
  readonly ended: (output: string) => void;
}

const ANSWER_END = /(?:^|\n)errno=-?\d+\n\n$/;
const ANSWER_MS = 5_000;

/** A running WireGuard interface. */
export class WireguardProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  #applied: WireguardConfiguration | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #answer = '';
  #onAnswer: ((text: string) => void) | undefined;
  #output = '';
  #closed = false;

  private constructor({ program, interfaceName, mtu, ended }: WireguardProcessOptions) {
    this.#child = spawn(program, [interfaceName, String(mtu)], { stdio: ['pipe', 'pipe', 'pipe'], env: {} });
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#onOutput(text));
    this.#child.stderr.setEncoding('utf8')
      .on('data', (text: string) => (this.#output = (this.#output + text).slice(-2_000)));
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', (error) => (this.#output += messageOf(error))).once('close', () => {
        if (!this.#closed) ended(this.#output.trim());
        this.#closed = true;
        this.#onAnswer?.('');
        resolve();
      });
      this.#child.once('error', () => resolve());
    });
  }

  /** Starts it and waits until the interface exists. Throws an Error with its output. */
  static async start(options: WireguardProcessOptions): Promise<WireguardProcess> {
    const process = new WireguardProcess(options);
    await process.peers();
    return process;
  }

  /**
   * Reconfigures the interface; unchanged peers are not disturbed. Throws when the program rejects it or has exited.
   */
  async configure(configuration: WireguardConfiguration): Promise<void> {
    await this.#oneAtATime(async () => {
      const operation = toSetOperation(this.#applied, configuration);
      if (operation === undefined) return;
      const { errno } = parseAnswer(await this.#ask(operation));
      if (errno !== 0) throw new Error(`WireGuard refused its configuration (${errno})`);
      this.#applied = configuration;
    });
  }

  /** The state of all peers. */
  async peers(): Promise<readonly WireguardPeerState[]> {
    return this.#oneAtATime(async () => parseAnswer(await this.#ask('get=1\n\n')).peers);
  }

  /** Stops it; the interface is removed when this resolves. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), ANSWER_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  /** One operation at a time: the program loses what is sent before it has answered. */
  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  #ask(operation: string): Promise<string> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) throw new Error(`WireGuard is not running: ${this.#output.trim()}`);
    return new Promise((resolve, reject) => {
      const finish = (outcome: () => void) => {
        clearTimeout(timer);
        this.#onAnswer = undefined;
        outcome();
      };
      const timer = setTimeout(() => {
        this.#child.kill('SIGKILL'); // a late answer would be taken for that of the next operation
        finish(() => reject(new Error('WireGuard does not answer')));
      }, ANSWER_MS);
      this.#onAnswer = (text) =>
        finish(() => (text === '' ? reject(new Error(`WireGuard has ended: ${this.#output.trim()}`)) : resolve(text)));
      this.#answer = '';
      this.#child.stdin.write(operation);
    });
  }

  #onOutput(text: string): void {
    this.#answer += text;
    if (ANSWER_END.test(this.#answer)) this.#onAnswer?.(this.#answer);
  }
}
