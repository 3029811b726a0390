// The process of hostile clients: takes one order from its parent, goes on until the parent says so or goes away, and
// answers with what came of it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runHostileClients, type HostileCounts, type HostileOrder } from './hostile-clients.ts';

/** A running process of hostile clients. */
export interface HostileProcess {
  /** Ends it; gives what came of it. */
  stop(): Promise<HostileCounts>;
}

/**
 * Starts one. In a cluster it would have a node of its own; here it has the processor when nobody else wants it,
 * `niceness` above 0.
 */
export function startHostileProcess(order: HostileOrder, niceness = 0): HostileProcess {
  const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  if (child.pid !== undefined && niceness > 0) setPriority(child.pid, niceness);
  child.send(order);
  return {
    stop: async () => {
      const counts = once(child, 'message');
      child.send('stop');
      const [value] = (await counts) as [HostileCounts];
      child.disconnect();
      return value;
    },
  };
}

async function serve(): Promise<void> {
  const [order] = (await once(process, 'message')) as [HostileOrder];
  const stopping = new AbortController();
  process.once('message', () => stopping.abort());
  process.once('disconnect', () => process.exit());
  process.send?.(await runHostileClients(order, stopping.signal));
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
