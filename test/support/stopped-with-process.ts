// A test that takes too long, or is ended by hand, is told so by SIGTERM. What it has started must not outlive it: control planes would run on for ever.
import type { Sandbox } from '../../sandbox/sandbox.ts';

const stops = new Set<() => Promise<unknown>>();
let isHeard = false;

/** Has `stop` run, beside all others that were given, when the process is told to end; it then exits with the code of a SIGTERM. */
export function stopWithProcess(stop: () => Promise<unknown>): void {
  stops.add(stop);
  if (isHeard) return;
  isHeard = true;
  let ending: Promise<unknown> | undefined;
  process.on('SIGTERM', () => { // a second one, from the runner beside the one of its group, must not cut the first short
    ending ??= Promise.allSettled([...stops].map((each) => each())).then(() => process.exit(128 + 15));
  });
}

/** The same for a sandbox, also while it starts; `stopped` ends the start. */
export function stopSandboxWithProcess(starting: Promise<Sandbox>, stopped: AbortController): void {
  stopWithProcess(async () => {
    stopped.abort();
    await starting.then((sandbox) => sandbox.stop(), () => undefined); // a start that fails leaves nothing behind
  });
}
