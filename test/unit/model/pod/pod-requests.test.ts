// Expected values follow PodRequests of k8s.io/component-helpers v0.36.3, after the API server's defaulting.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Container, PodSpec, ResourceList } from '../../../../api/objects/core.ts';
import { podRequests } from '../../../../model/pod/pod-requests.ts';

function container(requests: ResourceList, limits: ResourceList = {}): Container {
  return { name: 'main', resources: { requests, limits } };
}

function sidecar(requests: ResourceList): Container {
  return { ...container(requests), restartPolicy: 'Always' };
}

const GPU = 'nvidia.com/gpu';

const cases: Record<string, readonly [spec: PodSpec, requests: Record<string, number>]> = {
  'a pod without requests takes one place': [{ containers: [{ name: 'main' }] }, { pods: 1 }],
  'containers are summed': [
    { containers: [container({ cpu: '500m', memory: '1Ki' }), container({ cpu: '1', [GPU]: 1 })] },
    { cpu: 1500, memory: 1024, [GPU]: 1, pods: 1 },
  ],
  'limits stand in for requests that are absent': [
    { containers: [container({ cpu: '100m' }, { cpu: '2', memory: '1Ki' })] },
    { cpu: 100, memory: 1024, pods: 1 },
  ],
  'a request of zero is not replaced by the limit':
    [{ containers: [container({ cpu: 0 }, { cpu: '2' })] }, { cpu: 0, pods: 1 }],
  'a big init container raises the request': [
    { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '3' }), container({ cpu: '2' })] },
    { cpu: 3000, pods: 1 },
  ],
  'small init containers change nothing': [
    { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '500m' }), container({ cpu: '500m' })] },
    { cpu: 1000, pods: 1 },
  ],
  'a resource that only an init container uses is requested': [
    { containers: [container({ cpu: '1' })], initContainers: [container({ [GPU]: 1 })] },
    { cpu: 1000, [GPU]: 1, pods: 1 },
  ],
  'limits stand in for the requests of init containers too': [
    { containers: [container({})], initContainers: [container({}, { cpu: '2' })] },
    { cpu: 2000, pods: 1 },
  ],
  'sidecars run beside the containers': [
    { containers: [container({ cpu: '1' })], initContainers: [sidecar({ cpu: '200m' }), sidecar({ cpu: '300m' })] },
    { cpu: 1500, pods: 1 },
  ],
  'an init container runs beside the sidecars started before it': [
    { containers: [container({ cpu: '1' })], initContainers: [sidecar({ cpu: '500m' }), container({ cpu: '2' })] },
    { cpu: 2500, pods: 1 },
  ],
  'an init container does not wait for the sidecars started after it': [
    { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '2' }), sidecar({ cpu: '500m' })] },
    { cpu: 2000, pods: 1 },
  ],
  'an init container with another restart policy is no sidecar': [
    {
      containers: [container({ cpu: '1' })],
      initContainers: [{ ...container({ cpu: '500m' }), restartPolicy: 'Never' }],
    },
    { cpu: 1000, pods: 1 },
  ],
  'the overhead of the runtime class is added': [
    { containers: [container({ cpu: '1' })], overhead: { cpu: '250m', memory: '1Ki' } },
    { cpu: 1250, memory: 1024, pods: 1 },
  ],
  'requests of the pod replace the sum, up or down': [
    { containers: [container({ cpu: '1', memory: '4Ki' })], resources: { requests: { cpu: '3', memory: '2Ki' } } },
    { cpu: 3000, memory: 2048, pods: 1 },
  ],
  'the overhead is added to the requests of the pod': [
    { containers: [container({ cpu: '1' })], resources: { requests: { cpu: '3' } }, overhead: { cpu: '250m' } },
    { cpu: 3250, pods: 1 },
  ],
  'requests of the pod may name huge pages': [
    { containers: [container({ cpu: '1' })], resources: { requests: { 'hugepages-2Mi': '4Mi' } } },
    { cpu: 1000, 'hugepages-2Mi': 2 ** 22, pods: 1 },
  ],
  'requests of the pod may not name other resources': [
    { containers: [container({ [GPU]: 1 })], resources: { requests: { [GPU]: 4, 'ephemeral-storage': '1Gi' } } },
    { [GPU]: 1, pods: 1 },
  ],
  'limits of the pod stand in where no container asks': [
    { containers: [container({ memory: '1Ki' })], resources: { limits: { cpu: '2', memory: '4Ki' } } },
    { cpu: 2000, memory: 1024, pods: 1 },
  ],
  'limits of the pod stand in for huge pages even where a container asks': [
    { containers: [container({ 'hugepages-2Mi': '2Mi' })], resources: { limits: { 'hugepages-2Mi': '4Mi' } } },
    { 'hugepages-2Mi': 2 ** 22, pods: 1 },
  ],
  'requests of the pod win over its limits': [
    { containers: [container({})], resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } },
    { cpu: 1000, pods: 1 },
  ],
  'a text that is not a valid quantity counts nothing':
    [{ containers: [container({ cpu: 'lots', memory: '1Ki' })] }, { memory: 1024, pods: 1 }],
  'nobody can ask for more than one place': [{ containers: [container({ pods: 5 })] }, { pods: 1 }],
};

