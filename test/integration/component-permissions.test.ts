// What components may not do, asked of real API servers: in a cluster of each role none of them has a right that its
// code there does not use, and peering, which gives permissions to others, cannot give itself more. Nor does a tenant's
// Target lead them to where it has no business.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ClusterSource } from '../../api/kinds/cluster-source.ts';
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { Condition, KubernetesObject, Secret } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { DISCOVERED_BY_LABEL } from '../../api/objects/keys.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, FLOW_SCHEMAS, NAMESPACES, ROLE_BINDINGS,
  ROLES, SECRETS, SERVICE_ACCOUNTS, SUBJECT_ACCESS_REVIEWS, TARGETS,
} from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { installInto } from '../../cli/install/install.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { CANNOT_BE_REACHED } from '../../kubernetes/connect/connection-limits.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { COMPONENT_ACCOUNTS } from '../../manifests/objects/component-permissions.ts';
import { DISCOVERY_POLICY, PEERING_POLICY, PEERING_TOKEN_POLICY } from '../../model/access/component-accounts.ts';
import { LEASE_FLOW, SOURCE_LEASE_FLOW } from '../../manifests/objects/flow-control.ts';
import { startSources } from '../../peering/identity/source-controller.ts';
import { tokenKubeconfig } from '../../peering/access/target-access.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { RunningCommand } from '../support/processes/command-line.ts';
import { certificatesOfLoopback, HostileServer, tenantKubeconfig } from '../support/attackers/hostile-api-server.ts';
import { RawApiClient } from '../support/attackers/raw-api-client.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
const keys = 'isthmus-system-keys';
const discovered = 'isthmus-system-targets';
const stopped = new AbortController();
const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(230_000)]);
const quiet = { tell: () => undefined, signal };
const patience = { forMs: 30_000, everyMs: 50 };

let sandbox: Sandbox;
let source: OpenCluster;
let target: OpenCluster;
let peering: ClusterClient;
const opened: ClusterClient[] = [];

before(async () => {
  sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-rights-')), targets: 1, nodes: 0, gpus: 0, audit: false }, signal,
  );
  [source, target] = (await Promise.all(
    sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
  )) as [OpenCluster, OpenCluster];
  // the permissions of a target go with the next line
  await installInto(source.client, { installNamespace, role: 'both' }, quiet);
  await installInto(source.client, { installNamespace, role: 'source' }, quiet);
  await installInto(target.client, { installNamespace, role: 'target' }, quiet);
  for (const name of ['team-a', discovered]) await target.client.create(NAMESPACES, { metadata: { name } });
  peering = await clientAs(target, { namespace: installNamespace, name: 'isthmus-peering' });
});

after(async () => {
  stopped.abort();
  await Promise.all(
    [...[source, target].map((cluster) => cluster?.client), ...opened].map((client) => client?.transport.close()),
  );
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir); // fails when the sandbox left something in it
});

async function clientAs(
  { client, connection }: OpenCluster, account: { readonly namespace: string; readonly name: string },
): Promise<ClusterClient> {
  const { token } = await requestToken(client, { ...account, seconds: 3_600 }, signal);
  const text = tokenKubeconfig({
    server: connection.server.href, certificateAuthority: connection.certificateAuthority, token, cluster: 'c',
    user: 'u',
  });
  const opens =
    new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test'));
  opened.push(opens);
  return opens;
}

