import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BindingObject, PolicyRule, RoleObject } from '../../../../model/access/rbac-objects.ts';
import { COMPONENT_ACCOUNTS, COMPONENT_PERMISSIONS } from '../../../../manifests/objects/component-permissions.ts';
import { rbacManifests } from '../../../../manifests/objects/rbac.ts';
import { clusterRoles } from '../../../support/worlds/cluster-roles.ts';
import {
  ALL_COMPONENTS_ACCOUNT, COPIED_SECRET_READER_ROLE, FOLLOWED_READER_ROLE, TARGET_KUBECONFIG_READERS,
  targetSecretReaderBinding,
} from '../../../../model/access/component-accounts.ts';

const objects = rbacManifests('ns');
const roles = objects.filter((object): object is RoleObject => object.kind === 'ClusterRole' || object.kind === 'Role');
const bindings = objects.filter(
  (object): object is BindingObject => object.kind === 'ClusterRoleBinding' || object.kind === 'RoleBinding',
);
const rules = roles.flatMap((role) => role.rules.map((rule) => ({ role: role.metadata.name, ...rule })));
const rulesOf = (name: string): readonly PolicyRule[] =>
  roles.filter((role) => role.metadata.name === name && role.kind === 'ClusterRole').flatMap((role) => role.rules);

/** Every `verb resource` (with `=name` where it is limited) that a ClusterRole allows. */
function allowed(name: string): string[] {
  return rulesOf(name)
    .flatMap(({ verbs, resources, resourceNames }) => resources.flatMap(
      (resource) => verbs.map((verb) => [verb, resource, ...(resourceNames ?? [])].join(' ')),
    ))
    .toSorted();
}

/** `verbs on resource`, spelled out. */
const each = (resource: string, ...verbs: string[]): string[] =>
  verbs.map((verb) => (resource.includes('=') ? `${verb} ${resource.replace('=', ' ')}` : `${verb} ${resource}`));
const READ = ['get', 'list', 'watch'];
const STREAM_SUBRESOURCES = ['exec', 'attach', 'portforward'].flatMap((name) => each(`pods/${name}`, 'create', 'get'));
const WATCH_TARGETS = [
  ...['targets', 'clustertargets', 'pods'].flatMap((resource) => each(resource, ...READ)),
  ...each('namespaces=kube-system', 'get'),
  ...['list', 'watch'].map((verb) => `${verb} leases admiralty-controller-manager admiralty-proxy-scheduler`),
];
const WATCH_SELF_AS_TARGET = ['podchaperons', 'clustersummaries'].flatMap((resource) => each(resource, ...READ));
const PLACEMENT_INPUTS = ['nodes', 'namespaces', 'placementpolicies', 'clusterplacementpolicies'].flatMap(
  (resource) => each(resource, 'list', 'watch'),
);

const READ_OWN_CIDRS = [...each('servicecidrs', 'list'), ...each('endpointslices=kubernetes', 'get')];

const REGISTRY_CRDS = [
  'clusters.cluster.x-k8s.io', 'kustomizations.kustomize.toolkit.fluxcd.io', 'helmreleases.helm.toolkit.fluxcd.io',
  'clusterprofiles.multicluster.x-k8s.io', 'clusters.fleet.cattle.io',
  'managedclusters.cluster.open-cluster-management.io',
  'managedserviceaccounts.authentication.open-cluster-management.io', 'kubefedclusters.core.kubefed.io',
];

