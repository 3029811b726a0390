import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition, KubernetesObject, Lease, Node } from '../../../../api/objects/core.ts';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL } from '../../../../api/objects/keys.ts';
import type { PlacementPolicy } from '../../../../api/kinds/placement-policy.ts';
import type { ClustersetMember } from '../../../../api/kinds/gateway.ts';
import { clusterStatus, statusText } from '../../../../cli/doctor/cluster-status.ts';
import { diagnose, findingLines, hasErrors } from '../../../../cli/checks/doctor-checks.ts';
import {
  LEASES_OF_ADMIRALTY, storedKey, type DoctorFacts, type Finding, type ServerProbe, type TargetFacts,
} from '../../../../cli/checks/doctor-facts.ts';
import { printedFindings } from '../../../../cli/doctor/doctor.ts';
import { printedStatus } from '../../../../cli/doctor/status.ts';
import { customResourceDefinitions } from '../../../../manifests/objects/crds.ts';
import { rbacManifests } from '../../../../manifests/objects/rbac.ts';
import { virtualNodeName } from '../../../../model/naming/names.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();
const validity = (fromDays: number, untilDays: number) =>
  ({ fromMs: NOW + fromDays * DAY, untilMs: NOW + untilDays * DAY });
const look = (aheadMs = 0, certificate = validity(-30, 300)): ServerProbe =>
  ({ aheadMs, uncertainMs: 510, certificate });
const condition = (type: string, status: 'True' | 'False', reason = 'R', message = 'm'): Condition =>
  ({ type, status, reason, message, lastTransitionTime: iso(NOW) });
const nodeNamed = (name: string): Node => ({ metadata: { name } });
const lease = (component: string, spec: Lease['spec'] = {
  holderIdentity: 'replica-1', renewTime: iso(NOW - 2_000), leaseDurationSeconds: 15,
}): Lease => ({ metadata: { name: `isthmus-${component}` }, ...(spec && { spec }) });
const node = virtualNodeName({ kind: 'ClusterTarget', name: 'eu' });
const target = (
  change: Partial<TargetFacts> = {}, conditions: readonly Condition[] = [condition('Ready', 'True')],
): TargetFacts => ({
  name: 'eu', object: { metadata: { name: 'eu' }, spec: {}, status: { conditions, virtualNode: node } },
  token: validity(-0.1, 0.9),
  isRenewed: true, authorities: [validity(-30, 300)], server: look(), kubernetes: 'v1.36.3', ...change,
});
const { certificate } = (await createAuthority('webhook', 3_650, new Date(NOW))).keyPair;
const webhook = (bundle = certificate): NonNullable<DoctorFacts['webhook']> =>
  ({ metadata: {}, webhooks: [{ name: 'w', clientConfig: { caBundle: Buffer.from(bundle).toString('base64') } }] });
const stored = new Map<string, KubernetesObject>(
  [...customResourceDefinitions(), ...rbacManifests('isthmus-system')].map((object) => [storedKey(object), object]),
);
const without = (key: string) => new Map([...stored].filter(([one]) => one !== key));
const changed = (key: string, object: object) =>
  new Map([...stored].map(([one, before]) => [one, one === key ? { ...before, ...object } : before]));
/** What Admiralty's chart makes of the kind. */
const admiraltyChaperons = { spec: { names: { kind: 'PodChaperon' }, versions: [{ name: 'v1alpha1' }] } };
const member = (clusterID: string, more: object): ClustersetMember =>
  ({ metadata: { name: clusterID }, spec: { clusterID, ...more } });

/** Everything is well. */
const well: DoctorFacts = {
  installNamespace: 'isthmus-system', nowMs: NOW, version: '0.1.0',
  kubernetes: 'v1.36.3', server: look(), unread: [], stored, webhook: webhook(), probe: { kind: 'mutated' },
  leases: [lease('scheduler'), lease('delegate-controller'), { metadata: { name: 'somebody-elses' } }],
  deployments: [], targets: [target()], sources: [], virtualNodes: [nodeNamed(node)],
  electedPods: [], chaperons: [],
  secretCopies: [], members: [], leftBehind: [], joining: [], moves: [], discoveries: [],
  admiralty: { webhooks: [], leases: [] },
};
const bad = (facts: Partial<DoctorFacts>): readonly Finding[] =>
  diagnose({ ...well, ...facts }).filter(({ severity }) => severity !== 'ok');
