import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELEGATE_FINALIZER } from '../../../../api/objects/keys.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { removeFinalizers } from '../../../../cli/clusters/own-objects.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

describe('removing our finalizers', () => {
  it('ends where each write is a conflict, as an admission webhook may answer', async () => {
    const object = { metadata: { namespace: 'web', name: 'a', finalizers: [DELEGATE_FINALIZER] }, spec: {} } as const;
    const cluster = new MemoryCluster([PODS, object]);
    let writes = 0;
    cluster.before = ({ method }) => {
      if (method !== 'PATCH') return undefined;
      writes += 1;
      return writes > 100 ? new ApiError(500, 'InternalError', 'too many') : new ApiError(409, 'Conflict', 'not now');
    };
    await assert.rejects(
      removeFinalizers(
        cluster.client, { type: PODS, object }, new Set([DELEGATE_FINALIZER]), new AbortController().signal,
      ),
      { message: 'not now' },
    );
  });
});
