// Each registry's objects, as its own documentation shows them, and what is read of them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RegisteredAccess } from '../../../../discovery/entry/registered-cluster.ts';
import { chosenRegistry, REGISTRIES } from '../../../../discovery/registries/registry-table.ts';
import { REGISTRY_NAMES } from '../../../../api/registry/registry-choice.ts';
import { objectOf, readRegistry, secretOf, type RegistryCase } from '../../../support/objects/registry-objects.ts';

/** The only entry, in a line: entry, name, and what its access is. */
function only(of: RegistryCase): string {
  const [entry, ...more] = readRegistry(of);
  assert.equal(more.length, 0);
  return entry === undefined ? 'none' : `${entry.entry} | ${entry.name} | ${told(entry.access)}`;
}

function told(access: RegisteredAccess): string {
  if (access.kind === 'this-cluster') return access.kind;
  if (access.kind !== 'kubeconfig') return `${access.kind}: ${access.message}`;
  const { text, context, server } = access;
  const extra = { ...(context !== undefined && { context }), ...(server !== undefined && { server }) };
  return [text, ...(Object.keys(extra).length === 0 ? [] : [JSON.stringify(extra)])].join(' ');
}

function hasAll(text: string, parts: readonly string[]): void {
  for (const part of parts) assert.ok(text.includes(part), part);
}

const LEAVING = { deletionTimestamp: '2026-11-25T00:00:00Z' };

describe('the table of registries', () => {
  it('has every name of the API, and finds the one that is chosen', () => {
    assert.deepEqual(Object.keys(REGISTRIES).toSorted(), REGISTRY_NAMES.toSorted());
    for (const name of REGISTRY_NAMES) assert.equal(chosenRegistry({ [name]: {} }), name);
    assert.equal(chosenRegistry({}), undefined);
  });
});

describe('kubeconfig Secrets', () => {
  const from = { kubeconfigSecrets: {} };
  const rows: readonly (readonly [string, RegistryCase, string])[] = [
    ['are entries', { from, secrets: [secretOf('a/eu', { kubeconfig: 'K' })] }, 'Secret a/eu | eu | K'],
    [
      'have the key that is named',
      { from: { kubeconfigSecrets: { key: 'k' } }, secrets: [secretOf('a/eu', { k: 'K' })] },
      'Secret a/eu | eu | K',
    ],
    [
      'wait for their key', { from, secrets: [secretOf('a/eu', { other: 'K' })] },
      'Secret a/eu | eu | waiting: Secret a/eu has no kubeconfig under key kubeconfig',
    ],
    ['leave when they are deleted', { from, secrets: [secretOf('a/eu', {}, LEAVING)] }, 'none'],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.equal(only(of), expected));
});

describe('Cluster API', () => {
  const from = { clusterAPI: {} };
  const cluster = (status: object, more = {}) => ({ clusters: [objectOf('ns/prod', { status }, more)] });
  const initialized = { initialization: { controlPlaneInitialized: true } };
  const secrets = [secretOf('ns/prod-kubeconfig', { value: 'K' })];
  const rows: readonly (readonly [string, RegistryCase, string])[] = [
    ['v1beta2 is initialized', { from, secrets, objects: cluster(initialized) }, 'Cluster ns/prod | prod | K'],
    [
      'v1beta1 is ready', { from, secrets, objects: cluster({ controlPlaneReady: true }) },
      'Cluster ns/prod | prod | K',
    ],
    [
      'a condition says so',
      { from, secrets, objects: cluster({ conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] }) },
      'Cluster ns/prod | prod | K',
    ],
    [
      'it is not initialized', { from, secrets, objects: cluster({}) },
      'Cluster ns/prod | prod | waiting: its control plane is not initialized yet',
    ],
    [
      'its Secret is missing', { from, objects: cluster(initialized) },
      'Cluster ns/prod | prod | waiting: Secret ns/prod-kubeconfig does not exist',
    ],
    [
      'its Secret cannot be read: that is not a missing one',
      { from, objects: cluster(initialized), unread: 'forbidden' },
      'Cluster ns/prod | prod | waiting: Secret ns/prod-kubeconfig cannot be read: forbidden',
    ],
    [
      'it is being deleted', { from, secrets, objects: cluster(initialized, LEAVING) }, 'none',
    ],
    ['its status has another shape', { from, secrets, objects: cluster([] as object) },
      'Cluster ns/prod | prod | waiting: its control plane is not initialized yet'],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.equal(only(of), expected));

  it('keeps kubeconfigs alone of the Secrets of a cluster, not the keys of its authorities', () => {
    const { keepsSecret } = REGISTRIES.clusterAPI;
    const all = ['prod-kubeconfig', 'prod-ca', 'prod-etcd', 'prod-sa'];
    assert.deepEqual(all.filter((name) => keepsSecret?.(secretOf(`ns/${name}`, {}))), ['prod-kubeconfig']);
  });
});

