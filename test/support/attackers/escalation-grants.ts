// What each identity that Isthmus makes may do, and so could do in the worst case: when it is stolen, or what acts as
// it is broken into. docs/threat-model.md shows the worst cases; test/integration/escalation.test.ts tries whether
// there is more.
import type { ShownPower } from './escalation-probe.ts';

/**
 * Namespaces of the world in which the grants are tried; `opened` lets sources in, `team-a` is offered to one alone.
 */
const PLACES = ['kube-system', 'isthmus-system', 'isthmus-system-keys', 'opened', 'stranger', 'team-a'];
const CLUSTER = ['the cluster'];
const INSTALL = ['isthmus-system'];
const KEYS = ['isthmus-system-keys'];
const EVERYWHERE = [...PLACES];

/** Permissions of one sort: where, the verb, on what, and whose. */
type Grant = readonly [places: readonly string[], verb: string, what: string, whose?: string];

/** An identity. */
export interface GrantedIdentity {
  readonly identity: string;
  /** In one or two sentences, for people. */
  readonly worstCase: string;
  readonly grants: readonly Grant[];
}

/**
 * What follows from a right, so that it need not be said: who reads pods reads their environment, who makes any pod
 * makes privileged ones.
 */
const FOLLOWS: readonly (readonly [power: RegExp, from: readonly string[]])[] = [
  [/^learn ConfigMaps in /, ['read configmaps']],
  [/^learn Secrets in /, ['read secrets']],
  // tokens of invitations look alike
  [/^learn tokens of ServiceAccounts$/, ['read secrets', 'read isthmus.dev/joinrequests']],
  [/^learn environment of pods in /, ['read pods', 'read multicluster.admiralty.io/podchaperons']],
  [/^run pods /, ['write pods']],
  [/^ask for pods /, [
    'write multicluster.admiralty.io/podchaperons', 'write multicluster.admiralty.io/podchaperons of its own',
  ]],
  [/^(make Secrets |plant the key)/, ['write secrets']],
  [/^take addresses /, ['write services']],
];

/** Whether an identity may have a power where it showed it. */
export function isGranted({ grants }: GrantedIdentity, { power, place }: ShownPower): boolean {
  const plain = power.replace(/ \(deletecollection\)$/, '');
  const powers = [plain, ...FOLLOWS.flatMap(([pattern, from]) => (pattern.test(plain) ? from : []))];
  return grants.some(
    (grant) => grant[0].includes(place) && powersOf(grant).some((granted) => powers.includes(granted)),
  );
}

/** As they are shown: `read pods`, `write services of its own`. */
export function powersOf([, verb, what, whose]: Grant): readonly string[] {
  return what.split(' ').map((resource) => `${verb} ${resource}${whose === undefined ? '' : ` ${whose}`}`);
}

const OPENED = ['opened'];
const A = 'multicluster.admiralty.io';
const I = 'isthmus.dev';
const STREAMS = 'pods/exec pods/attach pods/portforward';
const ROLES = 'rbac.authorization.k8s.io/roles rbac.authorization.k8s.io/rolebindings';
const SOURCE_READS =
  `pods ${A}/podchaperons configmaps services networking.k8s.io/ingresses events.k8s.io/events ${I}/secretcopies ` +
    `${I}/sourceleases`;
const SOURCE_MAKES = `${A}/podchaperons configmaps secrets services networking.k8s.io/ingresses ${I}/sourceleases`;

/** In namespaces that let it in. */
const sourceIn = (places: readonly string[]): readonly Grant[] => [
  [places, 'read', `${SOURCE_READS} resourcequotas`],
  [places, 'write', SOURCE_MAKES, 'of its own'],
];
/** In all others it may look, so that it finds what it has there. */
const SOURCE_ELSEWHERE: readonly Grant[] =
  [[EVERYWHERE, 'read', SOURCE_READS], [CLUSTER, 'read', `${A}/clustersummaries`]];
const ownTokensIn = (place: string): Grant => [[place], 'get', 'tokens', 'of its own'];