describe('podRequests', () => {
  for (const [sentence, [spec, requests]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(podRequests(spec), new Map(Object.entries(requests))));
  }

  it('takes names of object properties for names of resources', () => {
    const requests = JSON.parse('{"__proto__": "2"}') as ResourceList;
    assert.equal(podRequests({ containers: [container(requests)] }).get('__proto__'), 2);
  });
});

describe('laws of pod requests', () => {
  const list = fc.dictionary(fc.constantFrom('cpu', 'memory', GPU), fc.integer({ min: 0, max: 1000 }), { maxKeys: 3 });
  const containers = fc.array(list, { minLength: 1, maxLength: 5 })
    .map((lists) => lists.map((requests) => container(requests)));
  const initContainers = fc.array(
    fc.tuple(list, fc.boolean()).map(([requests, isSidecar]) => (isSidecar ? sidecar(requests) : container(requests))),
    { maxLength: 4 },
  );

  it('the order of containers does not matter', () => {
    const shuffled =
      containers.chain((of) => fc.tuple(fc.constant(of), fc.shuffledSubarray(of, { minLength: of.length })));
    fc.assert(
      fc.property(shuffled, initContainers, ([before, after], init) => {
        assert.deepEqual(podRequests({ containers: before, initContainers: init }), podRequests(
          { containers: after, initContainers: init },
        ));
      }),
    );
  });

  it('every container fits in what its pod requests', () => {
    fc.assert(
      fc.property(containers, initContainers, (main, init) => {
        const total = podRequests({ containers: main, initContainers: init });
        for (const one of [...main, ...init]) {
          for (const [resource, amount] of podRequests({ containers: [one] })) {
            assert((total.get(resource) ?? 0) >= amount);
          }
        }
      }),
    );
  });

  it('without plain init containers, sidecars ask as containers do', () => {
    fc.assert(
      fc.property(containers, containers, (main, others) => {
        const asSidecars = others.map((one): Container => ({ ...one, restartPolicy: 'Always' }));
        assert.deepEqual(
          podRequests({ containers: main, initContainers: asSidecars }),
          podRequests({ containers: [...main, ...others] }),
        );
      }),
    );
  });
});

describe('requests of pods that share their resources', () => {
  const shared = (requests: ResourceList) => Object.freeze({ requests: Object.freeze(requests) });
  const sole = (resources: Container['resources'], more: Partial<PodSpec> = {}): PodSpec =>
    ({ containers: [{ name: 'main', ...(resources && { resources }) }], ...more });

  it('are computed once, and are those of a pod with its own', () => {
    const resources = shared({ cpu: '250m', memory: '1Ki' });
    assert.equal(podRequests(sole(resources)), podRequests(sole(resources)));
    assert.deepEqual(podRequests(sole(resources)), podRequests(sole({ requests: { cpu: '250m', memory: '1Ki' } })));
  });

  it('are not taken over by a pod that has more than them', () => {
    const resources = shared({ cpu: '1' });
    podRequests(sole(resources));
    const more: Partial<PodSpec>[] = [
      { overhead: { cpu: '1' } }, { initContainers: [container({ cpu: '2' })] },
      { resources: { requests: { cpu: '2' } } }, { containers: [{ name: 'a', resources }, { name: 'b', resources }] },
    ];
    for (const spec of more) assert.equal(podRequests(sole(resources, spec)).get('cpu'), 2_000);
  });

  it('are those of a pod without any where they are null, as a template leaves them', () => {
    const empty = { containers: [{ name: 'main', resources: null }] } as unknown as PodSpec;
    assert.deepEqual(podRequests(empty), podRequests({ containers: [{ name: 'main' }] }));
  });

  it('are those of a pod without any where they are a text: the API server says why it rejects the pod', () => {
    const misshapen = { containers: [{ name: 'main', resources: 'large' }] } as unknown as PodSpec;
    assert.deepEqual(podRequests(misshapen), podRequests({ containers: [{ name: 'main' }] }));
  });

  it('are computed anew for resources that may change', () => {
    const resources = { requests: { cpu: '1' } };
    assert.equal(podRequests(sole(resources)).get('cpu'), 1_000);
    resources.requests.cpu = '2';
    assert.equal(podRequests(sole(resources)).get('cpu'), 2_000);
  });
});
