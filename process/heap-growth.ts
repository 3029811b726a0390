// How much garbage a small heap may gather before all of it is collected. V8 chooses that by how fast a process
// allocates. A controller allocates slowly, so its heap was collected at each 10 MiB of garbage, and the marking of all
// that lives took a fifth of the CPU of a burst (docs/adr/0129-garbage-of-small-heaps.md).
import { constants, PerformanceObserver, type NodeGCPerformanceDetail, type PerformanceEntry } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Garbage that may lie in a heap, in bytes, and for each target: its calls and watches leave some behind. */
const GARBAGE = { bytes: 32 << 20, perTarget: 100 << 10 };
/** By so many percent V8 lets the heap of a slow allocator grow; where that is more garbage, the choice is V8's. */
const OWN_PERCENT = 30;
/** A heap that has just started is no measure. */
const MOST_PERCENT = 100;

let targets: () => number = () => 0;

/** Tells how many targets the process follows. */
export function allowGarbageOf(count: () => number): void {
  targets = count;
}

/** By how many percent a heap with so many live bytes may grow; 0 leaves it to V8. */
export function growthPercent(liveBytes: number, targetCount = 0): number {
  const garbage = GARBAGE.bytes + targetCount * GARBAGE.perTarget;
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

function setGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size, targets())}`);
}