const TABLE: readonly [string, readonly string[]][] = [
  [
    'isthmus-webhook',
    [
      ...each('mutatingwebhookconfigurations=isthmus', ...READ, 'patch'),
      ...each('validatingwebhookconfigurations=isthmus', ...READ, 'patch'),
      ...each('events', 'create', 'patch'), ...each('pods', 'list'), ...each('namespaces', 'list'),
      ...each('namespaceelections', ...READ),
      ...each('clustertargets', 'list', 'watch'), ...each('mutatingwebhookconfigurations', 'list'),
    ],
  ],
  [
    'isthmus-scheduler',
    [
      ...WATCH_TARGETS, ...READ_OWN_CIDRS, ...PLACEMENT_INPUTS,
      ...each('pods', 'patch', 'delete'),
      ...each('pods/binding', 'create'), ...each('pods/eviction', 'create'), ...each('pods/status', 'patch'),
      ...each('events', 'create', 'patch'),
      ...['placementpolicies', 'clusterplacementpolicies'].flatMap((resource) => each(`${resource}/status`, 'patch')),
      ...each('placementpolicies', 'delete'),
      ...['clusterdecisions', 'targetdiscoveries'].flatMap((resource) => each(resource, 'list', 'watch')),
      ...each('clusterdecisions/status', 'patch'),
    ],
  ],
  ['isthmus-scheduler-self', [...WATCH_SELF_AS_TARGET, ...each('podchaperons', 'create', 'patch', 'delete')]],
  [
    'isthmus-delegate-controller-source',
    [
      ...WATCH_TARGETS, ...READ_OWN_CIDRS, ...PLACEMENT_INPUTS,
      ...each('pods', 'patch', 'delete'), ...each('pods/status', 'patch'),
      ...each('events', 'create', 'patch'),
      ...each('services', ...READ, 'patch'), ...each('ingresses', ...READ, 'patch'),
      ...each('clustersummaries', ...READ, 'create', 'patch', 'delete'),
    ],
  ],
  [
    'isthmus-delegate-controller',
    [
      ...each('namespaces=kube-system', 'get'),
      ...each('pods', ...READ, 'create', 'patch', 'delete'),
      ...each('pods/status', 'patch'), ...each('pods/resize', 'patch'),
      ...each('nodes', ...READ),
      ...each('podchaperons', ...READ, 'patch'),
      ...each('podchaperons/status', 'patch'), ...each('podchaperons/finalizers', 'update'),
      ...each('clustersummaries', 'create', 'patch'),
      ...each('events', 'create', 'patch'),
      ...each('resourceshares', 'list', 'watch'), ...each('resourceshares/status', 'patch'),
      ...each('sources', 'list', 'watch'), ...each('clustersources', 'list', 'watch'),
      ...['roles', 'rolebindings'].flatMap((resource) => each(resource, 'list', 'watch', 'create', 'patch', 'delete')),
      ...each('pods/log', 'get'), ...STREAM_SUBRESOURCES, // given to sources for their own delegates
      ...each('sourceleases', ...READ, 'patch'), ...each('sourceleases/status', 'patch'),
      ...each('secretcopies', 'list', 'watch', 'create', 'patch', 'delete'),
    ],
  ],
  ['isthmus-delegate-controller-self', [
    ...each('podchaperons', 'delete'), ...each('events', 'list', 'watch'), ...each('sourceleases', 'create', 'delete'),
  ]],
  [
    'isthmus-virtual-node',
    [
      ...WATCH_TARGETS, ...READ_OWN_CIDRS,
      ...each('nodes', ...READ, 'create', 'patch', 'delete'), ...each('nodes/status', 'patch'),
      ...each('events', 'create', 'patch'),
      ...each('targets/status', 'patch'),
      ...each('clustertargets/status', 'patch'), ...each('targets', 'patch'), ...each('clustertargets', 'patch'),
      ...each('pods/eviction', 'create'),
      ...['subjectaccessreviews', 'tokenreviews'].flatMap((resource) => each(resource, 'create')),
      ...each('certificatesigningrequests', 'create', 'get'),
    ],
  ],
  [
    'isthmus-virtual-node-self',
    [
      ...WATCH_SELF_AS_TARGET, ...each('pods/log', 'get'), ...STREAM_SUBRESOURCES,
      ...each('pods', 'list') /* of metrics.k8s.io */, ...each('resourcequotas', 'list'),
    ],
  ],
  ['isthmus-peering-source', WATCH_TARGETS],
  [
    'isthmus-discovery',
    [
      ...each('namespaces=kube-system', 'get'), ...READ_OWN_CIDRS, ...each('nodes', 'list'),
      ...['list', 'watch'].map((verb) => `${verb} leases admiralty-controller-manager admiralty-proxy-scheduler`),
      ...each('targetdiscoveries', 'list', 'watch'), ...each('targetdiscoveries/status', 'patch'),
      ...each('clustertargets', 'list', 'watch', 'create', 'patch', 'delete'),
      ...['list', 'watch'].map((verb) => `${verb} customresourcedefinitions ${REGISTRY_CRDS.join(' ')}`),
      ...[
        'clusters', 'clusters', 'kustomizations', 'helmreleases', 'clusterprofiles', 'managedclusters',
        'managedserviceaccounts', 'kubefedclusters',
      ].flatMap((resource) => each(resource, 'list', 'watch')),
    ],
  ],
  [
    'isthmus-peering',
    [
      ...each('namespaces=kube-system', 'get'),
      ...['sources', 'clustersources'].flatMap(
        (resource) => [...each(resource, ...READ, 'create', 'patch', 'delete'), ...each(`${resource}/status`, 'patch')],
      ),
      ...['invitations', 'joinrequests'].flatMap(
        (resource) => [...each(resource, ...READ, 'delete'), ...each(`${resource}/status`, 'patch')],
      ),
      ...each('events', 'create', 'patch'),
      ...['serviceaccounts', 'roles', 'clusterroles', 'rolebindings', 'clusterrolebindings']
        .flatMap((resource) => each(resource, ...READ, 'create', 'patch', 'delete')),
      ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap(
        (resource) => each(resource, ...READ),
      ),
      ...each('namespaces', 'list', 'watch'),
      ...each('sourceidentities', 'own'),
      'bind clusterroles isthmus-source isthmus-source-elsewhere isthmus-source-streams ' +
        'isthmus-cluster-summary-viewer isthmus-token-requester',
    ],
  ],
  [
    'isthmus-source',
    [
      ...each('sourceidentities', 'confined'),
      ...each('podchaperons', ...READ, 'create', 'update', 'patch', 'delete', 'deletecollection'),
      ...each('sourceleases', 'get', 'create', 'patch', 'delete'),
      ...each('pods', ...READ),
      ...each('events', 'list', 'watch'),
      ...each('pods', 'list'), // of metrics.k8s.io
      ...each('resourcequotas', 'list'),
      ...['configmaps', 'services', 'ingresses'].flatMap(
        (resource) => each(resource, ...READ, 'create', 'update', 'patch', 'delete'),
      ),
      ...each('secrets', 'create', 'update', 'delete'),
      ...each('secretcopies', 'list', 'watch'),
    ],
  ],
  [
    'isthmus-source-elsewhere',
    [
      ...each('sourceidentities', 'confined'),
      ...each('podchaperons', ...READ, 'patch', 'delete', 'deletecollection'),
      ...each('sourceleases', 'get', 'delete'),
      ...each('pods', ...READ), ...each('pods', 'list'), // of metrics.k8s.io
      ...each('events', 'list', 'watch'),
      ...['configmaps', 'services', 'ingresses'].flatMap((resource) => each(resource, ...READ, 'delete')),
      ...each('secrets', 'delete'),
      ...each('secretcopies', 'list', 'watch'),
    ],
  ],
  ['isthmus-registry-secret-reader', each('secrets', 'list', 'watch')],
  ['isthmus-cluster-profile-writer', [
    ...['clusterprofiles', 'placementdecisions'].flatMap(
      (resource) => each(resource, 'list', 'watch', 'create', 'patch', 'delete'),
    ),
    ...each('clusterprofiles/status', 'patch'),
  ]],
  ['isthmus-source-streams', [
    ...each('sourceidentities', 'confined'), ...each('pods/log', 'get'), ...STREAM_SUBRESOURCES,
  ]],
  ['isthmus-source-pod-mode', [
    ...each('pods/log', 'get'), ...STREAM_SUBRESOURCES, ...each('sourceidentities', 'confined'),
    ...each('pods', ...READ, 'create', 'patch', 'delete'), ...each('pods/status', 'patch'),
    ...each('pods/resize', 'patch'), ...each('nodes', 'list', 'watch'),
  ]],
  ['isthmus-cluster-summary-viewer', [...each('clustersummaries', ...READ), ...each('namespaces=kube-system', 'get')]],
  ['isthmus-copied-secret-reader', each('secrets', 'list', 'watch')],
  ['isthmus-token-requester', each('serviceaccounts/token', 'create')],
  ['isthmus-followed-reader', [...each('configmaps', ...READ), ...each('secrets', ...READ)]],
  ['isthmus-target-secret-reader', each('secrets', ...READ)],
];

