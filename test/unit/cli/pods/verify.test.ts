import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import { verifiedText, verifyingPod } from '../../../../cli/pods/verify.ts';
import { securityProblems } from '../../../../model/pod/pod-security.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

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

  it('deletes the pods of all targets also where one cannot be followed any more', async () => {
    const calls: string[] = [];
    const namesOf = (method: string) => calls.flatMap((call) => (call.startsWith(method) ? [call.split(' ')[1]] : []));
    const waiting = { metadata: {}, spec: { nodeName: 'n', schedulerName: PROXY_SCHEDULER }, status: {} };
    const list = (...names: readonly string[]): Answer =>
      [200, { kind: 'List', metadata: {}, items: names.map((name) => ({ metadata: { name } })) }];
    const source = await AnsweringApiServer.start((method, { pathname }) => {
      if (pathname.endsWith('/team-a')) {
        return [200, { metadata: { name: 'team-a', labels: { 'multicluster-scheduler': 'enabled' } } }];
      }
      if (!pathname.includes('/pods')) return pathname.endsWith('/clustertargets') ? list('eu', 'us') : list();
      const name = pathname.split('/').at(-1) ?? '';
      const [gone] = namesOf('DELETE');
      const isDenied = method === 'GET' && name === gone;
      calls.push(`${isDenied ? 'denied' : method} ${name}`);
      if (isDenied) return [403, status(403, 'Forbidden', 'pods is forbidden')];
      if (method === 'GET' && namesOf('DELETE').includes(name)) return [404, status(404, 'NotFound', 'it is gone')];
      const isFirst = namesOf('GET')[0] === name || namesOf('denied').length > 0;
      return [200, isFirst ? { ...waiting, status: { phase: 'Running' } } : waiting];
    });
    const { stdout, code } = await isthmusHere('verify', '-n', 'team-a', '--kubeconfig', await source.kubeconfig());
    await source.stop();
    assert.equal(new Set(namesOf('DELETE')).size, 2);
    assert.equal(code, 1);
    assert.match(stdout, /pods is forbidden/);
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