const SOURCES: readonly GrantedIdentity[] = [
  {
    identity: 'a source by isthmus peer',
    worstCase:
      'In namespaces that allow it: runs pods at the Pod Security Standard `baseline`, with any Secret, volume ' +
        'and ServiceAccount there except those of sources; reads logs of its own pods and execs into them. ' +
        'Elsewhere it reads pods, PodChaperons, ConfigMaps, Services, Ingresses and events, and deletes its own ' +
        'objects. Reads no Secret; writes nothing in `kube-*`, the install namespace and those of keys and of ' +
        'discovered targets.',
    grants: [...sourceIn(OPENED), ...SOURCE_ELSEWHERE, ownTokensIn('isthmus-system')],
  },
  {
    identity: 'a source by isthmus invite and join', worstCase: 'The same.',
    grants: [...sourceIn(OPENED), ...SOURCE_ELSEWHERE, ownTokensIn('isthmus-system')],
  },
  {
    identity: 'a source by isthmus peer --namespace',
    worstCase: 'The same, in its one namespace; elsewhere only the ClusterSummary.',
    grants: [...sourceIn(['team-a']), [CLUSTER, 'read', `${A}/clustersummaries`], ownTokensIn('team-a')],
  },
  {
    identity: 'a ClusterSource written for Admiralty',
    worstCase:
      'Without `namespaces`, `podSecurity` and `clusterID` it is as powerful as in Admiralty: runs any pod in ' +
        'all namespaces except `kube-*`, the install namespace and those of keys and of discovered targets, which ' +
        'is as much as the strongest ServiceAccount there, and writes copies of other sources. Reads no Secret. ' +
        'Add the three fields.',
    grants: [
      ...sourceIn(['opened', 'stranger', 'team-a']), ...SOURCE_ELSEWHERE, ownTokensIn('stranger'),
      [EVERYWHERE, 'read', 'resourcequotas'],
      [EVERYWHERE, 'write', `${A}/podchaperons configmaps services networking.k8s.io/ingresses`, 'of others'],
      [
        ['opened', 'stranger', 'team-a'], 'write',
        `${A}/podchaperons configmaps services networking.k8s.io/ingresses ${I}/sourceleases`, 'of nobody',
      ],
      [['opened', 'stranger', 'team-a'], 'write', 'secrets', 'of others'],
      [EVERYWHERE, 'write', `${I}/sourceleases`, 'of others'],
    ],
  },
];

/** Where ServiceAccounts of sources are. */
const ACCOUNTS = ['isthmus-system', 'stranger', 'team-a'];
const COMMON: readonly Grant[] =
  [[INSTALL, 'read', 'coordination.k8s.io/leases'], [INSTALL, 'write', 'coordination.k8s.io/leases']];
const FOLLOWING: readonly Grant[] = [
  [EVERYWHERE, 'read', `pods ${A}/targets`], [CLUSTER, 'read', `${A}/clustertargets`],
  [['isthmus-system', 'team-a'], 'read', 'secrets'],
];
/** Addresses of the cluster itself, which Targets of tenants may not be in. */
const OWN_RANGES: Grant = [CLUSTER, 'read', 'networking.k8s.io/servicecidrs'];
const EVENTS: Grant = [EVERYWHERE, 'write', 'events.k8s.io/events'];