describe('ClusterRoles', () => {
  for (const [name, expected] of TABLE) {
    it(`${name} allows just what is listed here`, () => assert.deepEqual(allowed(name), expected.toSorted()));
  }

  it('are all listed here', () => {
    const names = clusterRoles().map(({ metadata }) => metadata.name ?? '');
    assert.deepEqual(names.toSorted(), TABLE.map(([name]) => name).toSorted());
  });
});

describe('a cluster of one role', () => {
  // In a target the delegate controller has the permissions to streams, which it gives to sources for their own
  // delegates.
  const namesIn = (role: 'source' | 'target', kind: string) =>
    rbacManifests('ns', role).filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
  const rulesIn = (role: 'source' | 'target') =>
    rbacManifests('ns', role).flatMap((object) => ('rules' in object ? (object as RoleObject).rules : []));
  const isAllowedIn = (role: 'source' | 'target', verb: string, resource: string) => rulesIn(role).some(
    ({ verbs, resources, resourceNames }) => resourceNames === undefined && verbs.includes(verb) && resources
      .includes(resource),
  );

  it('has the accounts of what runs there', () => {
    assert.deepEqual(namesIn('source', 'ServiceAccount'), [...COMPONENT_ACCOUNTS, ALL_COMPONENTS_ACCOUNT]);
    assert.deepEqual(
      namesIn('target', 'ServiceAccount'), ['isthmus-delegate-controller', 'isthmus-peering', ALL_COMPONENTS_ACCOUNT],
    );
  });

  for (
    const [verb, resource] of [
      ['create', 'pods'], ['create', 'pods/exec'], ['get', 'pods/exec'], ['create', 'rolebindings'],
      ['patch', 'clusterroles'], ['create', 'serviceaccounts'], ['create', 'serviceaccounts/token'],
      ['create', 'podchaperons'],
    ] as const
  ) {
    it(`a source gives nobody permission to ${verb} ${resource}`, () => assert.equal(
      isAllowedIn('source', verb, resource), false,
    ));
  }
  for (
    const [verb, resource] of [
      ['create', 'pods/binding'], ['patch', 'nodes'], ['create', 'nodes'], ['patch', 'services'],
      ['list', 'clustertargets'], ['create', 'tokenreviews'],
    ] as const
  ) {
    it(`a target gives no component permission to ${verb} ${resource}`, () => {
      const own = rbacManifests('ns', 'target')
        .filter((object) => object.metadata.name?.startsWith('isthmus-source') !== true)
        .flatMap((object) => ('rules' in object ? (object as RoleObject).rules : []));
      assert.ok(!own.some(({ verbs, resources }) => verbs.includes(verb) && resources.includes(resource)));
    });
  }

  it('has of each object what a cluster of both roles has, and nothing else', () => {
    const all = new Set(objects.map((object) => JSON.stringify(object)));
    for (const role of ['source', 'target'] as const) {
      for (const object of rbacManifests('ns', role)) assert.ok(all.has(JSON.stringify(object)));
    }
    for (const role of ['source', 'target'] as const) assert.ok(rbacManifests('ns', role).length < objects.length);
  });
});

