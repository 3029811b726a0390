import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findAdmiralty, type Deployment } from '../../../../cli/migrate/admiralty-installation.ts';

const env = (more: Readonly<Record<string, string>>) => Object.entries(more).map(([name, value]) => ({ name, value }));
const deployment = (name: string, labels: Readonly<Record<string, string>>, container: object): Deployment => ({
  metadata: { namespace: 'ns', name },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
});
const VARIABLES = env({
  CLUSTER_NAME: 'hub', SOURCE_CLUSTER_ROLE_NAME: 'mc-admiralty-source',
  CLUSTER_SUMMARY_VIEWER_CLUSTER_ROLE_NAME: 'mc-admiralty-cluster-summary-viewer',
});

describe('an installation of Admiralty', () => {
  const rows: Record<string, readonly [deployments: readonly Deployment[], components: readonly string[]]> = {
    'of 0.17 is known by the label of its chart': [
      [deployment(
        'mc-admiralty-controller-manager', { component: 'controller-manager', 'app.kubernetes.io/name': 'admiralty' },
        { env: VARIABLES },
      )],
      ['controller-manager'],
    ],
    'of 0.15 is known by the label of its chart': [
      [deployment(
        'a-multicluster-scheduler-restarter',
        { component: 'restarter', 'app.kubernetes.io/name': 'multicluster-scheduler' }, {},
      )],
      ['restarter'],
    ],
    'with another name for everything is known by its image': [
      [deployment(
        'x', { component: 'proxy-scheduler', 'app.kubernetes.io/name': 'x' },
        { image: 'public.ecr.aws/admiralty/admiralty-scheduler:0.17.0' },
      )],
      ['proxy-scheduler'],
    ],
    'with another name and a mirrored image is known by its variables': [
      [deployment('x', { component: 'controller-manager' }, { image: 'mirror/agent:1', env: VARIABLES })],
      ['controller-manager'],
    ],
    'is not seen in somebody else\'s controller-manager': [
      [deployment(
        'kube', { component: 'controller-manager' }, { image: 'registry.k8s.io/kube-controller-manager:v1' },
      )],
      [],
    ],
  };
  for (const [sentence, [deployments, components]] of Object.entries(rows)) {
    it(sentence, () => assert.deepEqual([...(findAdmiralty(deployments, [])?.deployments.keys() ?? [])], components));
  }

  it('says by which names its controller gives permissions, and what the cluster is called', () => {
    const found = findAdmiralty(
      [deployment(
        'x-controller-manager', { component: 'controller-manager', 'app.kubernetes.io/name': 'admiralty' },
        { env: VARIABLES },
      )],
      [],
    );
    assert.deepEqual([found?.sourceRole, found?.summaryViewerRole, found?.clusterName], [
      'mc-admiralty-source', 'mc-admiralty-cluster-summary-viewer', 'hub',
    ]);
  });

  it('has names that follow from its release where it does not say them', () => {
    const found = findAdmiralty(
      [deployment(
        'rel-controller-manager', { component: 'controller-manager', 'app.kubernetes.io/name': 'admiralty' }, {},
      )],
      [],
    );
    assert.deepEqual([found?.sourceRole, found?.clusterName], ['rel-source', '']);
  });
});
