// What an identity tries: each verb on each resource that is served, in each namespace, and the tricks that turn a
// small right into a large one. An attempt that is let in shows a power; whether the identity may have that power is
// not decided here.
import { PARENT_CLUSTER_LABEL, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { ADMINISTRATOR, OTHER_SOURCE } from './escalation-canaries.ts';
import type { RawCall } from './raw-api-client.ts';
import { resourceName, rootOf, type ServedResource } from '../worlds/served-resources.ts';

/** One call, and what it shows when it is let in. */
export interface Attempt extends RawCall {
  /** As `write podchaperons of its own`. */
  readonly power: string;
  /** A namespace; `the cluster` for what has none. */
  readonly place: string;
  /** Made without dryRun, so that an administrator has to take it away again. */
  readonly leaves?: true;
  /** It shows no power to be let in, only what the answer holds. */
  readonly isForItsAnswer?: true;
}

/** Who tries, and where. */
export interface Trier {
  /** Namespaces to try in. */
  readonly places: readonly string[];
  /** Cluster ID of a source; missing for others. */
  readonly clusterId?: string | undefined;
  readonly account: { readonly namespace: string; readonly name: string };
}

const CLUSTER = 'the cluster';
const DRY = 'dryRun=All';
const READ_VERBS = ['get', 'list'];
/** Canaries are called so. */
const NAME = 'canary';
/** Reviews about oneself, which all accounts may make. */
const HARMLESS_GROUPS: ReadonlySet<string> = new Set(['authorization.k8s.io', 'authentication.k8s.io']);

/** All verbs on all that is served, without effect. */
export function plainAttempts(resources: readonly ServedResource[], trier: Trier): readonly Attempt[] {
  return resources.filter(({ group }) => !HARMLESS_GROUPS.has(group)).flatMap((resource) => {
    const places = resource.namespaced ? trier.places : [CLUSTER];
    return places.flatMap((place) => (
      resource.subresource === undefined ? verbsOn(resource, place, trier) : verbsOnSubresource(resource, place)
    ));
  });
}

function pathOf(resource: ServedResource, place: string, name = ''): string {
  const { plural, subresource, namespaced } = resource;
  return [rootOf(resource), ...(namespaced ? ['namespaces', place] : []), plural, ...(name === '' ? [] : [name]), ...(
    subresource === undefined ? [] : [subresource]
  )].join('/');
}

function verbsOn(resource: ServedResource, place: string, trier: Trier): readonly Attempt[] {
  const what = resourceName(resource);
  const [one, all] = [pathOf(resource, place, NAME), pathOf(resource, place)];
  const reads = READ_VERBS.filter((verb) => resource.verbs.includes(verb))
    .map((verb): Attempt => ({ method: 'GET', path: verb === 'get' ? one : all, power: `read ${what}`, place }));
  const owners = trier.clusterId === undefined ? [['', {}] as const] : [
    [' of its own', ownLabels(trier.clusterId)] as const, [' of others', ownLabels(OTHER_SOURCE)] as const,
    [' of nobody', {}] as const,
  ];
  const creates = resource.verbs.includes('create') ? owners
    .map(
      ([whose, labels]): Attempt => ({
        method: 'POST', path: `${all}?${DRY}`, body: bodyOf(resource, { namespace: place, name: 'probe', labels }),
        power: `write ${what}${whose}`, place,
      }),
    ) : [];
  const whose = trier.clusterId === undefined ? '' : ' of others';
  const patch =
    { metadata: { labels: { probe: 'x', ...(trier.clusterId !== undefined && ownLabels(trier.clusterId)) } } };
  const others: readonly Attempt[] = [
    ...(
      resource.verbs.includes('patch')
        ? [{ method: 'PATCH', path: `${one}?${DRY}`, body: patch, power: `write ${what}${whose}`, place }]
        : []
    ),
    ...(
      resource.verbs.includes('delete') ? deletions(one)
        .map((path) => ({ method: 'DELETE', path, power: `write ${what}${whose}`, place })) : []
    ),
    ...(
      resource.verbs.includes('deletecollection') ? [{
        method: 'DELETE',
        path: `${all}?${DRY}&labelSelector=${encodeURIComponent(`${PARENT_CLUSTER_LABEL}=${OTHER_SOURCE}`)}`,
        power: `write ${what}${whose} (deletecollection)`, place,
      }] : []
    ),
  ];
  return [...reads, ...creates, ...others];
}

/** All without effect, however they go about it: what is answered may still show the object. */
function deletions(path: string): readonly string[] {
  return [
    '', '&propagationPolicy=Foreground', '&propagationPolicy=Orphan',
    '&propagationPolicy=Background&gracePeriodSeconds=60',
  ].map((more) => `${path}?${DRY}${more}`);
}

/** Connections and all else below an object; without an upgrade a connection that is let in is a bad request. */
function verbsOnSubresource(resource: ServedResource, place: string): readonly Attempt[] {
  const { verbs } = resource;
  const what = resourceName(resource);
  const path = pathOf(resource, place, NAME);
  const query = resource.subresource === 'exec'
    ? '?command=sh&stdout=true'
    : resource.subresource === 'attach' ? '?stdout=true' : '';
  return [
    ...(verbs.includes('get') ? [{ method: 'GET', path: `${path}${query}`, power: `read ${what}`, place }] : []),
    ...(
      verbs.includes('create') ? [{
        method: 'POST', path: query === '' ? `${path}?${DRY}` : `${path}${query}`, body: {}, power: `write ${what}`,
        place,
      }] : []
    ),
    ...(
      verbs.includes('patch') ? [{
        method: 'PATCH', path: `${path}?${DRY}`, body: { metadata: { labels: { probe: 'x' } } }, power: `write ${what}`,
        place,
      }] : []
    ),
  ];
}

function ownLabels(clusterId: string): Readonly<Record<string, string>> {
  return { [PARENT_CLUSTER_LABEL]: clusterId, [PARENT_UID_LABEL]: 'uid' };
}

const CONTAINERS = [{ name: 'app', image: 'app:1' }];
/** What an object of a kind needs to get past validation, so that admission is what is asked. */
const SPECS: Readonly<Record<string, object>> = {
  pods: { spec: { containers: CONTAINERS } },
  'multicluster.admiralty.io/podchaperons': { spec: { containers: CONTAINERS } },
  services: { spec: { ports: [{ port: 80 }] } },
  'networking.k8s.io/ingresses': { spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } } },
  'rbac.authorization.k8s.io/rolebindings':
    { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }, subjects: [] },
  'rbac.authorization.k8s.io/clusterrolebindings':
    { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }, subjects: [] },
  'rbac.authorization.k8s.io/roles':
    { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'bind', 'escalate'] }] },
  'rbac.authorization.k8s.io/clusterroles':
    { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'bind', 'escalate'] }] },
  'isthmus.dev/sourceleases': { spec: { holder: 'h', durationSeconds: 60, renewTime: '2026-01-01T00:00:00.000000Z' } },
};