/** `authorization.k8s.io/v1` ResourceAttributes, and what they would be good for. */
const ESCALATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'read the key of invitations':
    { verb: 'get', resource: 'secrets', namespace: keys, name: 'isthmus-invitation-key' },
  'read the keys of the webhook':
    { verb: 'get', resource: 'secrets', namespace: keys, name: 'isthmus-webhook-certificates' },
  'watch the keys of the webhook':
    { verb: 'watch', resource: 'secrets', namespace: keys, name: 'isthmus-webhook-certificates' },
  'list keys': { verb: 'list', resource: 'secrets', namespace: keys },
  'watch keys': { verb: 'watch', resource: 'secrets', namespace: keys },
  'replace the key of invitations':
    { verb: 'patch', resource: 'secrets', namespace: keys, name: 'isthmus-invitation-key' },
  'make Secrets beside the keys': { verb: 'create', resource: 'secrets', namespace: keys },
  'make Secrets in the install namespace': { verb: 'create', resource: 'secrets', namespace: installNamespace },
  'list the Secrets of a namespace': { verb: 'list', resource: 'secrets', namespace: 'team-a' },
  'write Secrets': { verb: 'patch', resource: 'secrets', namespace: 'team-a' },
  'make pods in kube-system': { verb: 'create', resource: 'pods', namespace: 'kube-system' },
  'make Deployments': { verb: 'create', group: 'apps', resource: 'deployments', namespace: 'kube-system' },
  'run a command in a pod': { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'team-a' },
  'bind roles': { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' },
  'bind cluster-admin':
    { verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name: 'cluster-admin' },
  'escalate roles': { verb: 'escalate', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  'impersonate users': { verb: 'impersonate', resource: 'users' },
  'impersonate ServiceAccounts': { verb: 'impersonate', resource: 'serviceaccounts', namespace: 'kube-system' },
  'ask for tokens in kube-system':
    { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'kube-system' },
  'ask for tokens of components':
    { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: installNamespace },
  'change webhooks of others': {
    verb: 'patch', group: 'admissionregistration.k8s.io', resource: 'mutatingwebhookconfigurations', name: 'of-others',
  },
  'make webhooks':
    { verb: 'create', group: 'admissionregistration.k8s.io', resource: 'validatingwebhookconfigurations' },
  'change admission policies':
    { verb: 'patch', group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
  'remove admission policies':
    { verb: 'delete', group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
  'reach kubelets': { verb: 'get', resource: 'nodes', subresource: 'proxy' },
  'approve certificates':
    { verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests', subresource: 'approval' },
  'change kinds': { verb: 'patch', group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
  'change namespaces': { verb: 'patch', resource: 'namespaces' },
};

const ALL_SECRETS = [
  'read the key of invitations', 'read the keys of the webhook', 'watch the keys of the webhook', 'list keys',
  'watch keys', 'list the Secrets of a namespace',
];
/** Without `get`: it lists what sources wrote. */
const ALL_SECRETS_LISTED = ALL_SECRETS.filter((what) => !what.startsWith('read'));

/**
 * What is theirs to do: the owner of a key reads it; the delegate controller makes the pods of sources, and reads the
 * Secrets of the cluster, for elected pods may name any.
 */
const GRANTED: Readonly<Record<'source' | 'target', Readonly<Record<string, readonly string[]>>>> = {
  source: {
    'isthmus-webhook':
      ['read the keys of the webhook', 'watch the keys of the webhook', 'make Secrets beside the keys'],
    'isthmus-delegate-controller': ALL_SECRETS,
  },
  target: {
    // the last to give it to sources, for their own delegates
    'isthmus-delegate-controller': [...ALL_SECRETS_LISTED, 'make pods in kube-system', 'run a command in a pod'],
    'isthmus-peering': ['read the key of invitations', 'bind roles'],
  },
};

describe('what would be a way to more permissions', () => {
  for (const role of ['source', 'target'] as const) {
    for (const component of COMPONENT_ACCOUNTS) {
      it(`is not open to ${component} in a ${role}${GRANTED[role][component] === undefined ? '' : `, but for: ${GRANTED[role][component]?.join(', ')}`}`,
        async () => {
        const { client } = role === 'source' ? source : target;
        const user = `system:serviceaccount:${installNamespace}:${component}`;
        const mays = await Promise.all(Object.entries(ESCALATIONS).map(async ([what, resourceAttributes]) => {
          const review = {
            metadata: {},
            spec: { user, groups: ['system:authenticated', 'system:serviceaccounts'], resourceAttributes },
          } as unknown as KubernetesObject;
          const { status } = (await client.create(SUBJECT_ACCESS_REVIEWS, review, signal)) as {
            readonly status?: { readonly allowed: boolean }
          };
          return status?.allowed === true ? [what] : [];
        }));
        assert.deepEqual(mays.flat().toSorted(), [...(GRANTED[role][component] ?? [])].toSorted());
      });
    }
  }
});

const RBAC = 'rbac.authorization.k8s.io';
const mark = { labels: { 'app.kubernetes.io/part-of': 'isthmus', 'app.kubernetes.io/component': 'source-identity' } };
const account = (namespace: string, name: string) => ({ kind: 'ServiceAccount', namespace, name });
const binding = (
  name: string, roleName: string, subjects: readonly object[],
  more: { readonly namespace?: string; readonly kind?: string; readonly labels?: object } = {},
): KubernetesObject => {
  const { namespace, kind = 'ClusterRole', labels = mark.labels } = more;
  return {
    metadata: { name, ...(namespace !== undefined && { namespace }), labels },
    roleRef: { apiGroup: RBAC, kind, name: roleName }, subjects,
  } as unknown as KubernetesObject;
};
const roleOf = (name: string, rules: readonly object[], namespace?: string): KubernetesObject => ({
  metadata: { name, ...mark, ...(namespace !== undefined && { namespace }) }, rules,
}) as unknown as KubernetesObject;
const ours = account(installNamespace, 'isthmus-peering');
const tokens = (name: string) =>
  ({ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'], resourceNames: [name] });

const ATTACKS: readonly (readonly [what: string, type: ResourceType, object: KubernetesObject])[] = [
  ['makes an account beside the keys', SERVICE_ACCOUNTS, { metadata: { namespace: keys, name: 'x', ...mark } }],
  ['gives an account beside the keys the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account(keys, 'default')],
  )],
  ['lets a source into the namespace of keys', ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account('team-a', 'x')], { namespace: keys },
  )],
  ['lets itself ask for tokens beside the keys', ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-token-requester', [ours], { namespace: keys },
  )],
  ['makes an account beside kubeconfigs of discovered targets', SERVICE_ACCOUNTS, {
    metadata: { namespace: discovered, name: 'x', ...mark },
  }],
  ['gives an account beside kubeconfigs of discovered targets permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account(discovered, 'default')],
  )],
  ['lets a source into the namespace of discovered targets', ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account('team-a', 'x')], { namespace: discovered },
  )],
  ['makes an account in kube-system', SERVICE_ACCOUNTS, { metadata: { namespace: 'kube-system', name: 'x', ...mark } }],
  ['makes an account with the name of a component', SERVICE_ACCOUNTS, {
    metadata: { namespace: installNamespace, name: 'isthmus-webhook-2', ...mark },
  }],
  ['makes an account without its mark', SERVICE_ACCOUNTS, { metadata: { namespace: 'team-a', name: 'x' } }],
  ['lets itself ask for tokens in kube-system', ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-token-requester', [ours], { namespace: 'kube-system' },
  )],
  ['lets itself ask for tokens everywhere', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-token-requester', [ours],
  )],
  ['lets another account ask for tokens', ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-token-requester', [account('team-a', 'x')], { namespace: 'team-a' },
  )],
  ['binds cluster-admin', CLUSTER_ROLE_BINDINGS, binding('admiralty-x', 'cluster-admin', [ours])],
  ['binds edit', ROLE_BINDINGS, binding('admiralty-x', 'edit', [account('team-a', 'x')], { namespace: 'team-a' })],
  ['gives itself the permissions of a source', CLUSTER_ROLE_BINDINGS, binding('admiralty-x', 'isthmus-source', [ours])],
  ['gives a component the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account(installNamespace, 'isthmus-delegate-controller')],
  )],
  ['gives an account of kube-system the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account('kube-system', 'clusterrole-aggregation-controller')],
  )],
  ['gives a mighty account the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account('team-a', 'mighty')],
  )],
  ['gives everybody the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [{ apiGroup: RBAC, kind: 'Group', name: 'system:authenticated' }],
  )],
  ['gives a user of the control plane the permissions of a source', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [{ apiGroup: RBAC, kind: 'User', name: 'system:kube-scheduler' }],
  )],
  ['makes a binding under any name', CLUSTER_ROLE_BINDINGS, binding('x', 'isthmus-source', [account('team-a', 'x')])],
  ['makes a binding without its mark', CLUSTER_ROLE_BINDINGS, binding(
    'admiralty-x', 'isthmus-source', [account('team-a', 'x')], { labels: {} },
  )],
  ['hands on its own right to bind', CLUSTER_ROLES, roleOf(
    'admiralty-x',
    [{ apiGroups: [RBAC], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['isthmus-token-requester'] }],
  )],
  ['hands on its own right to write bindings', CLUSTER_ROLES, roleOf(
    'admiralty-x', [{ apiGroups: [RBAC], resources: ['clusterrolebindings'], verbs: ['create'] }],
  )],
  ['makes a role of all sources', CLUSTER_ROLES, roleOf(
    'admiralty-x', [{ apiGroups: ['multicluster.admiralty.io'], resources: ['clustersources'], verbs: ['delete'] }],
  )],
  ['gives the right to the tokens of a component', ROLES, roleOf(
    'admiralty-x', [tokens('isthmus-delegate-controller')], installNamespace,
  )],
  ['gives the right to the tokens of a mighty account', ROLES, roleOf('admiralty-x', [tokens('mighty')], 'team-a')],
];

