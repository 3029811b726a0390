// Which Events of a target are repeated on proxy pods: each once, also when the target lists them all again.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import {
  startDelegateEvents, type DelegateEventsOptions,
} from '../../../../delegate-controller/feedback/delegate-events-controller.ts';
import { TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import type { TargetCluster } from '../../../../targets/target-cluster.ts';
import type { TargetSession } from '../../../../targets/target-session.ts';
import { aDelegateRecord, aProxyRecord } from '../../../support/objects/builders.ts';
import { ScriptedApiServer, SILENT, status } from '../../../support/doubles/scripted-api-server.ts';

type Opened = (target: TargetCluster, session: TargetSession) => void;

const delegate = aDelegateRecord();

/** A warning about the delegate. */
function warning(reason: string, resourceVersion: string): KubernetesObject {
  const [namespace = '', name = ''] = delegate.key.split('/');
  const regarding = { kind: 'Pod', namespace, name, uid: delegate.uid };
  const metadata = { namespace, name: reason, resourceVersion };
  return { metadata, reason, note: reason, regarding } as KubernetesObject;
}

/** A target whose Events are followed, and the reasons that were repeated. */
async function aTarget(t: TestContext) {
  const server = await ScriptedApiServer.start();
  const stop = new AbortController();
  t.after(() => {
    stop.abort();
    return server.stop();
  });
  const repeated: string[] = [];
  let waiting: (() => void) | undefined;
  const record = ({ reason }: EventRecord): void => {
    repeated.push(reason);
    waiting?.();
  };
  const untilRepeated = async (count: number): Promise<void> => {
    while (repeated.length < count) await new Promise<void>((resolve) => (waiting = resolve));
  };
  let opened: Opened = () => undefined;
  startDelegateEvents({
    proxies: { onChange: () => undefined, get: () => aProxyRecord() }, events: { record }, logger: SILENT,
    targets: { listen: ({ sessionOpened }: { readonly sessionOpened: Opened }) => (opened = sessionOpened) },
  } as unknown as DelegateEventsOptions);
  const ref = { kind: 'ClusterTarget', name: 'c' };
  const session = { client: server.client, signal: stop.signal, delegates: { get: () => delegate } };
  opened({ ref, key: 'ClusterTarget/c' } as TargetCluster, session as unknown as TargetSession);
  return { server, repeated, untilRepeated };
}

describe('warnings about a delegate', () => {
  it('are repeated once, and those from before the session never, when the target lists all again', async (t) => {
    const { server, repeated, untilRepeated } = await aTarget(t);
    await server.list('10', warning('Before', '9'), warning('JustBefore', '10'));
    const watch = await server.watch('10');
    watch.send('ADDED', warning('First', '11'), warning('Second', '12'));
    await untilRepeated(2);
    watch.send('ERROR', status(410, 'Expired', 'too old resource version'));
    await server.list(
      '20', warning('Meanwhile', '15'), warning('Second', '12'), warning('First', '11'), warning('Before', '9'),
      warning('JustBefore', '10'), warning('MeanwhileToo', '14'),
    );
    (await server.watch('20')).send('ADDED', warning('After', '21'));
    await untilRepeated(5);
    assert.deepEqual(repeated, ['First', 'Second', 'Meanwhile', 'MeanwhileToo', 'After']);
  });

  it('are watched for so short that the server ends a quiet watch before it counts as dead', async (t) => {
    const { server } = await aTarget(t);
    await server.list('10');
    const { query } = await server.watch('10');
    const ms = Number(query.get('timeoutSeconds')) * 1_000;
    assert.ok(ms < TRANSPORT_TIMINGS.watchSilenceMs, `Events have no bookmarks, and it lasts ${ms} ms`);
  });

  it('are repeated again when they happen again', async (t) => {
    const { server, repeated, untilRepeated } = await aTarget(t);
    await server.list('10', warning('Often', '9'));
    (await server.watch('10')).send('MODIFIED', warning('Often', '11'), warning('Often', '12'));
    await untilRepeated(2);
    assert.deepEqual(repeated, ['Often', 'Often']);
  });
});
