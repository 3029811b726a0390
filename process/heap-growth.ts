// How much garbage a small heap may accumulate before all of it is collected. V8 chooses that by how fast a process
// allocates. A controller allocates slowly, so its heap was collected after every 10 MiB of garbage, and what lives was
// marked nine times while a thousand pods were placed (docs/adr/0129-garbage-of-small-heaps.md).
import { constants, PerformanceObserver, type NodeGCPerformanceDetail, type PerformanceEntry } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Garbage that may lie in a heap: this part of its limit, and bytes for the calls and watches of each target. */
const GARBAGE = { partOfLimit: 1 / 16, bytesPerTarget: 100 << 10 };
/** By so many percent V8 lets the heap of a slow allocator grow; where that is more garbage, the choice is V8's. */
const OWN_PERCENT = 30;
/** The most that V8 lets any heap grow. */
const MOST_PERCENT = 300;

/** What the growth of a heap depends on. */
export interface HeapSize {
  readonly liveBytes: number;
  /** The most that the heap may have. */
  readonly limitBytes: number;
  /** Number of targets that the process follows. */
  readonly targets: number;
}

let targets: () => number = () => 0;
let percentSet = 0;

/** Tells how many targets the process follows. */
export function allowGarbageOf(count: () => number): void {
  targets = count;
}

/** By how many percent a heap may grow; 0 leaves it to V8. */
export function growthPercent({ liveBytes, limitBytes, targets: count }: HeapSize): number {
  const garbage = limitBytes * GARBAGE.partOfLimit + count * GARBAGE.bytesPerTarget;
  const percent = Math.min(MOST_PERCENT, Math.round((garbage * 100) / liveBytes));
  return percent > OWN_PERCENT ? percent : 0;
}

/** Sets the growth now, and anew after each collection of the whole heap. Keeps no process alive. */
export function spaceCollections(): void {
  setGrowth();
  const observer = new PerformanceObserver((entries) => {
    if (entries.getEntries().some(isOfWholeHeap)) setGrowth();
  });
  observer.observe({ entryTypes: ['gc'] });
}

function isOfWholeHeap(entry: PerformanceEntry & { readonly detail?: NodeGCPerformanceDetail }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** V8 has set the next limit by then: what is set here applies from the following collection on. */
function setGrowth(): void {
  const { used_heap_size: liveBytes, heap_size_limit: limitBytes } = getHeapStatistics();
  const percent = growthPercent({ liveBytes, limitBytes, targets: targets() });
  if (percent === percentSet) return;
  percentSet = percent;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
