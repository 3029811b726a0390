// What no registry's entry may have, tried in each registry: it is refused by the entry's name before anything is sent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import type { RegistryName } from '../../../../api/registry/registry-choice.ts';
import { REGISTRY_NAMES } from '../../../../api/registry/registry-choice.ts';
import { checkAccess } from '../../../../discovery/access/check-access.ts';
import type { AccessFields } from '../../../../discovery/entry/composed-kubeconfig.ts';
import { parseRange } from '../../../../model/network/ip-range.ts';
import { toDnsService, type ServiceAddress } from '../../../../discovery/entry/dns-service.ts';
import { TenantRules } from '../../../../targets/access/tenant-rules.ts';
import { objectOf, readRegistry, secretOf, type RegistryCase } from '../../../support/objects/registry-objects.ts';

const NEVER = new AbortController().signal;
/** Where nothing listens, so that what is not refused is not answered. */
const SERVER = 'https://127.0.0.1:1';
const loopback = parseRange('127.0.0.0/8');
const settings =
  { allowed: loopback === undefined ? [] : [loopback], denied: [], targetsPerNamespace: 20, cacheMiB: 32 };
const options = { tenants: new TenantRules(settings), userAgent: 'isthmus-test', gateways: [] };
const AUTHORITY = 'Q0E=';

/** What an entry is told to be, in one line. */
async function outcome(of: RegistryCase): Promise<string> {
  const [cluster, ...more] = readRegistry(of);
  assert.ok(cluster !== undefined && more.length === 0);
  const { entry, access } = cluster;
  const result = access.kind === 'kubeconfig' ? await checkAccess({ ...options, access }, NEVER) : access;
  return `${entry}: ${result.kind}: ${'message' in result ? result.message : ''}`;
}

type Part = Record<string, unknown>;

function kubeconfig(change: (cluster: Part, user: Part) => void): string {
  const [cluster, user]: [Part, Part] =
    [{ server: SERVER, 'certificate-authority-data': AUTHORITY }, { token: 'T' }];
  change(cluster, user);
  return stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'c', clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user }], contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  });
}

const SETTINGS = 'client.authentication.k8s.io/exec';
const profile = (name: string, cluster: object, extension: object = {}) => ({
  from: { clusterProfile: {} },
  objects: {
    clusterprofiles: [objectOf('ns/eu', {
      status: { accessProviders: [{ name, cluster: { ...cluster, extensions: [{ name: SETTINGS, extension }] } }] },
    })],
  },
});

/** An entry with this kubeconfig, in each registry that has kubeconfigs. */
const BY_KUBECONFIG: Readonly<Record<string, readonly [entry: string, of: (text: string) => RegistryCase]>> = {
  kubeconfigSecrets: ['Secret ns/eu', (text) => (
    { from: { kubeconfigSecrets: {} }, secrets: [secretOf('ns/eu', { kubeconfig: text })] }
  )],
  clusterAPI: ['Cluster ns/eu', (text) => ({
    from: { clusterAPI: {} }, secrets: [secretOf('ns/eu-kubeconfig', { value: text })],
    objects: { clusters: [objectOf('ns/eu', { status: { initialization: { controlPlaneInitialized: true } } })] },
  })],
  flux: ['Secret ns/eu', (text) => ({
    from: { flux: {} }, secrets: [secretOf('ns/eu', { value: text })],
    objects: { kustomizations: [objectOf('ns/app', { spec: { kubeConfig: { secretRef: { name: 'eu' } } } })] },
  })],
  fleet: ['Cluster ns/eu', (text) => ({
    from: { fleet: {} }, secrets: [secretOf('ns/k', { value: text })],
    objects: { clusters: [objectOf('ns/eu', { spec: { kubeConfigSecret: 'k' } })] },
  })],
  clusterProfile: ['ClusterProfile ns/eu', (text) => ({
    ...profile('kubeconfig-secretreader', {}, { name: 'k', key: 'value' }),
    secrets: [secretOf('ns/k', { value: text })],
  })],
};