describe('Argo CD', () => {
  const from = { argoCD: {} };
  const entry = (texts: Readonly<Record<string, string>>) => ({ from, secrets: [secretOf('argocd/c', texts)] });
  const server = 'https://eu.example:6443';
  const config = (fields: object) => entry({ name: 'eu', server, config: JSON.stringify(fields) });
  const kubeconfig = (of: RegistryCase) => only(of).split(' | ').slice(2).join(' | ');

  it('composes a kubeconfig of what "argocd cluster add" writes', () => {
    const text = kubeconfig(config({
      bearerToken: 'T', tlsClientConfig: { insecure: false, caData: 'Q0E=', serverName: 'api.eu' },
    }));
    hasAll(text, [`server: ${server}`, 'token: T', 'certificate-authority-data: Q0E=', 'tls-server-name: api.eu']);
    assert.ok(!text.includes('insecure-skip-tls-verify'));
  });

  it('hands on what will be refused, so that it is refused by name', () => {
    const tlsClientConfig = { insecure: true };
    const text = kubeconfig(config({ username: 'u', password: 'p', proxyUrl: 'http://p', tlsClientConfig }));
    for (const part of ['proxy-url', 'insecure-skip-tls-verify: true', 'username', 'password']) {
      assert.ok(text.includes(part), part);
    }
  });

  const rows: readonly (readonly [string, RegistryCase, RegExp])[] = [
    [
      'never runs a command', config({ execProviderConfig: { command: 'sh' } }),
      /^Secret argocd\/c \| eu \| refused: .*execProviderConfig/,
    ],
    ['never logs in to AWS', config({ awsAuthConfig: { clusterName: 'c' } }), /refused: .*awsAuthConfig/],
    ['refuses a config that is no JSON', entry({ name: 'eu', server, config: '{' }), /refused: its config is not/],
    ['refuses a config that is a list', entry({ name: 'eu', server, config: '[]' }), /refused: its config is not/],
    ['waits for a server', entry({ name: 'eu', config: '{}' }), /waiting: the Secret has no key server/],
    ['knows the cluster that it is in', entry({ server: 'https://kubernetes.default.svc' }), /\| this-cluster$/],
    [
      'goes by its address without a name', entry({ server, config: '{}' }),
      /^Secret argocd\/c \| https:\/\/eu.example:6443 \|/,
    ],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.match(only(of), expected));

  it('says which clusters Argo CD has no name for', () => {
    const unnamed = (texts: Readonly<Record<string, string>>) =>
      readRegistry(entry({ server, config: '{}', ...texts })).map((cluster) => cluster.unnamed);
    assert.deepEqual([unnamed({}), unnamed({ name: ' ' }), unnamed({ name: server })], [[true], [true], [undefined]]);
  });
});