function bodyOf({ group, version, plural, kind, namespaced }: ServedResource, { namespace, name, labels }: {
  readonly namespace: string; readonly name: string; readonly labels: object
}): object {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return {
    apiVersion, kind, metadata: { name, labels, ...(namespaced && { namespace }) },
    ...SPECS[resourceName({ group, plural })],
  };
}

const SECRET_TYPES: readonly (readonly [type: string, more: object])[] = [
  ['kubernetes.io/service-account-token', {
    metadata: { annotations: { 'kubernetes.io/service-account.name': ADMINISTRATOR } },
  }],
  ['bootstrap.kubernetes.io/token', {
    metadata: { name: 'bootstrap-token-abcdef' },
    stringData: { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' },
  }],
  ['helm.sh/release.v1', {}],
];

const PODS: readonly (readonly [how: string, spec: object])[] = [
  ['privileged', { containers: [{ ...CONTAINERS[0], securityContext: { privileged: true } }] }],
  ["with the host's processes", { hostPID: true }],
  ["with the host's network", { hostNetwork: true }],
  ["with the host's files", { volumes: [{ name: 'h', hostPath: { path: '/' } }] }],
];

/** Attempts that a plain verb does not show. */
export function trickAttempts({ places, clusterId, account }: Trier): readonly Attempt[] {
  const labels = clusterId === undefined ? {} : ownLabels(clusterId);
  return [
    ...places.flatMap(
      (place) => [...secretTricks(place, labels), ...podTricks(place, labels), ...networkTricks(place, labels)],
    ),
    ...tokenTricks(account), ...impersonations(),
  ];
}

function secretTricks(place: string, labels: object): readonly Attempt[] {
  const path = `/api/v1/namespaces/${place}/secrets`;
  const secret = (type: string, { metadata = {}, ...more }: { readonly metadata?: object }, leaves: boolean): Attempt =>
    ({
    method: 'POST', path: leaves ? path : `${path}?${DRY}`,
    body: { apiVersion: 'v1', kind: 'Secret', type, metadata: { name: 'probe', labels, ...metadata }, ...more },
    power: `make Secrets of type ${type}`, place, ...(leaves && { leaves }),
  });
  const finalized: Attempt = {
    ...secret('Opaque', { metadata: { finalizers: ['example.com/stay'] } }, false),
    power: 'make Secrets with finalizers',
  };
  const planted: Attempt = {
    ...secret('Opaque', { metadata: { name: 'isthmus-invitation-key' } }, false), power: 'plant the key of invitations',
  };
  return [
    ...SECRET_TYPES.map(([type, more]) => secret(type, more, type === 'kubernetes.io/service-account-token')),
    finalized,
    ...(place === 'isthmus-system-keys' ? [planted] : []),
    // What was made above is filled in by Kubernetes, and told back by whoever can make the server print it.
    ...deletions(`${path}/probe`).map(
      (each): Attempt => ({ method: 'DELETE', path: each, power: '', place, isForItsAnswer: true }),
    ),
    {
      method: 'PATCH', path: `${path}/probe?${DRY}`, body: { metadata: { labels: { probe: 'x' } } }, power: '', place,
      isForItsAnswer: true,
    },
  ];
}

function podTricks(place: string, labels: object): readonly Attempt[] {
  return PODS.flatMap(([how, hazard]): readonly Attempt[] => {
    const object = (apiVersion: string, kind: string) =>
      ({ apiVersion, kind, metadata: { name: 'probe', labels }, spec: { containers: CONTAINERS, ...hazard } });
    return [
      {
        method: 'POST', path: `/api/v1/namespaces/${place}/pods?${DRY}`, body: object('v1', 'Pod'),
        power: `run pods ${how}`, place,
      },
      {
        method: 'POST', path: `/apis/multicluster.admiralty.io/v1alpha1/namespaces/${place}/podchaperons?${DRY}`,
        body: object('multicluster.admiralty.io/v1alpha1', 'PodChaperon'), power: `ask for pods ${how}`, place,
      },
    ];
  });
}

function networkTricks(place: string, labels: object): readonly Attempt[] {
  const service: object = {
    apiVersion: 'v1', kind: 'Service', metadata: { name: 'probe', labels },
    spec: { ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] },
  };
  return [{
    method: 'POST', path: `/api/v1/namespaces/${place}/services?${DRY}`, body: service,
    power: 'take addresses by externalIPs', place,
  }];
}