const REFUSED_KUBECONFIGS: readonly (readonly [what: string, text: string, why: RegExp])[] = [
  ['a command', kubeconfig((_c, user) => (user['exec'] = { command: 'sh' })), /exec, which is not allowed/],
  ['an auth provider', kubeconfig((_c, user) => (user['auth-provider'] = { name: 'gcp' })), /auth-provider/],
  ['a token file', kubeconfig((_c, user) => (user['tokenFile'] = '/var/run/secrets/x')), /tokenFile/],
  ['a key file', kubeconfig((_c, user) => (user['client-key'] = '/etc/x')), /client-key/],
  ['a certificate file', kubeconfig((_c, user) => (user['client-certificate'] = '/etc/x')), /client-certificate/],
  ['an authority file', kubeconfig((cluster) => (cluster['certificate-authority'] = '/x')), /certificate-authority/],
  ['a proxy', kubeconfig((cluster) => (cluster['proxy-url'] = 'http://p')), /proxy-url/],
  ['no verification', kubeconfig((of) => (of['insecure-skip-tls-verify'] = true)), /insecure-skip-tls-verify/],
  ['a password', kubeconfig((_c, user) => (user['password'] = 'p')), /password/],
  ['the metadata service', kubeconfig((of) => (of['server'] = 'https://169.254.169.254')), /link-local or metadata/],
  ['the same in IPv6', kubeconfig((of) => (of['server'] = 'https://[fd00:ec2::254]')), /metadata|may not use/],
  ['this host', kubeconfig((of) => (of['server'] = 'https://[::1]:6443')), /that Targets may not use/],
  ['a special range', kubeconfig((of) => (of['server'] = 'https://192.0.2.1')), /that Targets may not use/],
  ['plain HTTP', kubeconfig((of) => (of['server'] = 'http://192.0.2.1')), /https/],
  ['no credentials', kubeconfig((_c, user) => delete user['token']), /neither a token nor a client certificate/],
  ['the same as a number', kubeconfig((of) => (of['server'] = 'https://0xa9fea9fe')), /link-local or metadata/],
  ['the same in mapped IPv6', kubeconfig((of) => (of['server'] = 'https://[::ffff:a9fe:a9fe]')), /metadata/],
  ['impersonation', kubeconfig((_c, user) => (user['as'] = 'system:admin')), /the kubeconfig uses as, which/],
  ['a token of several lines', kubeconfig((_c, user) => (user['token'] = 'T\r\nX-Forged: 1')), /token/],
  ['text that is no YAML', '{', /not valid YAML/],
  ['no cluster at all', 'apiVersion: v1\nkind: Config\n', /./],
  ['lists where there are none', 'clusters: {}\nusers: 7\ncontexts: x\ncurrent-context: [c]\n', /./],
  ['a bomb of aliases', `a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n${'- '.repeat(12_000)}`, /./],
  ['a bomb of nestings', '['.repeat(5_000), /too large or too deeply nested/],
  ['a megabyte', `${kubeconfig(() => undefined)}#${'x'.repeat(1_000_000)}`, /longer than/],
];

/** An entry with these fields, in each registry that has fields; undefined where it has none of that kind. */
const BY_FIELDS: Readonly<Record<string, readonly [entry: string, of: (fields: AccessFields) => RegistryCase]>> = {
  argoCD: ['Secret ns/eu', (fields) => ({
    from: { argoCD: {} },
    secrets: [secretOf('ns/eu', {
      name: 'eu', server: fields.server ?? '',
      config: JSON.stringify({
        bearerToken: fields.token, username: fields.username, password: fields.password, proxyUrl: fields.proxyUrl,
        tlsClientConfig: { insecure: fields.insecure, caData: AUTHORITY },
      }),
    })],
  })],
  clusterProfile: ['ClusterProfile ns/eu', (fields) => ({
    ...profile('secretreader', {
      server: fields.server, 'certificate-authority-data': AUTHORITY, 'proxy-url': fields.proxyUrl,
      'insecure-skip-tls-verify': fields.insecure, 'certificate-authority': fields.certificateAuthorityFile,
    }), secrets: [secretOf('ns/eu', { token: fields.token ?? '' })],
  })],
  ocm: ['ManagedCluster eu', (fields) => ({
    from: { ocm: { managedServiceAccount: 'isthmus' } },
    objects: {
      managedclusters: [objectOf('eu', {
        spec: { managedClusterClientConfigs: [{ url: fields.server, caBundle: AUTHORITY }] },
        status: { conditions: [{ type: 'HubAcceptedManagedCluster', status: 'True' }] },
      })],
      managedserviceaccounts: [objectOf('eu/isthmus', { status: { tokenSecretRef: { name: 'isthmus' } } })],
    },
    secrets: [secretOf('eu/isthmus', { token: fields.token ?? '' })],
  })],
  kubeFed: ['KubeFedCluster ns/eu', (fields) => ({
    from: { kubeFed: {} },
    objects: {
      kubefedclusters: [objectOf('ns/eu', {
        spec: {
          apiEndpoint: fields.server, caBundle: AUTHORITY, secretRef: { name: 's' }, proxyURL: fields.proxyUrl,
          ...(fields.insecure === true && { disabledTLSValidations: ['SubjectName'] }),
        },
      })],
    },
    secrets: [secretOf('ns/s', { token: fields.token ?? '' })],
  })],
  dns: ['Service eu', (fields) => ({
    from: { dns: { domain: 'example' } }, namespace: 'ns',
    services: [toDnsService('eu', [addressOf(fields.server ?? '')], [])],
    secrets: [secretOf('ns/eu', { token: fields.token ?? '', 'ca.crt': 'CA' })],
  })],
};

