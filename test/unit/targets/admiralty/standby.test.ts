// When components of a cluster may act, against a scripted API server.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { Standby } from '../../../../targets/admiralty/standby.ts';
import { ScriptedApiServer, SILENT, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const held: KubernetesObject = {
  metadata: { namespace: 'mc', name: 'admiralty-controller-manager' },
  spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 3_600, renewTime: new Date().toISOString() },
} as KubernetesObject;
const record: KubernetesObject = {
  metadata: { namespace: 'ns', name: 'isthmus-migration' }, data: { standby: 'A migration is under way' },
} as KubernetesObject;

/** What a cluster has, and whether it has targets. */
interface ClusterLike {
  readonly lease?: boolean;
  readonly record?: boolean;
  readonly targets?: boolean;
}

class ServerUnderTest {
  readonly watches = new Map<string, Exchange>();
  hasEnded = false;
  readonly #server: ScriptedApiServer;

  constructor(server: ScriptedApiServer) {
    this.#server = server;
  }

  /** Answers lists as the cluster is, and keeps watches open. */
  async serve(like: ClusterLike): Promise<void> {
    while (!this.hasEnded) {
      const exchange = await this.#server.next().catch(() => undefined);
      if (exchange === undefined) return;
      const selector = exchange.query.get('fieldSelector') ?? '';
      if (exchange.query.get('watch') === 'true') {
        exchange.open();
        this.watches.set(selector, exchange);
      } else exchange.answer(
        200, { metadata: { resourceVersion: '10' }, items: itemsOf(exchange.path, selector, like) },
      );
    }
  }
}

/** What a list gives. */
function itemsOf(
  path: string, selector: string, { lease, record: hasRecord, targets }: ClusterLike,
): readonly KubernetesObject[] {
  if (path.endsWith('/leases')) return lease === true && selector.includes('controller-manager') ? [held] : [];
  if (path.endsWith('/configmaps')) return hasRecord === true ? [record] : [];
  return targets === true ? [{ metadata: { name: 'eu' } }] : [];
}

async function begin(
  t: TestContext, like: ClusterLike, actsInSource = true,
): Promise<{ readonly standby: Standby; readonly under: ServerUnderTest; readonly signal: AbortSignal }> {
  const server = await ScriptedApiServer.start();
  server.client.transport.offersStreamingLists = false;
  const ended = new AbortController();
  const under = new ServerUnderTest(server);
  void under.serve(like);
  const standby = new Standby({ client: server.client, installNamespace: 'ns', actsInSource, logger: SILENT });
  standby.run(ended.signal);
  t.after(async () => {
    under.hasEnded = true;
    ended.abort();
    await new Promise((resolve) => setImmediate(resolve)); // what was on its way has come
    await server.stop();
  });
  return { standby, under, signal: ended.signal };
}

describe('components may act', () => {
  const free: Record<string, readonly [ClusterLike, actsInSource: boolean]> = {
    'where no Admiralty works': [{ targets: true }, true],
    'where an Admiralty works and the cluster has no targets': [{ lease: true }, true],
    'where an Admiralty works and they write to no pods of a source': [{ lease: true, targets: true }, false],
  };
  for (const [where, [like, actsInSource]] of Object.entries(free)) {
    it(where, async (t) => {
      const { standby, signal } = await begin(t, like, actsInSource);
      await standby.over(signal);
    });
  }

  const kept: Record<string, ClusterLike> =
    { 'an Admiralty works in their source': { lease: true, targets: true }, 'a migration says so': { record: true } };
  for (const [why, like] of Object.entries(kept)) {
    it(`not while ${why}, which a process that acts is told once`, async (t) => {
      const { standby, signal } = await begin(t, like);
      const told = await new Promise<string>(
        (resolve) => standby.watch(({ code, message }) => resolve(`${code} ${message}`), signal),
      );
      assert.match(told, /^AdmiraltyActive .*(isthmus migrate admiralty|under way)/);
    });
  }

  it('once the migration is over, and says that it stands by only once it is known', async (t) => {
    const { standby, under, signal } = await begin(t, { record: true });
    assert.equal(standby.isStandingBy, false);
    const over = standby.over(signal);
    while (!standby.isStandingBy || !under.watches.has('metadata.name=isthmus-migration')) await new Promise(
      (resolve) => setImmediate(resolve),
    );
    under.watches.get('metadata.name=isthmus-migration')
      ?.send('DELETED', { ...record, metadata: { ...record.metadata, resourceVersion: '11' } });
    await over;
    assert.equal(standby.isStandingBy, false);
  });
});
