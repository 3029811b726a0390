// By whose rules the kubeconfig of a target is read: an administrator's only where no tenant can have written it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TargetRef } from '../../../model/naming/target-ref.ts';
import { kubeconfigSecretRef, readTargetConnection } from '../../../targets/access/target-kubeconfig.ts';

const INSTALL = 'isthmus-system';
const CLUSTER_TARGET: TargetRef = { kind: 'ClusterTarget', name: 'c' };
const TARGET: TargetRef = { kind: 'Target', namespace: 'team-a', name: 'own' };
const secretRef = (ref: TargetRef, namespace?: string) =>
  kubeconfigSecretRef(ref, { kubeconfigSecret: { name: 's', ...(namespace !== undefined && { namespace }) } }, INSTALL);

const user = {
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'aws', interactiveMode: 'Never' },
};
const data = Buffer.from(JSON.stringify({
  'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster: { server: 'https://api.example', 'proxy-url': 'http://proxy:3128' } }],
  users: [{ name: 'u', user }],
})).toString('base64');
const access = { execPlugins: ['aws'], execEnvironment: [], tokenFolders: [], environment: {} };

describe('the kubeconfig of a target', () => {
  const cases: Record<string, readonly [secretRef: ReturnType<typeof secretRef>, author: string]> = {
    'of a ClusterTarget': [secretRef(CLUSTER_TARGET), 'cluster-target'],
    'of a ClusterTarget that names the install namespace': [secretRef(CLUSTER_TARGET, INSTALL), 'cluster-target'],
    'of a ClusterTarget in the namespace of a team, who may write it': [secretRef(CLUSTER_TARGET, 'team-a'), 'tenant'],
    'of a Target': [secretRef(TARGET), 'tenant'],
    'of a Target that names the install namespace, which is not looked at': [secretRef(TARGET, INSTALL), 'tenant'],
    'of a Target in the install namespace': [secretRef({ ...TARGET, namespace: INSTALL }), 'tenant'],
  };
  for (const [whose, [found, author]] of Object.entries(cases)) {
    it(`${whose} is read by the rules for a ${author}`, async () => {
      assert.equal(found?.author, author);
      const opening = readTargetConnection(data, found, { gateway: undefined, endpoints: [], access });
      if (author === 'cluster-target') {
        const { credentials, proxy } = await opening;
        assert.deepEqual([credentials.kind, proxy?.host], ['exec', 'proxy:3128']);
      } else await assert.rejects(opening, {
        code: 'KubeconfigRefused',
        message:
          /uses proxy-url, exec, which is not allowed in a Secret.*make a ClusterTarget .* in the install namespace$/,
      });
    });
  }

  it('has no secretRef where the spec names none', () => {
    assert.equal(kubeconfigSecretRef(CLUSTER_TARGET, { self: true }, INSTALL), undefined);
  });
});