const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 403 || error.status === 422);

/** An API server enforces a policy about a second after it was created: it reads policies once a second. */
const untilPolicyRefuses = async (policy: string, attempt: () => Promise<unknown>): Promise<void> => {
  const refusal = () => attempt().then(() => undefined, (error: unknown) => (
    error instanceof ApiError && error.message.includes(`ValidatingAdmissionPolicy '${policy}'`) ? true : undefined
  ));
  assert.ok(await pollUntil(refusal, patience, signal), `${policy} refuses nothing`);
};

describe('who has the token of peering', () => {
  before(async () => {
    const { client } = target;
    for (const namespace of ['team-a', installNamespace]) {
      await client.create(ROLE_BINDINGS, binding('admiralty-held', 'isthmus-token-requester', [ours], { namespace }));
    }
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'team-a', name: 'mighty' } });
    await client.create(
      CLUSTER_ROLE_BINDINGS, binding('mighty', 'cluster-admin', [account('team-a', 'mighty')], { labels: {} }),
    );
    await client.create(
      ROLE_BINDINGS, binding('theirs', 'edit', [account('team-a', 'mighty')], { namespace: 'team-a', labels: {} }),
    );
    const unmarked = { metadata: { namespace: 'team-a', name: 'x' } };
    await untilPolicyRefuses(PEERING_POLICY, () => peering.dryRunCreate(SERVICE_ACCOUNTS, unmarked, signal));
    await untilPolicyRefuses(
      PEERING_TOKEN_POLICY, () => requestToken(peering, { namespace: 'team-a', name: 'mighty', seconds: 600 }, signal),
    );
  });

  for (const [what, type, object] of ATTACKS) {
    it(`never ${what}`, async () => {
      await assert.rejects(peering.create(type, object, signal), isRefused);
      await assert.rejects(peering.apply(type, object, 'isthmus-peering', signal), isRefused);
    });
  }

  it('never changes or deletes what somebody else has made', async () => {
    const at = { namespace: 'team-a', name: 'theirs' };
    await assert.rejects(peering.delete(ROLE_BINDINGS, at, {}, signal), isRefused);
    await assert.rejects(
      peering.patch(ROLE_BINDINGS, at, { patchType: 'merge', patch: { metadata: mark } }, signal), isRefused,
    );
    await assert.rejects(
      peering.delete(SERVICE_ACCOUNTS, { namespace: 'team-a', name: 'mighty' }, {}, signal), isRefused,
    );
    await assert.rejects(peering.delete(CLUSTER_ROLE_BINDINGS, { name: 'isthmus-peering' }, {}, signal), isRefused);
  });

  for (
    const [namespace, name] of [
      [installNamespace, 'isthmus-delegate-controller'], [installNamespace, 'isthmus'], ['team-a', 'mighty'],
      ['kube-system', 'default'], [keys, 'default'], [discovered, 'default'],
    ] as const
  ) {
    it(`never gets a token of ${namespace}/${name}`, () => assert.rejects(
      requestToken(peering, { namespace, name, seconds: 600 }, signal), isRefused,
    ));
  }

  it('makes the identity of a source, gets its token, and takes it back', async () => {
    startSources({ client: peering, installNamespace, logger: SILENT }, signal);
    const accounts = [{ namespace: installNamespace, name: 'berlin-0123abcd' }, { namespace: 'team-a', name: 'paris' }];
    for (const serviceAccount of accounts) {
      const made: ClusterSource = {
        metadata: { name: serviceAccount.name },
        spec: { serviceAccount, clusterID: `cluster-of-${serviceAccount.name}` },
      };
      await target.client.create(CLUSTER_SOURCES, made, signal);
      const ready = async () => (
        await target.client.get(CLUSTER_SOURCES, { name: serviceAccount.name })
      ).status?.conditions?.find(({ type }) => type === 'Ready');
      assert.ok(
        await pollUntil(async () => ((await ready())?.status === 'True' ? true : undefined), patience, signal),
        JSON.stringify(await ready()),
      );
      const token = await pollUntil(
        () => requestToken(peering, { ...serviceAccount, seconds: 600 }, signal).catch(() => undefined), patience,
        signal,
      );
      assert.ok(token !== undefined, serviceAccount.name);
      await target.client.delete(CLUSTER_SOURCES, { name: serviceAccount.name }, {}, signal);
    }
    const left = async () => (await target.client.list(CLUSTER_ROLE_BINDINGS)).filter(
      ({ metadata }) => metadata.name?.startsWith('admiralty-cluster-source') === true,
    );
    assert.ok(await pollUntil(async () => ((await left()).length === 0 ? true : undefined), patience, signal));
  });

  it('never gives the permissions of a source to a mighty account that a ClusterSource names, and the ClusterSource ' +
    'says why',
    async () => {
    await target.client.create(
      CLUSTER_SOURCES,
      {
        metadata: { name: 'mighty' }, spec: { serviceAccount: { namespace: 'team-a', name: 'mighty' }, clusterID: 'c' },
      } as ClusterSource,
      signal,
    );
    const look = async () => (await target.client.get(CLUSTER_SOURCES, { name: 'mighty' })).status?.conditions?.find(
      ({ type, status }) => type === 'Ready' && status === 'False',
    );
    assert.match((await pollUntil(look, patience, signal))?.message ?? '', /may do more than a source/);
  });
});

