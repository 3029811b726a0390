// A test that takes too long is told so by SIGTERM, one that is ended by hand by SIGINT. What it has started must not
// outlive it: control planes would run on for ever.
import { constants } from 'node:os';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../../sandbox/sandbox.ts';

const stops = new Set<() => Promise<unknown>>();
let isHeard = false;

/**
 * Has `stop` run, beside all others that were given, when the process is told to end; it then exits with the code that
 * a shell gives to that.
 */
export function stopWithProcess(stop: () => Promise<unknown>): void {
  stops.add(stop);
  if (isHeard) return;
  isHeard = true;
  let ending: Promise<unknown> | undefined;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => { // a second one, from the runner beside the one of its group, must not cut the first short
      ending ??= Promise.allSettled([...stops].map((each) => each()))
        .then(() => process.exit(128 + constants.signals[name]));
    });
  }
}

/** What sandbox a test wants. */
export interface TestSandboxOptions extends SandboxOptions {
  /**
   * Whether kube-controller-manager keeps its stock client limit, as it does beside real nodes. A cluster then starts
   * about four seconds later.
   */
  readonly stockLimits?: boolean;
}

/** Starts a sandbox that is stopped so, also while it starts. */
export async function startTestSandbox(
  { stockLimits, ...options }: TestSandboxOptions, signal: AbortSignal,
): Promise<Sandbox> {
  const limits = stockLimits ?? options.real ? {} : { controllerQps: 1_000 };
  const ended = new AbortController();
  const starting = startSandbox({ ...limits, ...options }, AbortSignal.any([signal, ended.signal]));
  stopWithProcess(async () => {
    ended.abort();
    await starting.then((sandbox) => sandbox.stop(), () => undefined); // a start that fails leaves nothing behind
  });
  return starting;
}
