// Signs of Admiralty in a cluster: what may not be read is never taken for absent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { detectAdmiralty, readAdmiraltyLeases } from '../../../../targets/admiralty/admiralty-detection.ts';

type Answers = Readonly<Record<string, readonly object[] | number>>;

const NEVER = new AbortController().signal;
const WEBHOOK = {
  metadata: { name: 'mc' }, webhooks: [{ name: 'mc.multicluster.admiralty.io', clientConfig: {} }],
};
const LEASE = {
  metadata: { namespace: 'admiralty', name: 'admiralty-controller-manager' },
  spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 3_600, renewTime: new Date().toISOString() },
};

/** Lists these objects by plural; a number is the status of a rejection. */
function cluster(answers: Answers): ClusterClient {
  const list = (
    { plural }: ResourceType, { fieldSelector }: { readonly fieldSelector?: string },
  ): Promise<readonly KubernetesObject[]> => {
    const answer = answers[plural] ?? [];
    if (typeof answer === 'number') {
      return Promise.reject(new ApiError(answer, '', `${plural}: HTTP ${answer}`));
    }
    return Promise.resolve((answer as readonly KubernetesObject[]).filter(
      ({ metadata }) => fieldSelector === undefined || fieldSelector === `metadata.name=${metadata.name}`,
    ));
  };
  return { list } as unknown as ClusterClient;
}

describe('signs of Admiralty', () => {
  const detected = (answers: Answers) => detectAdmiralty(cluster(answers), NEVER);

  it('are its webhook and the Leases that it renews', async () => {
    assert.deepEqual(await detected({ mutatingwebhookconfigurations: [WEBHOOK], leases: [LEASE] }), {
      webhooks: ['mc'], leases: ['admiralty/admiralty-controller-manager'],
    });
  });

  it('are none where there is nothing, or the kind is not served', async () => {
    const none = { webhooks: [], leases: [] };
    assert.deepEqual(await detected({}), none);
    assert.deepEqual(await detected({ mutatingwebhookconfigurations: 404, leases: 404 }), none);
  });

  for (const plural of ['mutatingwebhookconfigurations', 'leases']) {
    it(`are unknown where ${plural} may not be read`, () =>
      assert.rejects(detected({ [plural]: 403 }), { status: 403, message: `${plural}: HTTP 403` }));
  }

  it('nobody is taken to have stopped renewing a Lease that may not be read', () =>
    assert.rejects(readAdmiraltyLeases(cluster({ leases: 403 }), [LEASE.metadata.name], NEVER), { status: 403 }));
});
