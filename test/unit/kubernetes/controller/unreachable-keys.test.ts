import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnreachableKeys } from '../../../../kubernetes/controller/unreachable-keys.ts';
import { UnreachableError } from '../../../../kubernetes/flow/api-error.ts';

/** A server that is away, and comes back when told to. */
class AwayServer {
  readonly #waiting = new Set<() => void>();
  readonly error = new UnreachableError('GET it: connect ECONNREFUSED', {
    onceReachable: (back) => {
      this.#waiting.add(back);
      return () => void this.#waiting.delete(back);
    },
  });

  comeBack(): void {
    for (const back of this.#waiting) back();
  }
}

describe('UnreachableKeys', () => {
  it('retries each key once when its server is back, and no other', () => {
    const again: string[] = [];
    const keys = new UnreachableKeys((key) => again.push(key));
    const [one, other] = [new AwayServer(), new AwayServer()];
    for (let failure = 0; failure < 3; failure += 1) keys.add('a', one.error);
    keys.add('b', other.error);
    one.comeBack();
    assert.deepEqual(again, ['a']);
    other.comeBack();
    assert.deepEqual(again, ['a', 'b']);
  });

  it('forgets a key that is reconciled before', () => {
    const again: string[] = [];
    const keys = new UnreachableKeys((key) => again.push(key));
    const server = new AwayServer();
    keys.add('a', server.error);
    keys.remove('a');
    server.comeBack();
    assert.deepEqual(again, []);
  });

  it('waits for nothing where nothing watches the server', () => {
    const keys = new UnreachableKeys(() => assert.fail('it is not told'));
    keys.add('a', new UnreachableError('it cannot be reached'));
    keys.remove('a');
  });
});
