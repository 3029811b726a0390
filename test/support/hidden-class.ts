// Whether V8 gives two objects one hidden class. Objects with a class each take a kilobyte more, and every access to
// them is slow.
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

setFlagsFromString('--allow-natives-syntax');
const isSame = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
isSame({}, {}); // a function is parsed when it is called
setFlagsFromString('--no-allow-natives-syntax');

/** Whether objects of a sort that `make` creates have one hidden class, as they have it once the code is warm. */
export function haveOneHiddenClass(make: (index: number) => object): boolean {
  for (let index = 0; index < 50; index += 1) make(index);
  return isSame(make(50), make(51));
}
