// Who waits for longer than a second is told what for, on standard error: programs that read standard output are not bothered.
const SLOW_MS = 1_000;

/** Gives what `work` gives; says what is done when that takes more than a second. */
export async function withProgressNotice<T>(what: string, work: Promise<T>, tell: (line: string) => void = (line) => console.error(line)): Promise<T> {
  const timer = setTimeout(() => tell(`${what} …`), SLOW_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
