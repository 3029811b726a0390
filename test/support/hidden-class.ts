// Whether V8 gives two objects one hidden class. Objects with a class each take a kilobyte more, and every access to
// them is slow.
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

/** Whether objects of a sort that `make` creates have one hidden class, as they have it once the code is warm. */
export function haveOneHiddenClass(make: (index: number) => object): boolean {
  for (let index = 0; index < 50; index += 1) make(index);
  const [one, other] = [make(50), make(51)];
  setFlagsFromString('--allow-natives-syntax');
  try {
    // compiled and called at once: V8 forgets code that is not used, and parses it again
    return (runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean)(one, other);
  } finally {
    setFlagsFromString('--no-allow-natives-syntax');
  }
}