const deployment = (image: string, components = 'scheduler'): KubernetesObject => ({
  metadata: { name: 'isthmus-scheduler' },
  spec: { template: { spec: { containers: [{ image, args: ['run', '--components', components] }] } } },
}) as KubernetesObject;
const ABANDONED = { holderIdentity: '', renewTime: iso(NOW - 1_000) };
const storedWithout = (names: RegExp) => new Map([...stored].filter(([key]) => !names.test(key)));
const moveFor = (seconds: number, createdAt: number): PlacementPolicy => ({
  metadata: {
    namespace: 'a', name: 'isthmus-move-x', creationTimestamp: iso(createdAt), labels: { [MOVE_LABEL]: 'true' },
    annotations: { [EXPIRES_AFTER_ANNOTATION]: String(seconds) },
  },
  spec: {},
});
const secretCopy = (ageMs: number, intact: boolean) => ({
  metadata: { namespace: 'a', name: 'password', creationTimestamp: iso(NOW - ageMs) },
  spec: { secretUID: 's', secretVersion: '1', parentUID: 'p', parentVersion: '1', intact },
});

describe('doctor', () => {
  it('finds nothing where all is well', () => {
    assert.deepEqual(bad({}), []);
    assert.equal(hasErrors(diagnose(well)), false);
  });

  const rows: readonly (readonly [what: string, facts: Partial<DoctorFacts>, finding: string, remedy: RegExp])[] = [
    [
      'a Kubernetes without admission policies', { kubernetes: 'v1.29.4', targets: [], virtualNodes: [] },
      'error Versions this cluster', /1\.30/,
    ],
    [
      'a target that is far behind', { targets: [target({ kubernetes: 'v1.31.0' })] }, 'warning Versions target eu',
      /Upgrade the older/,
    ],
    [
      'a Deployment of another version', { deployments: [deployment('registry.example/isthmus:0.0.9@sha256:abc')] },
      'warning Versions Deployment isthmus-scheduler', /same version/,
    ],
    [
      'an Admiralty that works in a source', { admiralty: { webhooks: ['admiralty'], leases: [] } },
      'error Admiralty this cluster', /isthmus migrate admiralty/,
    ],
    [
      'an Admiralty that works in a target',
      {
        admiralty: { webhooks: [], leases: ['admiralty/admiralty-controller-manager'] }, targets: [], virtualNodes: [],
      },
      'warning Admiralty this cluster', /isthmus migrate admiralty/,
    ],
    [
      'a kind that is not there', { stored: without('CustomResourceDefinition /secretcopies.isthmus.dev') },
      'error CRDs CustomResourceDefinition secretcopies.isthmus.dev', /isthmus install/,
    ],
    [
      'a kind of another version',
      { stored: changed('CustomResourceDefinition /secretcopies.isthmus.dev', { spec: { versions: [] } }) },
      'warning CRDs CustomResourceDefinition secretcopies.isthmus.dev', /isthmus install/,
    ],
    [
      'a role that is not there', { stored: without('ClusterRole /isthmus-source') },
      'error Permissions ClusterRole isthmus-source', /isthmus install/,
    ],
    [
      'a role that was widened', { stored: changed('ClusterRole /isthmus-source', { rules: [] }) },
      'warning Permissions ClusterRole isthmus-source', /isthmus install/,
    ],
    [
      'a binding to somebody else', { stored: changed('ClusterRoleBinding /isthmus-peering', { subjects: [] }) },
      'warning Permissions ClusterRoleBinding isthmus-peering', /isthmus install/,
    ],
    ['a cluster where nothing has ever run', { leases: [] }, 'error Components this cluster', /isthmus run/],
    [
      'a component that was given up',
      { leases: [lease('scheduler', ABANDONED)] }, 'error Components scheduler', /--components scheduler/,
    ],
    [
      'a component whose pods have never started',
      { leases: [lease('scheduler')], deployments: [deployment('isthmus:0.1.0', 'virtual-node,kubelet-api')] },
      'error Components virtual-node', /kubectl describe pods -n isthmus-system -l app\.kubernetes\.io\/name=/,
    ],
    [
      'a component that died',
      { leases: [lease('scheduler', { holderIdentity: 'r', leaseDurationSeconds: 15, renewTime: iso(NOW - 60_000) })] },
      'error Components scheduler', /--components scheduler/,
    ],
    [
      'a webhook that is not configured', { webhook: undefined }, 'error Webhook MutatingWebhookConfiguration isthmus',
      /isthmus install/,
    ],
    [
      'a webhook that never ran', { webhook: webhook('') }, 'error Webhook MutatingWebhookConfiguration isthmus',
      /Start the component webhook/,
    ],
    [
      'a webhook that cannot be reached', { probe: { kind: 'failed', message: 'connection refused' } },
      'error Webhook MutatingWebhookConfiguration isthmus', /firewalls/,
    ],
    [
      'a webhook that is passed by', { probe: { kind: 'bypassed', namespace: 'a' } },
      'error Webhook MutatingWebhookConfiguration isthmus', /isthmus install/,
    ],
    [
      'no namespace that opted in', { probe: { kind: 'not-opted-in' } },
      'warning Webhook MutatingWebhookConfiguration isthmus', /kubectl label namespace/,
    ],
    [
      'a certificate that ends soon', { server: look(0, validity(-360, 5)) },
      'warning Certificates certificate of this API server', /kubeadm/,
    ],
    [
      'a certificate that has ended', { targets: [target({ server: look(0, validity(-400, -1)) })] },
      'error Certificates certificate of the API server of target eu', /own tools/,
    ],
    [
      'a pinned authority that is not valid yet', { targets: [target({ authorities: [validity(1, 300)] })] },
      'error Certificates authority in the kubeconfig of target eu', /clocks/,
    ],
    ['a clock that is a little off', { targets: [target({ server: look(9_000) })] }, 'warning Clocks target eu', /NTP/],
    ['a clock that is far off', { targets: [target({ server: look(-120_000) })] }, 'error Clocks target eu', /NTP/],
    [
      'a target that is not Ready', { targets: [target({}, [condition('Ready', 'False', 'Unreachable')])] },
      'error Targets target eu', /isthmus unpeer eu --force/,
    ],
    [
      'a target whose credentials are refused',
      { targets: [target({}, [condition('Ready', 'False', 'Unauthorized')])] }, 'error Targets target eu', /join again/,
    ],
    [
      'a target that has just revoked the credentials', { targets: [target({ isUnauthorized: true })] },
      'error Targets target eu', /join again/,
    ],
    [
      'a target that answers, and whose object is wrong',
      { targets: [target({}, [condition('Ready', 'False', 'DuplicateCluster')])], virtualNodes: [] },
      'error Targets target eu', /^Do what the message says/,
    ],
    [
      'a target that takes permissions away', { targets: [target({}, [condition('Ready', 'False', 'Forbidden')])] },
      'error Targets target eu', /isthmus install" in the target/,
    ],
    [
      'a target that nobody looks at', { targets: [target({}, [])] }, 'error Targets target eu',
      /component virtual-node/,
    ],
    [
      'a target without its kubeconfig', { targets: [target({ problem: 'its kubeconfig is not there' })] },
      'error Targets target eu', /Peer again/,
    ],
    [
      'a token that has ended', { targets: [target({ token: validity(-2, -1) })] },
      'error Credentials token of target eu', /join again/,
    ],
    [
      'a token that nobody renews', { targets: [target({ token: validity(-0.9, 0.1) })] },
      'warning Credentials token of target eu', /component peering/,
    ],
    [
      'a token that nobody is to renew', { targets: [target({ token: validity(-0.9, 0.1), isRenewed: false })] },
      'warning Credentials token of target eu', /write a new kubeconfig/,
    ],
    [
      'a source without an identity', { sources: [{ metadata: { name: 'berlin' }, spec: {} }] },
      'error Sources ClusterSource berlin', /component peering/,
    ],
    [
      'a source that names nobody',
      {
        sources: [{
          metadata: { namespace: 'a', name: 'b' }, spec: {},
          status: { conditions: [condition('Ready', 'False', 'NoIdentity')] },
        }],
      },
      'error Sources Source a/b', /Correct its spec/,
    ],
    [
      'a source that nothing keeps from others',
      {
        sources: [{
          metadata: { name: 'berlin' }, spec: {},
          status: { conditions: [condition('Ready', 'True'), condition('Guarded', 'False', 'ClusterUnknown')] },
        }],
      },
      'warning Sources ClusterSource berlin', /spec\.clusterID/,
    ],
    [
      'pods of two members with the same addresses',
      { members: [member('a', { clusterCIDR: ['10.1.0.0/16'] }), member('b', { clusterCIDR: ['10.1.128.0/17'] })] },
      'error CIDRs a and b', /global ranges/,
    ],
    [
      'Services that overlap with pods',
      {
        members: [member('a', { serviceCIDR: ['10.1.0.0/16'] }), member(
          'b', { clusterCIDR: ['10.0.0.0/8'], globalCIDR: ['242.0.0.0/16'] },
        )],
      },
      'error CIDRs a and b', /other ranges/,
    ],
    [
      'a virtual node without a target', { virtualNodes: [nodeNamed(node), nodeNamed('admiralty-gone')] },
      'warning Drift Node admiralty-gone', /kubectl delete node admiralty-gone/,
    ],
    [
      'a target whose virtual node was deleted', { virtualNodes: [] }, 'error Drift target eu',
      /component virtual-node/,
    ],
    [
      'what a target keeps that was left by force',
      {
        leftBehind: [
          {
            metadata: { namespace: 'isthmus-system', name: 'isthmus-left-behind-us' },
            data: { remains: 'ClusterSource us' },
          } as KubernetesObject,
        ],
      },
      'warning Drift ConfigMap isthmus-left-behind-us', /kubectl delete configmap/,
    ],
    [
      'joining that was broken off', { joining: ['us', 'eu'] }, 'warning Drift target us',
      /isthmus join.*isthmus unpeer us/,
    ],
    [
      'a move that was broken off',
      {
        moves:
          [{ metadata: { namespace: 'a', name: 'isthmus-move-x', creationTimestamp: iso(NOW - 3_600_000) }, spec: {} }],
      },
      'warning Drift PlacementPolicy a/isthmus-move-x', /kubectl delete placementpolicy/,
    ],
    [
      'a move that was broken off, and that the scheduler has not ended', { moves: [moveFor(600, NOW - 700_000)] },
      'warning Drift PlacementPolicy a/isthmus-move-x', /kubectl delete placementpolicy/,
    ],
    [
      'a copy that somebody changed', { secretCopies: [secretCopy(600_000, false)] }, 'warning Drift Secret a/password',
      /corrects it/,
    ],
  ];
  for (const [what, facts, expected, remedy] of rows) {
    it(`C2-43: finds ${what}, alone, and says what to do`, () => {
      const found = bad(facts);
      assert.deepEqual(found.map(({ severity, check, subject }) => `${severity} ${check} ${subject}`), [expected]);
      assert.match(found[0]?.remedy ?? '', remedy);
    });
  }

  it('says what may not be read once, and which checks that leaves open', () => {
    const unread = ['secrets', 'leases', LEASES_OF_ADMIRALTY, 'clustersetmembers']
      .map((what) => ({ what, message: 'forbidden', isForbidden: true }));
    const found = bad({ unread, leases: [] });
    assert.deepEqual(found.map(({ severity, check, subject }) => `${severity} ${check} ${subject}`), [
      'unknown Access secrets, leases, leases of Admiralty, clustersetmembers', 'unknown Admiralty this cluster',
      'unknown Components this cluster', 'unknown Credentials this cluster', 'unknown CIDRs this cluster',
      'unknown Drift this cluster',
    ]);
    assert.match(found[0]?.remedy ?? '', /administrator/);
    assert.equal(hasErrors(found), true);
  });

  const fine: readonly (readonly [string, Partial<DoctorFacts>])[] = [
    ['a clock within what a date in seconds can tell', { targets: [target({ server: look(5_400) })] }],
    ['clocks that are wrong together', { server: look(3_000), targets: [target({ server: look(3_500) })] }],
    [
      "Admiralty's definition of PodChaperons",
      { stored: changed('CustomResourceDefinition /podchaperons.multicluster.admiralty.io', admiraltyChaperons) },
    ],
    ['a target three versions behind', { targets: [target({ kubernetes: 'v1.33.0' })] }],
    ['an image of this very version', { deployments: [deployment('registry.example:5000/isthmus:v0.1.0')] }],
    ['a cluster without targets, which needs no webhook', {
      targets: [], virtualNodes: [], webhook: undefined, probe: { kind: 'not-opted-in' },
    }],
    ['a component that the chart leaves out', {
      stored: storedWithout(/isthmus-discovery|isthmus-system-targets/),
      leases: [lease('scheduler'), lease('discovery', ABANDONED)],
    }],
    ['a cluster that gives sources no identities', {
      stored: storedWithout(/isthmus-peering|isthmus-invitations|isthmus-system-keys\/isthmus-invitation/),
      leases: [lease('scheduler'), lease('peering', ABANDONED)],
    }],
    ['a Lease of peering where it has come to run beside others', {
      deployments: [deployment('isthmus:0.1.0', 'webhook,scheduler,peering')],
      leases: [lease('scheduler'), lease('peering', ABANDONED)],
    }],
    ['an image that a digest names', { deployments: [deployment('registry.example/isthmus@sha256:abc')] }],
    ['a token in the last third of its life, which may wait for its target', {
      targets: [target({ token: validity(-0.7, 0.3) })],
    }],
    ['overlapping pods that have addresses of their own', {
      members: [member('a', { clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.0.0.0/16'] }), member(
        'b', { clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.1.0.0/16'] },
      )],
    }],
    ['a long move that the scheduler will end', { moves: [moveFor(7_200, NOW - 3_600_000)] }],
    ['a move under way', { moves: [{ metadata: { creationTimestamp: iso(NOW - 1_000) }, spec: {} }] }],
    ['a copy that was changed this moment', { secretCopies: [secretCopy(1_000, false), secretCopy(600_000, true)] }],
    ['a lease by the clock of a cluster that is behind', {
      server: look(-4_000), targets: [], virtualNodes: [],
      leases: [lease('scheduler', { holderIdentity: 'r', leaseDurationSeconds: 15, renewTime: iso(NOW - 47_000) })],
    }],
  ];
  for (const [what, facts] of fine) it(`takes no offence at ${what}`, () => assert.deepEqual(bad(facts), []));

  it('names a remedy for everything that is not well', () => {
    for (const [, facts] of rows) {
      for (const { remedy } of bad(facts)) assert.ok(remedy !== undefined && remedy.length > 10);
    }
  });

  it('shows what is well by one line for each check, and all of it when asked', () => {
    const findings = diagnose({ ...well, joining: ['us'] });
    const [brief, wide] = [findingLines(findings, false), findingLines(findings, true)];
    assert.match(brief, /^✓ Versions\n✓ Admiralty\n✓ CRDs\n/);
    assert.match(brief, /! Drift: target us: joining it was interrupted\n {4}Run "isthmus join"/);
    assert.match(wide, /✓ Components: scheduler: replica-1 is the leader/);
  });

  it('tells programs the same', () => {
    const findings = diagnose({ ...well, joining: ['us'] });
    assert.deepEqual((JSON.parse(printedFindings(findings, 'json')) as { findings: unknown }).findings, JSON.parse(
      JSON.stringify(findings),
    ));
    assert.match(printedFindings(findings, 'yaml'), /^findings:\n {2}- check: Versions/);
    assert.equal(printedFindings(findings, 'name'), 'Drift/target us');
  });
});

describe('status', () => {
  const facts: DoctorFacts = {
    ...well,
    targets: [target(), target(
      {
        name: 'team/us',
        object: {
          metadata: { namespace: 'team', name: 'us' }, spec: {},
          status: { conditions: [condition('Ready', 'False', 'Unreachable', 'no answer')] },
        } as never,
      },
    )],
    sources: [
      { metadata: { name: 'berlin' }, spec: { clusterID: 'c' }, status: { conditions: [condition('Ready', 'True')] } },
    ],
    chaperons: [{ metadata: { labels: { 'multicluster.admiralty.io/parent-cluster-name': 'c' } } }, { metadata: {} }],
    electedPods: [
      {
        metadata: { annotations: { 'multicluster.admiralty.io/target': 'ClusterTarget/eu' } }, spec: { containers: [] },
        status: { phase: 'Running' },
      },
      { metadata: {}, spec: { containers: [] } },
    ],
  };
  const status = clusterStatus(facts);

  it('counts pods by their phase, their target and their source', () => {
    assert.deepEqual(status.electedPods, { Pending: 1, Running: 1 });
    assert.deepEqual(
      status.targets.map(({ name, ready, pods }) => [name, ready, pods]), [['eu', true, 1], ['team/us', false, 0]],
    );
    assert.deepEqual(status.sources.map(({ name, ready, pods }) => [name, ready, pods]), [['berlin', true, 1]]);
    assert.deepEqual(status.problems, { errors: 1, warnings: 0 });
  });

  it('shows a cordoned target as one that takes no pods', () => {
    const virtualNodes = [{ metadata: { name: node }, spec: { unschedulable: true } }];
    const [eu] = clusterStatus({ ...facts, virtualNodes }).targets;
    assert.equal(eu?.cordoned, true);
    assert.match(statusText(clusterStatus({ ...facts, virtualNodes }), false), /^eu +Ready,SchedulingDisabled +1/m);
  });

  it('says why something is not Ready, and where to look', () => {
    const text = statusText(status, false);
    assert.match(text, /^Isthmus 0\.1\.0, Kubernetes v1\.36\.3\n/);
    assert.match(text, /team\/us +NotReady +0 +no answer/);
    assert.match(text, /elected pods: 1 Pending, 1 Running/);
    assert.match(text, /1 errors, 0 warnings: run "isthmus doctor"\.$/);
    assert.match(statusText(status, true), /eu +Ready +1 +m/);
  });

  it('does not know the pods of what could not be read', () => {
    const unread = (what: string) => statusText({ ...status, unread: [what] }, false);
    assert.match(unread('podchaperons'), /^eu +Ready +1 [^]*^berlin +Ready +<unknown> /m);
    assert.match(unread('pods'), /^eu +Ready +<unknown> [^]*^berlin +Ready +1 /m);
  });

  it('does not know the pods of what could not be read', () => {
    const unread = (what: string) => statusText({ ...status, unread: [what] }, false);
    assert.match(unread('podchaperons'), /^eu +Ready +1 [^]*^berlin +Ready +<unknown> /m);
    assert.match(unread('pods'), /^eu +Ready +<unknown> [^]*^berlin +Ready +1 /m);
  });

  it('tells programs the same', () => {
    assert.deepEqual(JSON.parse(printedStatus(status, 'json')), JSON.parse(JSON.stringify(status)));
    assert.match(printedStatus(status, 'yaml'), /^version: 0\.1\.0/);
    assert.equal(printedStatus(status, 'name'), 'target/team/us');
  });
});