/** DNS has a host and a port, and no more of an address. */
function addressOf(server: string): ServiceAddress {
  const { hostname: name = '', port = '' } = URL.canParse(server) ? new URL(server) : {};
  return { name, port: Number(port === '' ? 443 : port), priority: 0, weight: 0 };
}

const GOOD: AccessFields = { server: SERVER, token: 'T' };
const ALL = Object.keys(BY_FIELDS);
/** Where a server is a text and not the parts of it. */
const BY_TEXT = ALL.filter((name) => name !== 'dns');
type FieldsRow = readonly [what: string, fields: Partial<AccessFields>, why: RegExp, registries: readonly string[]];
const REFUSED_FIELDS: readonly FieldsRow[] = [
  ['the metadata service', { server: 'https://169.254.169.254' }, /link-local or metadata/, ALL],
  ['this host', { server: 'https://[::1]:6443' }, /that Targets may not use/, BY_TEXT],
  ['a special range', { server: 'https://192.0.2.1' }, /that Targets may not use/, ALL],
  ['an address of another spelling', { server: 'https://2852039166' }, /link-local or metadata/, ALL],
  ['plain HTTP', { server: 'http://192.0.2.1' }, /https/, BY_TEXT],
  ['a megabyte of a token', { token: 'x'.repeat(1_000_000) }, /longer than/, ALL],
  ['a token of several lines', { token: 'T\r\nX-Forged: 1' }, /token/, ALL],
  ['a server that is no URL', { server: 'nowhere' }, /./, BY_TEXT],
  ['a password in the address', { server: 'https://u:p@192.0.2.1' }, /./, BY_TEXT],
  ['a proxy', { proxyUrl: 'http://p' }, /proxy-url/, ['argoCD', 'clusterProfile', 'kubeFed']],
  ['no verification', { insecure: true }, /insecure-skip-tls-verify/, ['argoCD', 'clusterProfile', 'kubeFed']],
  ['an authority file', { certificateAuthorityFile: '/etc/x' }, /certificate-authority/, ['clusterProfile']],
  ['a password', { username: 'u', password: 'p' }, /username/, ['argoCD']],
];

describe('an entry that is refused by its name', () => {
  it('is tried in every registry', () => {
    const tried = new Set([...Object.keys(BY_KUBECONFIG), ...ALL]);
    assert.deepEqual(REGISTRY_NAMES.filter((name: RegistryName) => !tried.has(name)), []);
  });

  const harmless = [
    ...Object.values(BY_KUBECONFIG).map(([, of]) => of(kubeconfig(() => undefined))),
    ...Object.values(BY_FIELDS).map(([, of]) => of(GOOD)),
  ];
  it('is nothing else: without those parts each is tried', async () => {
    for (const of of harmless) assert.match(await outcome(of), /: unanswered: 127\.0\.0\.1:1 does not answer/);
  });

  for (const [registry, [entry, of]] of Object.entries(BY_KUBECONFIG)) {
    for (const [what, text, why] of REFUSED_KUBECONFIGS) {
      it(`${registry}: a kubeconfig with ${what}`, async () => refusedAs(entry, await outcome(of(text)), why));
    }
  }

  for (const [registry, [entry, of]] of Object.entries(BY_FIELDS)) {
    for (const [what, fields, why] of REFUSED_FIELDS.filter(([, , , registries]) => registries.includes(registry))) {
      it(`${registry}: ${what}`, async () => refusedAs(entry, await outcome(of({ ...GOOD, ...fields })), why));
    }
  }
});

describe('a Secret with a token of this cluster', () => {
  const named: Readonly<Record<string, RegistryCase>> = {
    kubeFed: BY_FIELDS['kubeFed']![1](GOOD), clusterProfile: BY_FIELDS['clusterProfile']![1](GOOD),
    ocm: BY_FIELDS['ocm']![1](GOOD),
  };
  for (const [registry, of] of Object.entries(named)) {
    it(`is sent to no server that an object of ${registry} names`, async () => {
      const secrets = of.secrets?.map((secret) => ({ ...secret, type: 'kubernetes.io/service-account-token' })) ?? [];
      assert.match(await outcome({ ...of, secrets }), /: refused: Secret .* a ServiceAccount token of this cluster/);
    });
  }
});

function refusedAs(entry: string, told: string, why: RegExp): void {
  assert.ok(told.startsWith(`${entry}: refused: `), told);
  assert.match(told.slice(entry.length + ': refused: '.length), why);
}
