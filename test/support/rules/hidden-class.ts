// Whether V8 gives two objects one hidden class. Objects with a class each take a kilobyte more, and every access to
// them is slow.
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

/** Pairs that are compared: V8 may change a class between any two objects, where it collects garbage or compiles. */
const PAIRS = 10;

/** Whether objects of a sort that `make` creates have one hidden class, as they have it once the code is warm. */
export function haveOneHiddenClass(make: (index: number) => object): boolean {
  for (let index = 0; index < 50; index += 1) make(index);
  const made = Array.from({ length: PAIRS + 1 }, (_value, index) => make(50 + index));
  setFlagsFromString('--allow-natives-syntax');
  try {
    // compiled and called at once: V8 forgets code that is not used, and parses it again
    const haveSame = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
    const same = made.slice(1).filter((one, index) => haveSame(one, made[index]!));
    return same.length >= PAIRS - 2;
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}