describe('every rule', () => {
  it('C2-43: names its groups, resources and verbs: no wildcard', () => {
    for (const rule of rules) {
      assert.ok(![...rule.apiGroups, ...rule.resources, ...rule.verbs].includes('*'), JSON.stringify(rule));
    }
  });

  it('is about one API group, so that a resource is not allowed in another by accident', () => {
    for (const rule of rules) assert.equal(rule.apiGroups.length, 1, JSON.stringify(rule));
  });

  it('gives no way to more permissions, but for those of peering, whose task that is', () => {
    const escalating = ['impersonate', 'bind', 'escalate', 'approve', 'sign'];
    const others = rules.filter(({ role }) => role !== 'isthmus-peering' && role !== 'isthmus-token-requester');
    // it writes Roles, of permissions that it has itself: streams of delegates
    const inRoles = others.filter(({ role }) => role !== 'isthmus-delegate-controller');
    const isMighty = /role|^serviceaccount|nodes\/proxy/; // a ManagedServiceAccount is a kind of another project
    for (const rule of others) assert.ok(!rule.verbs.some((verb) => escalating.includes(verb)), JSON.stringify(rule));
    for (const { resources } of inRoles) {
      assert.ok(!resources.some((resource) => isMighty.test(resource)), resources.join());
    }
  });

  it('that creates is not limited to names, which the API server could not check', () => {
    for (const { verbs, resourceNames } of rules) assert.ok(!(verbs.includes('create') && resourceNames !== undefined));
  });
});