describe('Flux', () => {
  const from = { flux: {} };
  const kustomization = (kubeConfig: object, name = 'app', more = {}) =>
    objectOf(`flux-system/${name}`, { spec: { kubeConfig } }, more);
  const secrets = [secretOf('flux-system/prod-kubeconfig', { value: 'K', 'value.yaml': 'Y', other: 'O' })];
  const byName = { secretRef: { name: 'prod-kubeconfig' } };

  it('reads one cluster, however many objects name it', () => {
    const objects = {
      kustomizations: [kustomization(byName), kustomization(byName, 'more')],
      helmreleases: [kustomization(byName, 'chart'), objectOf('flux-system/here', { spec: {} })],
    };
    assert.equal(only({ from, objects, secrets }), 'Secret flux-system/prod-kubeconfig | prod | K');
  });

  it('reads the key that is named', () => assert.equal(
    only({
      from, secrets,
      objects: { kustomizations: [kustomization({ secretRef: { name: 'prod-kubeconfig', key: 'other' } })] },
    }),
    'Secret flux-system/prod-kubeconfig key other | prod | O',
  ));

  it('takes value.yaml where there is no value', () => assert.equal(
    only({
      from, secrets: [secretOf('flux-system/prod-kubeconfig', { 'value.yaml': 'Y' })],
      objects: { kustomizations: [kustomization(byName)] },
    }),
    'Secret flux-system/prod-kubeconfig | prod | Y',
  ));

  it('refuses a ConfigMap with a cloud login by its name', () => assert.match(
    only({ from, objects: { kustomizations: [kustomization({ configMapRef: { name: 'aws' } })] } }),
    /^ConfigMap flux-system\/aws \| aws \| refused: .*configMapRef/,
  ));

  it('names the Secret of an object in the object\'s own namespace', () => assert.deepEqual(
    REGISTRIES.flux.namedSecrets?.(kustomization(byName), from),
    [{ namespace: 'flux-system', name: 'prod-kubeconfig' }],
  ));
});

describe('ClusterProfile', () => {
  const from = { clusterProfile: {} };
  const cluster = { server: 'https://spoke.example', 'certificate-authority-data': 'Q0E=', 'tls-server-name': 'spoke' };
  const profile = (accessProviders: readonly object[], more: object = {}) => ({
    clusterprofiles: [objectOf('inventory/spoke', { spec: {}, status: { accessProviders, ...more } })],
  });
  const settings = (extension: object) => [{ name: 'client.authentication.k8s.io/exec', extension }];
  const secrets = [secretOf('inventory/spoke', { token: 'T' }), secretOf('inventory/k', { value: 'K' })];
  const reader = (extension: object) => [
    { name: 'kubeconfig-secretreader', cluster: { ...cluster, extensions: settings(extension) } },
  ];

  it('does what the plugin secretreader does, without running it', () => {
    const text = only({ from, secrets, objects: profile([{ name: 'other' }, { name: 'secretreader', cluster }]) });
    for (const part of ['server: https://spoke.example', 'token: T', 'tls-server-name: spoke']) {
      assert.ok(text.includes(part), part);
    }
  });

  it('is no entry when it was published of a target', () => {
    const spec = { clusterManager: { name: 'isthmus' } };
    const of = (more: object) => only({
      from, secrets, objects: { clusterprofiles: [objectOf('inventory/spoke', {
        spec, status: { accessProviders: [{ name: 'secretreader', cluster }] },
      }, more)] },
    });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ClusterTarget', name: 'spoke', uid: 'u' }];
    assert.equal(of({ ownerReferences }), 'none');
    assert.match(of({}), /token: T/);
  });

  it('does what kubeconfig-secretreader does: credentials of the kubeconfig, server of the profile', () => assert.equal(
    only({ from, secrets, objects: profile(reader({ name: 'k', key: 'value', context: 'c' })) }),
    'ClusterProfile inventory/spoke | spoke | K ' + JSON.stringify({
      context: 'c', server: { server: 'https://spoke.example', certificateAuthorityData: 'Q0E=', serverName: 'spoke' },
    }),
  ));

  const rows: readonly (readonly [string, RegistryCase, RegExp])[] = [
    [
      'runs no plugin', { from, objects: profile([{ name: 'eks-aws-auth', cluster }]) },
      /refused: its access providers eks-aws-auth are commands/,
    ],
    [
      'reads no Secret of another namespace',
      { from, secrets, objects: profile(reader({ name: 'k', key: 'value', namespace: 'kube-system' })) },
      /refused: .*Secrets of other namespaces are not read/,
    ],
    ['waits for providers', { from, objects: profile([]) }, /waiting: its cluster manager has named no access/],
    [
      'waits for a healthy control plane',
      {
        from, secrets,
        objects: profile(
          [{ name: 'secretreader', cluster }], { conditions: [{ type: 'ControlPlaneHealthy', status: 'False' }] },
        ),
      },
      /waiting: .*ControlPlaneHealthy/,
    ],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.match(only(of), expected));

  it('reads the providers under their former name, and its properties as labels', () => {
    const former = {
      clusterprofiles: [objectOf('inventory/spoke', {
        status: {
          credentialProviders: [{ name: 'secretreader', cluster }], properties: [{ name: 'location', value: 'eu' }],
        },
      })],
    };
    const [entry] = readRegistry({ from, secrets, objects: former });
    assert.equal(entry?.access.kind, 'kubeconfig');
    assert.deepEqual(entry?.labels, { location: 'eu' });
  });
});

