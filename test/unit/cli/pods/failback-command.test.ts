// `isthmus failback` evicts nothing while its target takes no pods: they would only be placed elsewhere again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import { AnsweringApiServer } from '../../../support/answering-api-server.ts';
import { isthmusHere } from '../../../support/command-in-process.ts';
import { servedSource, servedTarget } from '../../../support/served-source.ts';

/** What the command ends with, where the virtual node of its target has these conditions. */
async function failback(targetReady: 'True' | 'False', spec: Node['spec'] = {}) {
  const target = await AnsweringApiServer.start({});
  const served = servedTarget('eu', target.kubeconfigText());
  const conditions = [{ type: 'Ready', status: 'True' }, { type: 'TargetReady', status: targetReady }] as const;
  const node: Node = { ...served.node, spec, status: { conditions } };
  const source = await AnsweringApiServer.start(servedSource([served], { nodes: [node] }));
  try {
    return await isthmusHere('failback', 'eu', '--kubeconfig', await source.kubeconfig());
  } finally {
    await Promise.all([source.stop(), target.stop()]);
  }
}

describe('isthmus failback', () => {
  it('refuses while the target is lost', async () => {
    const { code, stderr } = await failback('False');
    assert.equal(code, 1);
    assert.match(stderr, /^isthmus: error \(BadInput\): Target eu is not Ready: .* No pod was evicted\.$/m);
  });

  it('refuses while the target is cordoned', async () => {
    const { stderr } = await failback('True', { unschedulable: true });
    assert.match(stderr, /run "isthmus uncordon eu" first\. No pod was evicted\./);
  });

  it('says so where no pod is away from a target that is back', async () => {
    const { code, stdout } = await failback('True');
    assert.deepEqual([code, stdout], [0, 'no pod that may come back is away from eu\n']);
  });
});
