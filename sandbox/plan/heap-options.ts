// What the image's Node.js takes of memory by itself in a container. On a machine it would go by the machine's size.

/** Memory limits of a container for which Node.js 24 was asked what it takes (docs/adr/0129, docs/adr/0130). */
export type MemoryLimit = '1Gi' | '2Gi';

/** Sizes in MiB: half of the young generation, and the old generation. */
const HEAPS: Readonly<Record<MemoryLimit, { readonly semiSpace: number; readonly oldSpace: number }>> = {
  '1Gi': { semiSpace: 16, oldSpace: 512 },
  '2Gi': { semiSpace: 32, oldSpace: 1_024 },
};

/** Options with which any Node.js has the heap of the image's in a container with that limit. */
export function heapOptions(limit: MemoryLimit): readonly string[] {
  const { semiSpace, oldSpace } = HEAPS[limit];
  return [`--max-semi-space-size=${semiSpace}`, `--max-old-space-size=${oldSpace}`];
}
