// How a session finds out in which way pods are delegated to a target that leaves it to us, from what the target serves
// and who lives there.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { HEARTBEAT_TIMEOUT_MS } from '../../../targets/heartbeat.ts';
import { TargetSession } from '../../../targets/target-session.ts';
import { ScriptedApiServer, SILENT, status, type Exchange } from '../../support/doubles/scripted-api-server.ts';

/** What the target is like. */
interface TargetLike {
  readonly serves: boolean;
  readonly summary?: KubernetesObject;
  readonly mayWritePods: boolean;
}

const summaryOf = (agoMs: number, resourceVersion = '5') => ({
  metadata: { name: 'singleton', resourceVersion },
  observed: { podsResourceVersion: '1', time: new Date(Date.now() - agoMs).toISOString() },
});
const HOUR_MS = 3_600_000;

class SessionUnderTest {
  readonly session: TargetSession;
  readonly #server: ScriptedApiServer;
  #summaries: Exchange | undefined;
  #silence: (() => void) | undefined;
  #changed: () => void = () => undefined;

  constructor(t: TestContext, server: ScriptedApiServer) {
    this.#server = server;
    const later: (callback: () => void, ms: number, ...rest: unknown[]) => NodeJS.Timeout = globalThis.setTimeout;
    t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number, ...rest: unknown[]) => {
      if (ms === HEARTBEAT_TIMEOUT_MS) this.#silence = callback;
      return later(callback, ms, ...rest);
    });
    this.session = new TargetSession({
      connection: server.connection(),
      userAgent: 'isthmus-test', sourceId: 'source', namespace: undefined, delegation: 'Auto', logger: SILENT,
      sourceSummary: { source: server.client, name: 'kept' },
    });
    this.session.client.transport.offersStreamingLists = false;
    this.session.onConnection(() => this.#changed());
  }

  /** Resolves when all that the target serves is followed. */
  async follow(target: TargetLike): Promise<void> {
    this.session.run();
    void this.#answer(target);
    await this.until(() => this.session.delegates.connection.kind === 'open' && this.#isKnown(target));
  }

  #isKnown({ serves }: TargetLike): boolean {
    return serves
      ? this.session.chaperons.connection.kind === 'open' && this.#summaries !== undefined
        && this.#silence !== undefined
      : this.session.mode !== undefined;
  }

  async #answer({ serves, summary, mayWritePods }: TargetLike): Promise<void> {
    for (;;) {
      const exchange = await this.#server.next().catch(() => undefined);
      if (exchange === undefined) return;
      const isSummary = exchange.path.endsWith('/clustersummaries');
      if (
        exchange.path.endsWith('/selfsubjectaccessreviews')
      ) exchange.answer(201, { metadata: {}, status: { allowed: mayWritePods } });
      else if (!serves && exchange.path.includes('admiralty')) exchange.answer(
        404, status(404, 'NotFound', 'no such kind'),
      );
      else if (exchange.query.get('watch') === 'true') {
        exchange.open();
        if (isSummary) this.#summaries = exchange;
      } else exchange.answer(
        200, { metadata: { resourceVersion: '10' }, items: isSummary && summary !== undefined ? [summary] : [] },
      );
    }
  }

  async fallSilent(): Promise<void> {
    const asked = this.until(() => true);
    this.#silence?.();
    await asked;
  }

  async renew(): Promise<void> {
    const heard = this.until(() => this.session.mode !== undefined);
    this.publish(HOUR_MS - 60_000);
    await heard;
  }

  /** The controller says that it lived so long ago. */
  publish(agoMs: number): void {
    this.#summaries?.send('MODIFIED', summaryOf(agoMs, '11'));
  }

  async untilMode(mode: TargetSession['mode']): Promise<void> {
    while (this.session.mode !== mode) await this.until(() => true);
  }

  /** Resolves at the first change after which `holds`. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = () => holds() && resolve();
    });
  }
}

describe('a target that leaves it to the source how pods are delegated', () => {
  const begin = async (t: TestContext, target: TargetLike): Promise<SessionUnderTest> => {
    const server = await ScriptedApiServer.start();
    const under = new SessionUnderTest(t, server);
    t.after(async () => {
      await under.session.stop();
      await server.stop();
    });
    await under.follow(target);
    return under;
  };

  it('gets PodChaperons when its controller has just been heard', async (t) => {
    const { session } = await begin(t, { serves: true, summary: summaryOf(30_000), mayWritePods: true });
    assert.deepEqual(
      [session.mode, session.isControllerSilent, session.publishesNoSummary], ['PodChaperon', false, false],
    );
  });

  it('gets PodChaperons when its controller is heard later', async (t) => {
    const under = await begin(t, { serves: true, summary: summaryOf(HOUR_MS), mayWritePods: true });
    assert.equal(under.session.mode, undefined);
    await under.renew();
    assert.equal(under.session.mode, 'PodChaperon');
  });

  it('says of each summary whether it was only renewed', async (t) => {
    const under = await begin(t, { serves: true, summary: summaryOf(HOUR_MS), mayWritePods: true });
    const told: boolean[] = [];
    under.session.onSummary((_summary, isRenewed) => told.push(isRenewed));
    await under.renew();
    assert.deepEqual(told, [false, true], 'the one that was there is told to a new listener');
  });

  it('goes on getting PodChaperons when its controller is not heard any more, and says so', async (t) => {
    const under = await begin(t, { serves: true, summary: summaryOf(30_000), mayWritePods: true });
    assert.equal(under.session.mode, 'PodChaperon');
    await under.fallSilent();
    assert.deepEqual([under.session.mode, under.session.isControllerSilent], ['PodChaperon', true]);
  });

  it('gets pods when nobody is heard there and the source may write them, and the source reckons what is free',
    async (t) => {
    const under = await begin(t, { serves: true, summary: summaryOf(HOUR_MS), mayWritePods: true });
    await under.fallSilent();
    const { session } = under;
    assert.deepEqual([session.mode, session.isControllerSilent, session.publishesNoSummary, session.summary], [
      'Pod', false, true, undefined,
    ]);
  });

  it('gets nothing when nobody is heard there and the source may not write pods', async (t) => {
    const under = await begin(t, { serves: true, summary: summaryOf(HOUR_MS), mayWritePods: false });
    await under.fallSilent();
    assert.deepEqual([under.session.mode, under.session.isControllerSilent], [undefined, true]);
  });

  it('gets pods while an Admiralty is active there and the source may write them, and PodChaperons once it is migrated',
    async (t) => {
    const under = await begin(t, { serves: true, summary: { metadata: { name: 'singleton' } }, mayWritePods: true });
    await under.untilMode('Pod');
    assert.deepEqual([under.session.mode, under.session.publishesNoSummary], ['Pod', false]);
    under.publish(0);
    await under.untilMode('PodChaperon');
  });

  it('gets nothing while an Admiralty is active there and the source may not write pods: it could not delete its ' +
    'chaperons',
    async (t) => {
    const { session } =
      await begin(t, { serves: true, summary: { metadata: { name: 'singleton' } }, mayWritePods: false });
    assert.deepEqual([session.mode, session.isControllerSilent, session.isAdmiraltyActive], [undefined, false, true]);
  });

  it('gets nothing yet, without a word on silence, while nothing was ever published there', async (t) => {
    const under = await begin(t, { serves: true, mayWritePods: false });
    await under.fallSilent();
    assert.deepEqual([under.session.mode, under.session.isControllerSilent], [undefined, false]);
  });

  it('gets pods when it does not serve our kinds', async (t) => {
    const { session } = await begin(t, { serves: false, mayWritePods: true });
    assert.deepEqual([session.mode, session.publishesNoSummary], ['Pod', true]);
  });
});
