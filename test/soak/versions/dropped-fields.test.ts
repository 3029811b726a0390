// Fields of pods that the oldest supported API server drops: a pod that has one is not created there without it. It is
// run by `npm run soak -- oldest-kubernetes`.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { PODS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { createPod } from '../../../kubernetes/client/create-pod.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { OPTIONAL_FIELDS } from '../../support/objects/optional-fields.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const signal = AbortSignal.timeout(180_000);
let sandbox: Sandbox;
let client: ClusterClient;

before(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-dropped-'));
  sandbox = await startTestSandbox({ dir, targets: 0, nodes: 0, gpus: 0, audit: false }, signal);
  const [cluster] = sandbox.clusters;
  ({ client } = await openCluster({ kubeconfigPath: cluster?.kubeconfigPath ?? '', userAgent: 'isthmus-test' }));
  await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'default', name: 'default' } }, signal).catch(() => 0);
});
after(async () => {
  await client?.transport.close();
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
});

describe('an API server of the oldest supported version', () => {
  for (const [field, spec] of Object.entries(OPTIONAL_FIELDS)) {
    it(`gets no pod with ${field}, which it would drop`, async () => {
      const name = 'has-what-it-drops';
      const pod: Pod = { metadata: { namespace: 'default', name }, spec };
      await assert.rejects(createPod(client, pod, signal), ({ status, message }) =>
        status === 422 && /drops/.test(message) && message.includes(field));
      await assert.rejects(client.get(PODS, { namespace: 'default', name }, signal), { status: 404 });
    });
  }

  it('gets a pod without such fields', async () => {
    const metadata = { namespace: 'default', name: 'plain' };
    await createPod(client, { metadata, spec: { containers: [{ name: 'main', image: 'i' }] } }, signal);
    assert.equal((await client.get(PODS, metadata, signal)).metadata.name, 'plain');
  });
});