describe('who has the token of discovery', () => {
  let discovery: ClusterClient;
  const targetOf = (
    name: string,
    {
      labels = { [DISCOVERED_BY_LABEL]: 'argo' }, ...spec
    }: Partial<ClusterTarget['spec']> & { readonly labels?: Readonly<Record<string, string>> } = {},
  ): ClusterTarget => ({
    metadata: { name, labels },
    spec: { kubeconfigSecret: { namespace: discovered, name }, ...spec },
  });
  const change = (name: string, patch: object) =>
    discovery.patch(CLUSTER_TARGETS, { name }, { patchType: 'merge', patch }, signal);

  before(async () => {
    discovery = await clientAs(source, { namespace: installNamespace, name: 'isthmus-discovery' });
    await source.client.create(CLUSTER_TARGETS, targetOf('theirs', { labels: {} }));
    await untilPolicyRefuses(
      DISCOVERY_POLICY, () => discovery.dryRunCreate(CLUSTER_TARGETS, targetOf('x', { labels: {} }), signal),
    );
    await discovery.create(CLUSTER_TARGETS, targetOf('own'), signal);
  });

  const rows: Readonly<Record<string, () => Promise<unknown>>> = {
    'makes a target without its label': () => discovery.create(CLUSTER_TARGETS, targetOf('x', { labels: {} }), signal),
    'makes a target of a kubeconfig that it has not checked': () => discovery.create(
      CLUSTER_TARGETS, targetOf('x', { kubeconfigSecret: { namespace: installNamespace, name: 'x' } }), signal,
    ),
    'makes a target of the Secret that the install namespace has': () =>
      discovery.create(CLUSTER_TARGETS, targetOf('x', { kubeconfigSecret: { name: 'x' } }), signal),
    'makes the source a target of itself': () =>
      discovery.create(CLUSTER_TARGETS, targetOf('x', { self: true }), signal),
    'leads a target of its own elsewhere': () => discovery.apply(
      CLUSTER_TARGETS, targetOf('own', { kubeconfigSecret: { namespace: installNamespace, name: 'x' } }),
      'isthmus-discovery', signal,
    ),
    'gives up its label': () => change('own', { metadata: { labels: { [DISCOVERED_BY_LABEL]: null } } }),
    'changes a target that somebody else has made': () => change('theirs', { spec: { removalPolicy: 'Drain' } }),
    'takes a target over by its label': () =>
      change('theirs', { metadata: { labels: { [DISCOVERED_BY_LABEL]: 'argo' } } }),
    'removes a target that somebody else has made': () =>
      discovery.delete(CLUSTER_TARGETS, { name: 'theirs' }, {}, signal),
    'reads the Secrets of the install namespace': () =>
      discovery.list(SECRETS, { namespace: installNamespace }, signal),
    'reads the kubeconfigs of a namespace that no administrator has bound': () =>
      discovery.list(SECRETS, { namespace: 'default' }, signal),
  };
  for (const [what, attempt] of Object.entries(rows)) {
    it(`never ${what}`, () => assert.rejects(attempt(), isRefused));
  }

  it('changes and removes what it has made', async () => {
    await change('own', { spec: { removalPolicy: 'Drain' } });
    await discovery.delete(CLUSTER_TARGETS, { name: 'own' }, {}, signal);
  });
});