describe('bindings', () => {
  it('give Secrets in the whole cluster to nobody but what follows elected pods, and to no source', () => {
    const reading = (name: string) => rulesOf(name).some(
      ({ verbs, resources }) => resources.includes('secrets') && verbs
        .some((verb) => ['get', 'list', 'watch', 'patch'].includes(verb)),
    );
    assert.deepEqual(
      ['isthmus-source', 'isthmus-followed-reader', 'isthmus-copied-secret-reader'].map(reading), [false, true, true],
    );
    const readers = roles.filter((role) => role.rules.some((rule) => rule.resources.includes('secrets')))
      .map((role) => role.metadata.name);
    assert.deepEqual(readers, [
      'isthmus-source', 'isthmus-source-elsewhere', 'isthmus-copied-secret-reader', 'isthmus-followed-reader',
      'isthmus-target-secret-reader', 'isthmus-registry-secret-reader', 'isthmus-webhook', 'isthmus-webhook',
      'isthmus-peering', 'isthmus-discovery',
    ]);
    const clusterWide = bindings.filter((binding) => binding.kind === 'ClusterRoleBinding')
      .map((binding) => binding.roleRef.name);
    assert.deepEqual(
      clusterWide, [...COMPONENT_PERMISSIONS.map(({ name }) => name), FOLLOWED_READER_ROLE, COPIED_SECRET_READER_ROLE],
    );
  });

  /** Everything that RBAC allows on Secrets in a namespace: `ACCOUNT VERB NAME`, or `ACCOUNT VERB` for all names. */
  const secretsIn = (namespace: string): string[] => bindings
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap(({ roleRef, subjects }) => roles
      .filter(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name
        && (kind === 'ClusterRole' || metadata.namespace === namespace))
      .flatMap((role) => role.rules)
      .filter(({ resources }) => resources.includes('secrets'))
      .flatMap(({ verbs, resourceNames = [''] }) => verbs.flatMap((verb) => resourceNames.flatMap(
        (name) => subjects.map((subject) => `${subject.name} ${verb} ${name}`.trim()),
      ))))
    .toSorted();

  it('let none but the owner of a key read it, each by its name, in a namespace of their own', () => {
    const webhook = ['get', 'list', 'watch', 'patch'].map((verb) => `${verb} isthmus-webhook-certificates`);
    const expected = [
      ...['isthmus', 'isthmus-webhook'].flatMap(
        (account) => ['create', ...webhook].map((right) => `${account} ${right}`),
      ),
      ...['isthmus', 'isthmus-peering'].map((account) => `${account} get isthmus-invitation-key`),
    ];
    assert.deepEqual(secretsIn('ns-keys'), expected.toSorted());
  });

  it('let nobody write a Secret into the install namespace', () => {
    assert.deepEqual(secretsIn('ns').filter((right) => !READ.includes(right.split(' ')[1] ?? '')), []);
    const ofWebhook = secretsIn('ns').filter((right) => right.startsWith('isthmus-webhook '));
    assert.deepEqual(ofWebhook, READ.map((verb) => `isthmus-webhook ${verb} isthmus-cert`));
  });

  it('give each component its own ClusterRole alone, and all of them to the account that runs all components', () => {
    for (const binding of bindings.filter(({ kind }) => kind === 'ClusterRoleBinding')) {
      const holder = COMPONENT_PERMISSIONS.find(({ name }) => name === binding.roleRef.name)?.component
        ?? 'isthmus-delegate-controller';
      const names = [holder, ALL_COMPONENTS_ACCOUNT];
      assert.deepEqual(binding.subjects, names.map((name) => ({ kind: 'ServiceAccount', namespace: 'ns', name })));
    }
  });

  it('come after the roles and ServiceAccounts that they name', () => {
    for (const { roleRef, subjects, metadata } of bindings) {
      const binding =
        objects.findIndex((object) => object.kind?.endsWith('Binding') === true && object.metadata === metadata);
      const role = objects.findIndex((object) => object.kind === roleRef.kind && object.metadata.name === roleRef.name);
      const isKubernetes = roleRef.name === 'extension-apiserver-authentication-reader';
      assert.ok(isKubernetes || (role !== -1 && role < binding), metadata.name);
      for (const { name } of subjects) {
        const account =
          objects.findIndex((object) => object.kind === 'ServiceAccount' && object.metadata.name === name);
        assert.ok(account !== -1 && account < binding, name);
      }
    }
  });

  it('of node leases lie in the namespace of node leases', () => {
    const leases = objects.filter((object) => object.metadata.namespace === 'kube-node-lease')
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.deepEqual(leases, ['Role isthmus-virtual-node', 'RoleBinding isthmus-virtual-node']);
  });

  it('of a namespace that holds kubeconfigs let components that open these read Secrets there', () => {
    const binding = targetSecretReaderBinding('team-a', 'ns');
    assert.equal(binding.metadata.namespace, 'team-a');
    assert.deepEqual(binding.roleRef, {
      apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'isthmus-target-secret-reader',
    });
    assert.deepEqual(binding.subjects, [...TARGET_KUBECONFIG_READERS, ALL_COMPONENTS_ACCOUNT].map(
      (name) => ({ kind: 'ServiceAccount', namespace: 'ns', name }),
    ));
  });
});
