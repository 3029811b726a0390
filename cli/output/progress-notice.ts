// After a second of waiting, prints what is being waited for, on standard error so that programs reading standard
// output are not affected.
const SLOW_MS = 1_000;

/** Returns the result of `work`; prints a notice when it takes more than a second. */
export async function withProgressNotice<T>(
  what: string, work: Promise<T>, tell: (line: string) => void = (line) => console.error(line),
): Promise<T> {
  const timer = setTimeout(() => tell(`${what} …`), SLOW_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
