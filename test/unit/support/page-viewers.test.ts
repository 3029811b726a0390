import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shownTo } from '../../support/page/page-viewers.ts';
import { startViewedPage } from '../../support/page/scripted-screens.ts';

describe('a screen that a test waits for', () => {
  it('is waited for within a limit, after which the last one is told', async (test) => {
    const { page: { server, origin }, token } = await startViewedPage({ gather: 0, heartbeat: 50, stuck: 1_000 });
    test.after(() => server.close());
    assert.equal((await shownTo({ origin, token }, '/targets')).screen.screen, 'targets');
    await assert.rejects(
      shownTo({ origin, token }, '/targets', () => false, 200),
      /the stream ended; the last screen was \{"screen":"targ/,
    );
  });
});
