import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { TARGET_READY_CONDITION } from '../../../api/objects/keys.ts';
import { Simulations } from '../../../dashboard/observe/simulations.ts';
import { Screens } from '../../../dashboard/screens.ts';
import type { OpenScreen } from '../../../dashboard/wire/screen-source.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { AnsweringApiServer } from '../../support/doubles/answering-api-server.ts';
import { ScriptedApiServer, status } from '../../support/doubles/scripted-api-server.ts';

const simulate = new Simulations().of('viewer');
const POD = {
  metadata: {
    namespace: 'shop', name: 'web', uid: 'p', annotations: { 'multicluster.admiralty.io/elect': '' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
  },
  spec: { schedulerName: 'admiralty-proxy', nodeName: 'admiralty-us', containers: [] }, status: { phase: 'Running' },
} as unknown as Pod;
const NODE: Node = {
  metadata: { name: virtualNodeName({ kind: 'ClusterTarget', name: 'eu' }) },
  status: { conditions: ['Ready', TARGET_READY_CONDITION].map((type) => ({ type, status: 'True' })) },
};
const POLICY = { metadata: { namespace: 'shop', name: 'isthmus-move-1', uid: 'm' }, spec: {} };
const ACCEPTED = { ...POLICY, status: { conditions: [{ type: 'Accepted', status: 'True' }] } };

describe('what a viewer asks in several tabs', () => {
  it('is watched, evaluated and simulated once for each question', async (test) => {
    const server = await ScriptedApiServer.start();
    test.after(() => server.stop());
    const ended = new AbortController();
    const screens = new Screens({ client: server.client, signal: ended.signal, simulate });
    const tabs: OpenScreen[] = [];
    const ask = (name: string, replicas: number): void => {
      const spec = 'require: {}';
      tabs.push(screens.open({ screen: 'pod', namespace: 'shop', name, replicas, spec }));
    };
    for (let tab = 0; tab < 5; tab += 1) ask('web', 100);
    ask('web', 99);
    ask('last', 100);
    const watched = new Map<string, number>();
    while (!watched.has('metadata.name=last')) {
      const { path, query } = await server.next();
      const selector = query.get('fieldSelector') ?? '';
      if (path.endsWith('/pods')) watched.set(selector, (watched.get(selector) ?? 0) + 1);
    }
    assert.deepEqual([...watched], [['metadata.name=web', 2], ['metadata.name=last', 1]]);
    for (const tab of tabs) tab.close();
    ended.abort();
    await server.stop();
    await screens.close();
  });
});

describe('a page that is closed', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Begins a move up to its eviction, which a PodDisruptionBudget forbids. */
  async function moving(screens: Screens): Promise<{ readonly moved: Promise<string> }> {
    const moved = screens.act({ kind: 'move', namespace: 'shop', name: 'web', target: 'eu' });
    const noPods = { metadata: { resourceVersion: '1' }, items: [] };
    for (const answer of [POD, NODE, POLICY, ACCEPTED, noPods]) (await server.next()).answer(200, answer);
    const eviction = await server.next();
    assert.match(eviction.path, /\/pods\/web\/eviction/);
    eviction.answer(429, status(429, 'TooManyRequests', 'Cannot evict pod as it would violate its budget.'));
    return { moved };
  }

  it('ends the moves of its viewer, and deletes their policies before it lets go of the token', async () => {
    const ended = new AbortController();
    const screens = new Screens({ client: server.client, signal: ended.signal, simulate });
    const moved = assert.rejects((await moving(screens)).moved);
    ended.abort();
    let isClosed = false;
    const closing = screens.close().then(() => (isClosed = true));
    const deletion = await server.next();
    assert.deepEqual([deletion.method, deletion.path.split('/').at(-1)], ['DELETE', 'isthmus-move-1']);
    assert.match(deletion.body, /"uid":"m"/);
    assert.equal(isClosed, false, 'it waits for the answer');
    deletion.answer(200, {});
    await Promise.all([closing, moved]);
  });

  it('closes though the API server does not know the viewer any more: the scheduler deletes the policy', async () => {
    const ended = new AbortController();
    const screens = new Screens({ client: server.client, signal: ended.signal, simulate });
    const moved = assert.rejects((await moving(screens)).moved);
    ended.abort();
    const closing = screens.close();
    (await server.next()).answer(401, status(401, 'Unauthorized', 'Unauthorized'));
    await Promise.all([closing, moved]);
  });
});

describe('a log', () => {
  it('is shown with its newest lines where the last 500 are long', async (test) => {
    const line = (number: number) => `${number} ${'x'.repeat(1_000)}\n`;
    const log = Array.from({ length: 500 }, (_, number) => line(number)).join('');
    const asked: string[] = [];
    const server = await AnsweringApiServer.start((_method, { searchParams }) => {
      asked.push(searchParams.toString());
      const most = Number(searchParams.get('limitBytes') ?? log.length); // kubelets end there
      return [200, log.slice(0, most)];
    });
    test.after(() => server.stop());
    const kubeconfigPath = await server.kubeconfig();
    const { client } = await openCluster({ kubeconfigPath, context: undefined, userAgent: 'test' });
    test.after(() => client.transport.close());
    const screens = new Screens({ client, signal: new AbortController().signal, simulate });
    const shown = (await screens.log({ namespace: 'shop', name: 'web' }, 'main')).split('\n');
    await screens.close();
    assert.deepEqual(asked, ['container=main&tailLines=500']);
    assert.equal(`${shown.at(-2)}\n`, line(499));
    assert.match(shown[0] ?? '', /^\d+ x/);
    assert.ok(shown.length > 200 && shown.length < 300, String(shown.length));
  });
});
