// A turn of the event loop that has just begun, by the clock of the process, whatever earlier tests have left.
import { mock } from 'node:test';
import { yieldToEventLoop } from '../../../kubernetes/flow/event-loop-yield.ts';

/**
 * Begins a turn: fifteen pieces of work wait for nobody then, however slow the machine is. What earlier tests of the
 * process have done counts until then, often by a clock of their own that was far ahead.
 */
export async function beginTurn(): Promise<void> {
  let now = Number.MAX_SAFE_INTEGER / 2;
  const clock = mock.method(performance, 'now', () => (now += 1_000));
  let turn = yieldToEventLoop();
  while (turn === undefined) turn = yieldToEventLoop();
  clock.mock.restore();
  await turn;
}
