// Processes with simulated targets, as a benchmark starts and asks them.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LongRunningPods } from './simulated-target.ts';
import type { Order, Report } from './targets-process.ts';

const TARGETS_PROCESS = fileURLToPath(new URL('targets-process.js', import.meta.url));

/** A child process with simulated targets. */
export class TargetsProcess {
  /** Of the API server of each target. */
  readonly urls: readonly string[];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, urls: readonly string[]) {
    this.#child = child;
    this.urls = urls;
  }

  /** Starts the process; resolves once its targets listen. */
  static async start(targets: Omit<Extract<Order, { kind: 'start' }>, 'kind'>): Promise<TargetsProcess> {
    const child = fork(TARGETS_PROCESS, { stdio: 'inherit' });
    const started = await ask(child, { kind: 'start', ...targets });
    return new TargetsProcess(child, started.kind === 'started' ? started.urls : []);
  }

  /** Requests or connections of all its targets since the start. */
  async counts(what: 'requests' | 'connections'): Promise<number> {
    const counted = await ask(this.#child, { kind: 'count' });
    return counted.kind === 'counted' ? counted[what].reduce((sum, count) => sum + count, 0) : 0;
  }

  /** Gives its targets pods that they have had for long, in the order of {@link urls}. */
  async fill(pods: readonly LongRunningPods[]): Promise<void> {
    await ask(this.#child, { kind: 'fill', pods });
  }

  /** These targets, by their index, answer nothing any more: connections to them hang. */
  silence(targets: readonly number[]): void {
    this.#child.send({ kind: 'silence', targets, isSilent: true } satisfies Order);
  }

  /**
   * Nothing answers any more, nor are connections closed: packets to its targets are lost as in a black hole. Not even
   * a question of this process is answered until {@link thaw}.
   */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Its targets answer again. */
  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ends it. */
  stop(): void {
    this.thaw();
    this.#child.disconnect();
  }
}

async function ask(child: ChildProcess, order: Order): Promise<Report> {
  child.send(order);
  const [report] = (await once(child, 'message')) as [Report];
  return report;
}
