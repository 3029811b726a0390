// Work on many things as a busy client does it.

/** Calls in flight. */
const PARALLEL_CALLS = 32;

/** Works on all, 32 at once; rejects with the first error. */
export async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(Array.from({ length: PARALLEL_CALLS }, async () => {
    for (const item of queue) await work(item);
  }));
}