describe('Fleet', () => {
  const from = { fleet: {} };
  const cluster = (spec: object) => ({ clusters: [objectOf('fleet-default/eu', { spec })] });
  const secrets = [secretOf('fleet-default/k', { value: 'K', apiServerURL: 'https://manager' })];
  const rows: readonly (readonly [string, RegistryCase, RegExp])[] = [
    [
      'reads the kubeconfig, not the address of the manager',
      { from, secrets, objects: cluster({ kubeConfigSecret: 'k' }) }, /^Cluster fleet-default\/eu \| eu \| K$/,
    ],
    ['refuses a cluster whose agent dials in', { from, objects: cluster({}) }, /refused: it has no kubeConfigSecret/],
    [
      'reads no Secret of another namespace',
      { from, objects: cluster({ kubeConfigSecret: 'k', kubeConfigSecretNamespace: 'kube-system' }) },
      /refused: it has no kubeConfigSecret in its own namespace/,
    ],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.match(only(of), expected));
});

describe('KubeFed', () => {
  const from = { kubeFed: {} };
  const cluster = (more: object = {}) => ({
    kubefedclusters: [objectOf('kfs/eu', {
      spec: { apiEndpoint: 'https://eu.example', caBundle: 'Q0E=', secretRef: { name: 's' } }, ...more,
    })],
  });
  it('composes a kubeconfig', () => {
    const text = only({ from, objects: cluster(), secrets: [secretOf('kfs/s', { token: 'T' })] });
    hasAll(text, ['KubeFedCluster kfs/eu', 'server: https://eu.example', 'token: T']);
  });
  it('waits for a token', () => assert.match(
    only({ from, objects: cluster(), secrets: [secretOf('kfs/s', {})] }), /waiting: its Secret has no key token/,
  ));
  it('waits for a cluster that is not Ready', () => assert.match(
    only({ from, objects: cluster({ status: { conditions: [{ type: 'Ready', status: 'False' }] } }) }),
    /waiting: .*not Ready/,
  ));
});

describe('Open Cluster Management', () => {
  const from = { ocm: { managedServiceAccount: 'isthmus' } };
  const accepted = { type: 'HubAcceptedManagedCluster', status: 'True' };
  const cluster = (conditions: readonly object[]) => objectOf('eu', {
    spec: { managedClusterClientConfigs: [{ url: 'https://eu.example', caBundle: 'Q0E=' }] }, status: { conditions },
  });
  const account = objectOf('eu/isthmus', { status: { tokenSecretRef: { name: 'isthmus' } } });
  const objects = (conditions: readonly object[], accounts = [account]) =>
    ({ managedclusters: [cluster(conditions)], managedserviceaccounts: accounts });
  const secrets = [secretOf('eu/isthmus', { token: 'T' })];

  it('takes the token of the ManagedServiceAccount, and the address of the ManagedCluster', () => {
    const text = only({ from, secrets, objects: objects([accepted]) });
    for (const part of ['ManagedCluster eu', 'server: https://eu.example', 'token: T']) assert.ok(text.includes(part));
  });

  const rows: readonly (readonly [string, RegistryCase, RegExp])[] = [
    ['waits until the hub accepts', { from, secrets, objects: objects([]) }, /waiting: the hub has not accepted/],
    [
      'waits for the agent',
      { from, secrets, objects: objects([accepted, { type: 'ManagedClusterConditionAvailable', status: 'False' }]) },
      /waiting: its agent does not answer/,
    ],
    [
      'waits for the account', { from, secrets, objects: objects([accepted], []) },
      /waiting: ManagedServiceAccount eu\/isthmus does not exist/,
    ],
  ];
  for (const [what, of, expected] of rows) it(what, () => assert.match(only(of), expected));

  it('names the Secrets of that account alone', () => assert.deepEqual(
    [account, objectOf('eu/other', { status: { tokenSecretRef: { name: 'x' } } })]
      .flatMap((object) => REGISTRIES.ocm.namedSecrets?.(object, from) ?? []),
    [{ namespace: 'eu', name: 'isthmus' }],
  ));
});
