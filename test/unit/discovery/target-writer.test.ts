// What was decided about targets is written, and what was made is known before a watch delivers it.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CLUSTER_TARGETS } from '../../../api/resource-types.ts';
import { toClusterTarget } from '../../../discovery/plan/target-objects.ts';
import { TargetWriter } from '../../../discovery/target-writer.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';

const NEVER = new AbortController().signal;
const object = toClusterTarget({
  name: 'eu', cluster: { entry: 'Secret argocd/eu', name: 'eu', labels: {} }, clusterId: 'id-eu', template: {},
  discovery: 'argo', namespace: 'isthmus-system-targets',
});

describe('a target that was made', () => {
  let server: ScriptedApiServer;
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(() => server.stop());

  it('is known until a watch delivers it: another entry of its cluster makes no second one meanwhile', async () => {
    const writer = new TargetWriter({ client: server.client, logger: SILENT });
    const writing = writer.write([{ target: 'eu', plan: [{ kind: 'create', type: CLUSTER_TARGETS, object }] }], NEVER);
    const request = await server.next();
    request.answer(201, { ...object, metadata: { ...object.metadata, uid: 'uid-eu' } });
    assert.deepEqual(await writing, new Map());
    const known = writer.madeBeside(new Set());
    assert.deepEqual(known.map(({ name, uid, clusterId, entry }) => [name, uid, clusterId, entry]), [
      ['eu', 'uid-eu', 'id-eu', 'Secret argocd/eu'],
    ]);
    assert.deepEqual(writer.madeBeside(new Set(['eu'])), []);
  });
});
