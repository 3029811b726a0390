// The `isthmus` process of a cluster of a test's world, which a test may start with a point at which it ends itself, or
// with other arguments.
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { IsthmusWorld, WorldCluster } from '../worlds/isthmus-world.ts';

/** One process of a world, started again and again. */
export class HookedProcess {
  readonly #first: ComponentProcess;
  #now: ComponentProcess;

  constructor({ isthmus }: IsthmusWorld, { cluster }: WorldCluster) {
    const running = isthmus.processes.get(cluster.name);
    if (running === undefined) throw new Error(`${cluster.name} has no process`);
    this.#first = running;
    this.#now = running;
  }

  get current(): ComponentProcess {
    return this.#now;
  }

  /** Ends what runs now, in an orderly way, and starts it again; `module` is imported first. */
  async restart(module?: string): Promise<void> {
    await this.#now.stop();
    const [program, ...args] = this.#first.spec.command;
    this.#now = await startComponent(
      { ...this.#first.spec, command: [program, ...(module === undefined ? [] : ['--import', module]), ...args] },
    );
  }

  async stop(): Promise<void> {
    await this.#now.stop();
  }
}
