// Tests wait for events, not for the clock, and assert what happens, not how long it takes. Each exception has its
// reason here. Soaks measure limits of time and are not looked at.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';
import { fixedSleepsIn, timedAssertionsIn, type ByTheClock } from '../../support/rules/fixed-sleeps.ts';

/** How many a file may have, and why. */
type Allowed = Readonly<Record<string, readonly [count: number, reason: string]>>;

const SLEEPS: Allowed = {
  'test/contract/stream-load.ts': [2, 'memory is measured at rest; a reader takes nothing for ten seconds'],
  'test/integration/admission/webhook-certificates.test.ts': [
    1, 'nothing tells that files which are passed over were read',
  ],
  'test/laws/gateway-hostile-peers.test.ts': [1, 'nothing tells that sockets have given their memory back'],
  'test/laws/webhook-hostile-connections.test.ts': [1, 'a connection is silent for longer than a request may take'],
  'test/support/history/create-stream.ts': [1, 'how long its pods run'],
  'test/support/faults/vanishing-targets.ts': [1, 'how long pods of the load run'],
};

const TIMED: Allowed = {
  'test/integration/joining.test.ts': [1, 'with force a dead target is left without waiting for it'],
  'test/integration/leader-election.test.ts': [1, 'a lease that is given back is taken before it would have ended'],
  'test/laws/mtls-cable.test.ts': [1, 'what ends later was ended by the other side'],
};

const FILES = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.startsWith('soak/') && !path.includes('/fixed-sleeps'))
  .map((path) => `test/${path}`);

/** What is not allowed, and what is allowed without need. */
function problemsOf(find: (text: string) => readonly ByTheClock[], allowed: Allowed): readonly string[] {
  return FILES.flatMap((path) => {
    const found = find(textOf(path));
    const [most, reason] = allowed[path] ?? [0, ''];
    if (found.length > most) return found.map(({ line, text }) => `${path}:${line}: ${text}`);
    return found.length < most ? [`${path}: only ${found.length} left of "${reason}"; correct the list`] : [];
  });
}

describe('tests', () => {
  it('sleep for no fixed time', () => assert.deepEqual(problemsOf(fixedSleepsIn, SLEEPS), []));
  it('assert nothing by the clock', () => assert.deepEqual(problemsOf(timedAssertionsIn, TIMED), []));
});

describe('fixed sleeps', () => {
  const found = (text: string): number => fixedSleepsIn(text).length;

  it('are found in each form', () => {
    assert.equal(found('  await sleep(1_000);'), 1);
    assert.equal(found('  await delay(PAUSE_MS); // a while'), 1);
    assert.equal(found('  await delay(SCALE.quiet);'), 1);
    assert.equal(found('  await new Promise((resolve) => setTimeout(resolve, 100));'), 1);
    assert.equal(found('  while (busy()) {\n    each(async () => {\n      await sleep(5);\n    });\n  }'), 1);
  });

  it('are no pauses between two looks, and none of a variable length', () => {
    assert.equal(found('  while (!isThere()) await sleep(20);'), 0);
    assert.equal(found('  for (;;) {\n    if (isThere()) return;\n    await sleep(20);\n  }'), 0);
    assert.equal(found('  await sleep(order.pauseMs);'), 0);
  });
});

describe('timed assertions', () => {
  it('are found', () => {
    assert.equal(timedAssertionsIn('assert.ok(performance.now() - since < 4_000);').length, 1);
    assert.equal(timedAssertionsIn('assert(took <= 200, `${took} ms`);').length, 1);
    assert.equal(timedAssertionsIn('assert.ok(count < 4_000);').length, 0);
  });
});
