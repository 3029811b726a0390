// `isthmus failback` evicts nothing while its target takes no pods: they would only be placed elsewhere again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PLACEMENT_ANNOTATION, PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

/** What the command ends with, where the virtual node of its target has these conditions. */
async function failback(
  targetReady: 'True' | 'False', spec: Node['spec'] = {},
  { pods = [], evicted, seconds = '300' }:
    { readonly pods?: readonly Pod[]; readonly evicted?: (url: URL) => Answer; readonly seconds?: string } = {},
) {
  const target = await AnsweringApiServer.start({});
  const served = servedTarget('eu', target.kubeconfigText());
  const conditions = [{ type: 'Ready', status: 'True' }, { type: 'TargetReady', status: targetReady }] as const;
  const node: Node = { ...served.node, spec, status: { conditions } };
  const source = await AnsweringApiServer.start(servedSource([served], { nodes: [node], pods }), evicted);
  try {
    return await isthmusHere('failback', 'eu', '--timeout-seconds', seconds, '--kubeconfig', await source.kubeconfig());
  } finally {
    await Promise.all([source.stop(), target.stop()]);
  }
}

const placement = JSON.stringify({ not: { 'ClusterTarget/eu': 'Unreachable' } });
/** A pod that was placed elsewhere while the target was lost. */
const away = (name: string): Pod => ({
  metadata: {
    namespace: 'team-a', name, uid: name, resourceVersion: '1',
    annotations: { [ELECT_ANNOTATION]: '', [PLACEMENT_ANNOTATION]: placement },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true }],
  },
  spec: { containers: [], schedulerName: PROXY_SCHEDULER, nodeName: 'admiralty-us' }, status: { phase: 'Running' },
});

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

  it('evicts pods although another one cannot be evicted, such as one that two budgets select', async () => {
    const pods = ['a', 'b'].map(away);
    const asked: string[] = [];
    const evicted = ({ pathname }: URL): Answer => {
      asked.push(pathname.split('/').at(-2) ?? '');
      const message = 'This pod has more than one PodDisruptionBudget';
      return pathname.includes('/a/') ? [500, status(500, 'InternalError', message)] : [201, {}];
    };
    const { code, stderr } = await failback('True', {}, { pods, evicted });
    assert.deepEqual([asked.toSorted(), code], [['a', 'b'], 1]);
    assert.match(stderr, /more than one PodDisruptionBudget/);
  });

  it('ends with the reason where a budget does not let a pod go in time', async () => {
    const evicted = (): Answer => [429, status(429, 'TooManyRequests', 'no')];
    const { code, stderr } = await failback('True', {}, { pods: [away('a')], evicted, seconds: '1' });
    assert.equal(code, 1);
    assert.match(stderr, /\(Timeout\): Pod team-a\/a was not evicted in 1 s: a PodDisruptionBudget forbids it/);
  });

  it('says so where no pod is away from a target that is back', async () => {
    const { code, stdout } = await failback('True');
    assert.deepEqual([code, stdout], [0, 'no pod that may come back is away from eu\n']);
  });
});
