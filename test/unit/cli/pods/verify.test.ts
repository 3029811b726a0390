import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { verifiedText, verifyingPod } from '../../../../cli/pods/verify.ts';
import { securityProblems } from '../../../../model/pod/pod-security.ts';
import { AnsweringApiServer } from '../../../support/answering-api-server.ts';
import { isthmusHere } from '../../../support/command-in-process.ts';
import { servedSource, servedTarget } from '../../../support/served-source.ts';

describe('verify', () => {
  const at = { namespace: 'n', name: 'p', image: 'i' };
  const nodeSelectorOf = (pod: ReturnType<typeof verifyingPod>) =>
    (JSON.parse(pod.metadata.annotations?.['multicluster.admiralty.io/proxy-pod-scheduling-constraints'] ?? '{}') as {
      nodeSelector?: object
    }).nodeSelector;

  it('sends its pod to one ClusterTarget', () => {
    assert.deepEqual(nodeSelectorOf(verifyingPod({ kind: 'ClusterTarget', name: 'eu' }, at)), {
      'multicluster.admiralty.io/cluster-target-name': 'eu',
    });
  });

  it('sends its pod to one Target', () => {
    const labels = { 'multicluster.admiralty.io/target-namespace': 'n', 'multicluster.admiralty.io/target-name': 'eu' };
    assert.deepEqual(nodeSelectorOf(verifyingPod({ kind: 'Target', namespace: 'n', name: 'eu' }, at)), labels);
  });

  it('sends one that Pod Security restricted admits, with the image that was asked for', () => {
    const { spec } = verifyingPod({ kind: 'ClusterTarget', name: 'eu' }, at);
    assert.deepEqual(securityProblems({ annotations: {}, spec }, 'restricted'), []);
    assert.equal(spec.containers[0]?.image, 'i');
  });

  it('says at once that a target does not exist', async () => {
    const source = await AnsweringApiServer.start(servedSource([servedTarget('eu', '')]));
    const { stderr } = await isthmusHere('verify', 'us', '-n', 'team-a', '--kubeconfig', await source.kubeconfig());
    await source.stop();
    assert.equal(
      stderr, 'isthmus: error (NotFound): There is no ClusterTarget us here. Targets here: eu.\n',
    );
    assert.ok(!source.calls.some((call) => call.startsWith('POST')), source.calls.join('\n'));
  });

  it('shows how far each pod came, and why no further', () => {
    const text = verifiedText([
      { target: 'eu', steps: { admitted: 20, placed: 41, running: 90, gone: 120 } },
      { target: 'us', steps: { admitted: 21 }, problem: 'Unschedulable: no room' },
    ]);
    const [, eu = '', us = ''] = text.split('\n');
    assert.match(eu, /^eu +20 ms +41 ms +90 ms +120 ms +ok$/);
    assert.match(us, /^us +21 ms .*Unschedulable: no room$/);
  });
});