const COMPONENTS: readonly GrantedIdentity[] = [
  {
    identity: 'isthmus-webhook in a source',
    worstCase:
      'Decides on every elected pod, so it can run something else in its place. Reads the specs of all pods. ' +
        'Reads only its own keys, but can add Secrets next to them, in the namespace of keys.',
    grants: [
      [EVERYWHERE, 'read', `pods ${I}/namespaceelections`],
      [CLUSTER, 'read', `namespaces ${A}/clustertargets admissionregistration.k8s.io/mutatingwebhookconfigurations`],
      [KEYS, 'write', 'secrets'], EVENTS,
    ],
  },
  {
    identity: 'isthmus-scheduler in a source',
    worstCase:
      'Deletes, evicts and binds any pod, deletes any PlacementPolicy, reads the Secrets of the install namespace, ' +
        'and acts in all targets as this source. Where `isthmus-cluster-profile-writer` is bound, it can name any ' +
        'cluster to those who read ClusterProfiles and PlacementDecisions there.',
    grants: [
      ...COMMON, ...FOLLOWING, OWN_RANGES, EVENTS, [
        EVERYWHERE, 'write',
        `pods pods/binding pods/eviction pods/status ${I}/placementpolicies ${I}/placementpolicies/status ` +
          `${I}/clusterdecisions/status`,
      ], [EVERYWHERE, 'read', `${I}/placementpolicies ${I}/clusterdecisions`],
      [CLUSTER, 'read', `nodes namespaces ${I}/clusterplacementpolicies ${I}/targetdiscoveries`],
      [CLUSTER, 'write', `${I}/clusterplacementpolicies/status`], [INSTALL, 'write', 'configmaps'],
    ],
  },
  {
    identity: 'isthmus-delegate-controller in a source',
    worstCase:
      'Reads all Secrets and ConfigMaps of the cluster, because elected pods can reference any (leave `isthmus-' +
        'followed-reader` unbound if nothing should follow), deletes any pod, and acts in all targets as this ' +
        'source.',
    grants: [
      ...COMMON, ...FOLLOWING, OWN_RANGES, EVENTS, [
        EVERYWHERE, 'read', `secrets configmaps services networking.k8s.io/ingresses ${I}/placementpolicies`,
      ], [EVERYWHERE, 'write', 'pods pods/status services networking.k8s.io/ingresses'],
      [CLUSTER, 'read', `nodes namespaces ${I}/clusterplacementpolicies ${A}/clustersummaries`],
      [CLUSTER, 'write', `${A}/clustersummaries`], [INSTALL, 'read', `${I}/clustersetmembers ${I}/clustersetendpoints`],
    ],
  },
  {
    identity: 'isthmus-virtual-node in a source',
    worstCase:
      'Changes and removes any Node, evicts any pod, receives the tokens of clients of the kubelet API, reads ' +
        'the Secrets of the install namespace, and acts in all targets as this source.',
    grants: [
      ...COMMON, ...FOLLOWING, OWN_RANGES, EVENTS,
      [EVERYWHERE, 'write', `${A}/targets ${A}/targets/status pods/eviction`],
      [CLUSTER, 'read', 'nodes certificates.k8s.io/certificatesigningrequests'],
      [
        CLUSTER, 'write',
        `nodes nodes/status certificates.k8s.io/certificatesigningrequests ${A}/clustertargets ` +
          `${A}/clustertargets/status`,
      ],
    ],
  },
  {
    identity: 'isthmus-peering in a source',
    worstCase:
      'Reads the Secrets of the install namespace, acts in all targets as this source, and renews its tokens.',
    grants: [...COMMON, ...FOLLOWING],
  },
  {
    identity: 'isthmus-discovery in a source',
    worstCase:
      'Makes ClusterTargets, changes and removes those that it has made, and writes their kubeconfigs in the ' +
        'namespace of discovered targets: it can lead elected pods, with the ConfigMaps and Secrets that follow ' +
        'them, to any cluster. An admission policy holds it to that. Reads Secrets of registries in the namespaces ' +
        'where `isthmus-registry-secret-reader` is bound, and no others.',
    grants: [
      ...COMMON, OWN_RANGES, [CLUSTER, 'read', `nodes ${A}/clustertargets ${I}/targetdiscoveries`],
      [CLUSTER, 'write', `${A}/clustertargets ${I}/targetdiscoveries/status`],
    ],
  },
  {
    identity: 'isthmus-delegate-controller in a target',
    worstCase:
      'Creates and execs into any pod in any namespace: as much as the strongest ServiceAccount of the cluster,' +
        ' in effect everything. Reads Secrets of the cluster to report copies.',
    grants: [
      ...COMMON,
      EVENTS, [EVERYWHERE, 'read', `pods secrets ${A}/podchaperons ${I}/sourceleases ${I}/secretcopies ${A}/sources`],
      [
        EVERYWHERE, 'write',
        `pods pods/status pods/resize ${A}/podchaperons ${A}/podchaperons/status ${I}/sourceleases ` +
          `${I}/sourceleases/status ${I}/secretcopies`,
      ],
      [EVERYWHERE, 'read', `pods/log ${STREAMS} ${ROLES}`], [EVERYWHERE, 'write', `${STREAMS} ${ROLES}`],
      [CLUSTER, 'read', `nodes ${I}/resourceshares ${A}/clustersources`],
      [CLUSTER, 'write', `${I}/resourceshares/status ${A}/clustersummaries`],
    ],
  },
  {
    identity: 'isthmus-peering in a target',
    worstCase:
      'Creates and removes sources, for any cluster and in any namespace except `kube-*`, so it can run what a ' +
        'source can run, and gets tokens of accounts that can do no more. Reads the key of invitations. Two ' +
        'admission policies, which it can read but not change, enforce this.',
    grants: [
      [ACCOUNTS, 'write', 'serviceaccounts/token'],
      ...COMMON, EVENTS, [
        EVERYWHERE, 'read',
        `serviceaccounts rbac.authorization.k8s.io/roles rbac.authorization.k8s.io/rolebindings ${A}/sources ` +
          `${I}/invitations ${I}/joinrequests`,
      ],
      [
        EVERYWHERE, 'write',
        `serviceaccounts rbac.authorization.k8s.io/rolebindings ${A}/sources ${A}/sources/status ${I}/invitations ` +
          `${I}/invitations/status ${I}/joinrequests ${I}/joinrequests/status`,
      ],
      [
        CLUSTER, 'read',
        `namespaces ${A}/clustersources rbac.authorization.k8s.io/clusterroles ` +
          'rbac.authorization.k8s.io/clusterrolebindings admissionregistration.k8s.io/validatingadmissionpolicies ' +
          'admissionregistration.k8s.io/validatingadmissionpolicybindings',
      ],
      [
        CLUSTER, 'write',
        `${A}/clustersources ${A}/clustersources/status rbac.authorization.k8s.io/clusterroles ` +
          'rbac.authorization.k8s.io/clusterrolebindings',
      ],
    ],
  },
];