describe('Leases at the API server', () => {
  /** Name of the FlowSchema that a call of this account was queued by. */
  async function flowOf(
    cluster: OpenCluster, account: { readonly namespace: string; readonly name: string }, path: string,
  ): Promise<string | undefined> {
    const { token } = await requestToken(cluster.client, { ...account, seconds: 600 }, signal);
    const caller = new RawApiClient(cluster.connection, token);
    try {
      const { headers } = await caller.call({ method: 'GET', path });
      const uid = headers?.['x-kubernetes-pf-flowschema-uid'];
      return (await cluster.client.list(FLOW_SCHEMAS)).find(({ metadata }) => metadata.uid === uid)?.metadata.name;
    } finally {
      await caller.close();
    }
  }
  const component = { namespace: installNamespace, name: 'isthmus-virtual-node' };
  const lease = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/x`;
  const sourceLease = '/apis/isthmus.dev/v1alpha1/namespaces/team-a/sourceleases/x';
  const rows: readonly [string, () => OpenCluster, object, string, string][] = [
    ['its own Lease', () => source, component, lease(installNamespace), LEASE_FLOW],
    ['the Lease of a virtual node', () => source, component, lease('kube-node-lease'), LEASE_FLOW],
    ["a source's SourceLease", () => target, { namespace: 'team-a', name: 'default' }, sourceLease, SOURCE_LEASE_FLOW],
    ['pods of a component', () => source, component, '/api/v1/pods', 'service-accounts'],
    ['a Lease elsewhere', () => source, component, lease('default'), 'service-accounts'],
    ['a Lease of another account', () => source, { namespace: 'default', name: 'default' }, lease(installNamespace),
      'service-accounts'],
  ];
  for (const [what, cluster, account, path, flow] of rows) {
    it(`queues ${what} by ${flow}`, async () => {
      const at = account as { readonly namespace: string; readonly name: string };
      const isIt = async () => ((await flowOf(cluster(), at, path)) === flow ? true : undefined);
      assert.ok(await pollUntil(isIt, patience, signal), await flowOf(cluster(), at, path));
    });
  }
});

describe("a tenant's Target", { timeout: 200_000 }, () => {
  const namespace = 'tenants';
  const decoys: HostileServer[] = [];
  let running: RunningCommand;
  let conditions: ReadonlyMap<string, Condition>;

  /**
   * Where the Targets lead, by name: the source's own API server, a server of the tenant's and a port where nothing
   * listens, by address and by name.
   */
  async function servers(): Promise<Readonly<Record<string, string>>> {
    const certificates = await certificatesOfLoopback();
    const [open, closed] = [
      await HostileServer.http(certificates, (_request, response) => void response.writeHead(404).end('{}')),
      await HostileServer.tcp(() => undefined),
    ];
    decoys.push(open);
    const { port: closedPort } = closed;
    closed.stop();
    const { server, certificateAuthority: authority = '' } = source.connection;
    const at = (host: string, port: number): string => tenantKubeconfig(`https://${host}:${port}`, certificates);
    return {
      own: tenantKubeconfig(server.origin, { authority }),
      'own-by-name': tenantKubeconfig(`https://localhost:${server.port}`, { authority }),
      open: at('127.0.0.1', open.port), 'open-by-name': at('localhost', open.port),
      closed: at('127.0.0.1', closedPort), 'closed-by-name': at('localhost', closedPort),
    };
  }

  const ready = async (name: string): Promise<Condition | undefined> => {
    const { status } = await source.client.get(TARGETS, { namespace, name }, signal);
    return status?.conditions?.find(
      ({ type, reason = '' }) =>
        type === 'Ready' && !['SecretMissing', 'SecretUnreadable', 'Connecting'].includes(reason),
    );
  };

  before(async () => {
    const leads = await servers();
    await source.client.create(NAMESPACES, { metadata: { name: namespace } });
    for (const [name, kubeconfig] of Object.entries(leads)) {
      await source.client.create(
        SECRETS,
        { metadata: { namespace, name }, data: { config: Buffer.from(kubeconfig).toString('base64') } } as Secret,
        signal,
      );
      await source.client.create(
        TARGETS, { metadata: { namespace, name }, spec: { kubeconfigSecret: { name } } } as Target, signal,
      );
    }
    running = new RunningCommand(
      'run', '--kubeconfig', sandbox.clusters[0]!.kubeconfigPath, '--no-target', '--no-leader-elect', '--components',
      'virtual-node',
    );
    const found = await Promise.all(Object.keys(leads).map(
      async (name) => [name, await pollUntil(() => ready(name), { forMs: 60_000, everyMs: 100 }, signal)] as const,
    ));
    conditions = new Map(found.map(
      ([name, condition]) => [name, condition ?? assert.fail(`${name} has no status: ${running.lines.join('\n')}`)],
    ));
  }, { timeout: 120_000 });

  after(async () => {
    for (const decoy of decoys) decoy.stop();
    await running?.stop();
  });

  it("C2-3: is refused at the address of the source's own API server, and at any other of this host", () => {
    for (const name of ['own', 'open', 'closed']) {
      const { reason, message = '' } = conditions.get(name)!;
      assert.equal(reason, 'KubeconfigRefused', `${name}: ${message}`);
      assert.match(message, /is an address that Targets may not use/);
    }
  });

  it('C2-3: is told one text for all of them, whether something listens there or not', () => {
    const texts = (names: readonly string[]): readonly string[] =>
      [...new Set(names.map((name) => `${conditions.get(name)?.reason}: ${conditions.get(name)?.message}`))];
    assert.equal(texts(['own', 'open', 'closed']).length, 1, texts(['own', 'open', 'closed']).join(' | '));
    assert.deepEqual(texts(['own-by-name', 'open-by-name', 'closed-by-name']), [`Unreachable: ${CANNOT_BE_REACHED}`]);
  });

  it('C2-3: is not connected to', () => assert.deepEqual(decoys.map(({ connections }) => connections), [0]));
});
