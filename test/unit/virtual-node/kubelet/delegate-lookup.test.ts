import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { locateDelegate, type KnownPod } from '../../../../virtual-node/kubelet/delegate-lookup.ts';
import type { PodRequest } from '../../../../virtual-node/kubelet/kubelet-request.ts';

const asked = (rest: Partial<PodRequest> = {}): PodRequest => ({
  kind: 'pod', operation: 'log', namespace: 'a', name: 'web', container: 'main', parameters: [['follow', 'true']],
  ...rest,
});
const proxy = { key: 'a/web', nodeName: 'admiralty-c2', containers: ['main', 'side'] } as unknown as ProxyPod;
const known = (rest: Partial<KnownPod> = {}): KnownPod =>
  ({ proxy, reachable: true, delegate: { key: 'a/web-1234567890' }, ...rest });

describe('locateDelegate', () => {
  it('names the delegate as its target does, with the container of the path', () => {
    assert.deepEqual(locateDelegate(asked(), known()), {
      kind: 'located', path: '/api/v1/namespaces/a/pods/web-1234567890/log',
      query: [['container', 'main'], ['follow', 'true']],
    });
  });

  it('forwards ports to the pod as a whole', () => {
    const located = locateDelegate(asked({ operation: 'portforward', container: undefined, parameters: [] }), known());
    assert.deepEqual(
      located, { kind: 'located', path: '/api/v1/namespaces/a/pods/web-1234567890/portforward', query: [] },
    );
  });

  const rows: Record<string, readonly [request: PodRequest, pod: KnownPod, status: number, message: RegExp]> = {
    'a pod that is none of ours': [asked(), known({ proxy: undefined }), 404, /a\/web is on no virtual node/],
    'a pod that waits for a node': [
      asked(), known({ proxy: { ...proxy, nodeName: undefined } as unknown as ProxyPod }), 404, /is on no virtual node/,
    ],
    'a container that the pod of the source does not have':
      [asked({ container: 'injected' }), known(), 404, /has no container injected/],
    'a target without a session': [asked(), known({ reachable: false }), 503, /admiralty-c2 is not connected/],
    'a delegate that is not there':
      [asked(), known({ delegate: undefined }), 404, /the delegate of pod a\/web is not there/],
  };
  for (const [what, [request, pod, status, message]] of Object.entries(rows)) {
    it(`refuses ${what}`, () => {
      const answer = locateDelegate(request, pod);
      assert.ok(answer.kind === 'refused');
      assert.equal(answer.status, status);
      assert.match(answer.message, message);
    });
  }
});
