// A test that takes too long, or is ended by hand, is told so by SIGTERM. What it has started must not outlive it: control planes would run on for ever.
const stops = new Set<() => Promise<unknown>>();
let isHeard = false;

/** Has `stop` run, beside all others that were given, when the process is told to end; it then exits with the code of a SIGTERM. */
export function stopWithProcess(stop: () => Promise<unknown>): void {
  stops.add(stop);
  if (isHeard) return;
  isHeard = true;
  process.once('SIGTERM', () => void Promise.allSettled([...stops].map((each) => each())).then(() => process.exit(128 + 15)));
}
