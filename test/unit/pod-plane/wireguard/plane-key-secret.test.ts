// The Secret with the key of a cluster's pod plane, as gateways make and change it, whoever else does at the same time.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { SECRETS } from '../../../../api/resource-types.ts';
import { publicKeyOf } from '../../../../gateway/protocol/wireguard-keys.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { beginRotation, PLANE_KEY_SECRET, SPREAD_MS, toPlaneKeySecret } from '../../../../pod-plane/plan/plane-keys.ts';
import { newPrivateKey } from '../../../../pod-plane/wireguard/make-wireguard-key.ts';
import { keepPlaneKeys } from '../../../../pod-plane/wireguard/plane-key-secret.ts';
import { FakeCluster } from '../../../support/doubles/fake-cluster.ts';

const NAMESPACE = 'isthmus-system';
const NOW = Date.parse('2026-01-01T00:00:00Z');
const [KEY, NEXT] = [newPrivateKey(), newPrivateKey()];

let cluster: FakeCluster;

describe('the Secret of the key', () => {
  beforeEach(() => {
    cluster = new FakeCluster();
    mock.timers.enable({ apis: ['Date'], now: NOW });
  });
  afterEach(() => mock.timers.reset());

  const keys = (secret?: KubernetesObject, isKnown = true) =>
    keepPlaneKeys(cluster.client, NAMESPACE, { secret, isAnnounced: () => isKnown });

  it('is made where there is none, and not again by whoever comes second', async () => {
    cluster.put(SECRETS, toPlaneKeySecret(NAMESPACE, KEY));
    cluster.failures.push(new ApiError(409, 'AlreadyExists', 'secrets "isthmus-pod-plane" already exists'));
    assert.deepEqual((await keys()).publicKeys, [publicKeyOf(KEY)]);
    assert.deepEqual(cluster.takeWrites(), [`create secrets ${NAMESPACE}/${PLANE_KEY_SECRET}`]);
  });

  it('that holds no key is told of, and not overwritten', async () => {
    await assert.rejects(keys(toPlaneKeySecret(NAMESPACE, 'no key')), /holds no key of WireGuard .* delete it/);
    assert.deepEqual(cluster.takeWrites(), []);
  });

  it('waits again for as long while the broker has not told the others, as while it is down', async () => {
    const secret = toPlaneKeySecret(NAMESPACE, KEY);
    const begun = { ...secret, data: beginRotation(secret.data ?? {}, NEXT, NOW) ?? assert.fail() };
    mock.timers.tick(SPREAD_MS);
    const { privateKey, publicKeys, lookAgainMs } = await keys(begun, false);
    assert.deepEqual(
      [privateKey, publicKeys, lookAgainMs], [KEY, [KEY, NEXT].map(publicKeyOf), SPREAD_MS],
    );
    const { data } = (cluster.writes[0] ?? assert.fail()).body as { readonly data: Readonly<Record<string, string>> };
    mock.timers.tick(SPREAD_MS - 1);
    assert.equal((await keys({ ...secret, data } as KubernetesObject)).privateKey, KEY);
  });

  it('is changed by a step that is due, against what was read', async () => {
    const { data = {}, ...secret } = toPlaneKeySecret(NAMESPACE, KEY);
    const begun = {
      ...secret, data: beginRotation(data, NEXT, NOW) ?? assert.fail(),
      metadata: { ...secret.metadata, resourceVersion: '7' },
    };
    assert.equal((await keys(begun)).privateKey, KEY);
    assert.deepEqual(cluster.takeWrites(), []);
    mock.timers.tick(SPREAD_MS);
    assert.equal((await keys(begun)).privateKey, NEXT);
    const [{ body } = assert.fail()] = cluster.writes;
    assert.deepEqual((body as KubernetesObject).metadata, { resourceVersion: '7' });
    cluster.failures.push(new ApiError(409, 'Conflict', '-'));
    await assert.rejects(keys(begun), /-/, 'another gateway has taken the step');
  });
});
