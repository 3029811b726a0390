import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secretOf } from '../../../../cli/migrate/migrate-targets.ts';

describe('the kubeconfig Secret of a target of Admiralty', () => {
  it('is in the namespace of a Target, and in the one that a ClusterTarget says', () => {
    assert.deepEqual(
      secretOf(
        { metadata: { namespace: 'team', name: 'own' }, spec: { kubeconfigSecret: { name: 'k' } } }, 'isthmus-system',
      ),
      { namespace: 'team', name: 'k' },
    );
    assert.deepEqual(
      secretOf(
        { metadata: { name: 'far' }, spec: { kubeconfigSecret: { name: 'k', namespace: 'admiralty' } } },
        'isthmus-system',
      ),
      { namespace: 'admiralty', name: 'k' },
    );
  });

  it('is in the install namespace where a ClusterTarget says none, and nowhere for the cluster itself', () => {
    assert.deepEqual(
      secretOf({ metadata: { name: 'far' }, spec: { kubeconfigSecret: { name: 'k' } } }, 'isthmus-system'),
      { namespace: 'isthmus-system', name: 'k' },
    );
    assert.equal(secretOf({ metadata: { name: 'here' }, spec: { self: true } }, 'isthmus-system'), undefined);
  });
});
