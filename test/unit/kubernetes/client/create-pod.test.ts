import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../../../api/objects/core.ts';
import { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { createPod, optionalFieldsOf } from '../../../../kubernetes/client/create-pod.ts';
import type { Call, Transport } from '../../../../kubernetes/http/transport.ts';
import { OPTIONAL_FIELDS } from '../../../support/objects/optional-fields.ts';

const signal = AbortSignal.timeout(60_000);
const containers = [{ name: 'main', image: 'i' }];

/** A client of an API server that stores of each pod what `stored` makes of it. */
function clientOf(stored: (pod: Pod) => Pod): { readonly client: ClusterClient; readonly calls: readonly Call[] } {
  const calls: Call[] = [];
  const call = async (each: Call): Promise<unknown> => {
    calls.push(each);
    return stored(each.body as Pod);
  };
  return { client: new ClusterClient({ call } as unknown as Transport), calls };
}

const plain = ({ metadata, spec }: Pod): Pod => (
  { metadata, spec: { containers: spec.containers.map(({ name, image = '' }) => ({ name, image })) } }
);
const podWith = (spec: PodSpec): Pod => ({ metadata: { namespace: 'a', name: 'p' }, spec });

describe('createPod', () => {
  for (const [field, spec] of Object.entries(OPTIONAL_FIELDS)) {
    it(`creates no pod whose ${field} the API server would drop, and names it`, async () => {
      const { client, calls } = clientOf(plain);
      await assert.rejects(createPod(client, podWith(spec), signal), ({ status, message }) =>
        status === 422 && message.includes(field));
      assert.deepEqual(calls.map(({ query }) => query), [{ dryRun: 'All' }]);
    });

    it(`creates a pod whose ${field} the API server keeps`, async () => {
      const { client, calls } = clientOf((pod) => pod);
      await createPod(client, podWith(spec), signal);
      assert.deepEqual(calls.map(({ query }) => query?.['dryRun']), ['All', undefined]);
    });
  }

  it('asks once for a pod without such fields', async () => {
    const { client, calls } = clientOf(plain);
    await createPod(client, podWith({ containers, hostNetwork: false }), signal);
    assert.deepEqual(calls.map(({ method, query }) => [method, query?.['dryRun']]), [['POST', undefined]]);
  });

  it('throws what the trial is denied with', async () => {
    const denied = new Error('denied by a policy');
    const { client } = clientOf(() => {
      throw denied;
    });
    await assert.rejects(createPod(client, podWith({ containers, hostnameOverride: 'h' }), signal), denied);
  });
});

describe('optionalFieldsOf', () => {
  it('has none of what every supported version keeps, nor of defaults', () => {
    const spec = {
      containers: [{ name: 'main', securityContext: { procMount: 'Default' }, lifecycle: { preStop: {} } }],
      initContainers: [{ name: 'sidecar', restartPolicy: 'Always' }], hostUsers: true, resources: {},
      resourceClaims: [], securityContext: { supplementalGroupsPolicy: 'Merge' }, restartPolicy: 'Never',
      volumes: [{ name: 'data', emptyDir: {} }, { name: 'all', projected: { sources: [{ secret: { name: 's' } }] } }],
    };
    assert.deepEqual(optionalFieldsOf(spec), []);
  });

  it('has none that is null, as in a pod that no API server has printed', () => {
    const spec = {
      containers: [{ name: 'main', securityContext: null, lifecycle: { stopSignal: null } }], initContainers: null,
      hostUsers: null, resources: null, resourceClaims: null, hostnameOverride: null, securityContext: null,
      volumes: [{ name: 'data', image: null, projected: { sources: null } }],
    };
    assert.deepEqual(optionalFieldsOf(spec as unknown as PodSpec), []);
  });

  it('has the restart rules of a container, which some versions drop and others deny', () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const main = { name: 'main', restartPolicy: 'Never', restartPolicyRules: [rule] };
    assert.deepEqual(optionalFieldsOf({ containers: [main] }), ['restartPolicyRules of container main']);
  });

  it('has those of init containers', () => {
    const initContainers = [{ name: 'first', lifecycle: { stopSignal: 'SIGINT' } }];
    assert.deepEqual(optionalFieldsOf({ containers, initContainers }), ['lifecycle.stopSignal of container first']);
  });
});