const TEN_YEARS = 10 * 365 * 24 * 60 * 60;

function tokenTricks({ namespace, name }: Trier['account']): readonly Attempt[] {
  const request =
    (of: { readonly namespace: string; readonly name: string }, expirationSeconds: number, power: string): Attempt => ({
    method: 'POST', path: `/api/v1/namespaces/${of.namespace}/serviceaccounts/${of.name}/token`, body: {
      apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds },
    }, power, place: of.namespace,
  });
  return [
    request({ namespace, name }, TEN_YEARS, 'get tokens of its own for ten years'),
    request({ namespace, name }, 3_600, 'get tokens of its own'),
    request({ namespace: 'kube-system', name: ADMINISTRATOR }, 3_600, 'get tokens of an administrator'),
    request({ namespace: 'isthmus-system', name: 'isthmus-peering' }, 3_600, 'get tokens of our components'),
    request({ namespace: 'opened', name: NAME }, 3_600, 'get tokens of accounts in opened namespaces'),
  ].filter(({ path, power }) => power.includes('its own') || !path.includes(`/${namespace}/serviceaccounts/${name}/`));
}

function impersonations(): readonly Attempt[] {
  const as: readonly Readonly<Record<string, string>>[] = [
    { 'impersonate-user': 'system:admin', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': `system:serviceaccount:kube-system:${ADMINISTRATOR}` },
  ];
  return as.map(
    (headers) => ({ method: 'GET', path: '/api/v1/nodes', headers, power: 'impersonate others', place: CLUSTER }),
  );
}