/** `isthmus run` acts as one account, with what all components of its cluster have. */
const togetherIn = (where: string): GrantedIdentity => ({
  identity: `isthmus in a ${where}`,
  worstCase: `Everything that the components of a ${where} can do together; \`isthmus run\` acts as this account.`,
  grants: COMPONENTS.filter(({ identity }) => identity.endsWith(` in a ${where}`)).flatMap(({ grants }) => grants),
});

/** All of them, as the page shows them. */
export const GRANTS: readonly GrantedIdentity[] = [
  ...SOURCES,
  {
    identity: 'anyone who has an invitation',
    worstCase:
      'Requests to join, at most ten times within 25 minutes; is admitted once, unless `--approval` was set.',
    grants: [[INSTALL, 'write', `${I}/joinrequests`]],
  },
  {
    identity: 'a tenant with edit in a namespace',
    worstCase:
      'What Kubernetes lets it do in its namespace, and the same in the targets that its pods are sent to: ' +
        'Isthmus adds no permission. If an administrator lets it write Targets, Isthmus connects to addresses that ' +
        'it chooses, within the [limits](targets.md).',
    grants: [],
  },
  ...COMPONENTS,
  togetherIn('source'),
  togetherIn('target'),
];

/** What Kubernetes' own role `edit` gives a tenant in its namespace is not ours to judge; our kinds are. */
export function isOfKubernetes(identity: string, { power, place }: ShownPower): boolean {
  return identity.startsWith('a tenant') && place === 'team-a' && !power.includes(A) && !power.includes(I);
}
