import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { Screens } from '../../../dashboard/screens.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { ScriptedApiServer, status } from '../../support/scripted-api-server.ts';

const POD = {
  metadata: {
    namespace: 'shop', name: 'web', uid: 'p', annotations: { 'multicluster.admiralty.io/elect': '' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
  },
  spec: { schedulerName: 'admiralty-proxy', nodeName: 'admiralty-us', containers: [] }, status: { phase: 'Running' },
} as unknown as Pod;
const NODE: Node = {
  metadata: { name: virtualNodeName({ kind: 'ClusterTarget', name: 'eu' }) },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};
const POLICY = { metadata: { namespace: 'shop', name: 'isthmus-move-1', uid: 'm' }, spec: {} };
const ACCEPTED = { ...POLICY, status: { conditions: [{ type: 'Accepted', status: 'True' }] } };

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
    const screens = new Screens({ client: server.client, signal: ended.signal });
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
    const screens = new Screens({ client: server.client, signal: ended.signal });
    const moved = assert.rejects((await moving(screens)).moved);
    ended.abort();
    const closing = screens.close();
    (await server.next()).answer(401, status(401, 'Unauthorized', 'Unauthorized'));
    await Promise.all([closing, moved]);
  });
});
