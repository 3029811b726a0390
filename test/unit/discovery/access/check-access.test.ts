// What a registry's access must not have is refused before anything is sent; what it has is checked by one request.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { checkAccess, type KubeconfigAccess } from '../../../../discovery/access/check-access.ts';
import { parseRange } from '../../../../model/network/ip-range.ts';
import { readKubeconfig } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { TenantRules } from '../../../../targets/access/tenant-rules.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';

const NEVER = new AbortController().signal;
const loopback = parseRange('127.0.0.0/8');
const allowed = loopback === undefined ? [] : [loopback];
const settings = { allowed, denied: [], targetsPerNamespace: 20, cacheMiB: 32 };
const options = { tenants: new TenantRules(settings), userAgent: 'isthmus-test', gateways: [] };
let server: AnsweringApiServer;
let answer: Answer = [200, {}];
before(async () => {
  server = await AnsweringApiServer.start(() => answer);
});
after(() => server.stop());

interface Config {
  readonly clusters: { cluster: Record<string, unknown> }[];
  readonly users: { user: Record<string, unknown> }[];
}

/** The kubeconfig of the server, changed. */
function access(change: (cluster: Record<string, unknown>, user: Record<string, unknown>) => void = () => undefined) {
  const config = parse(server.kubeconfigText()) as Config;
  change(config.clusters[0]!.cluster, config.users[0]!.user);
  return { kind: 'kubeconfig', text: stringify(config) } as const;
}
const check = (of: KubeconfigAccess, more = {}) => checkAccess({ ...options, access: of, ...more }, NEVER);
const identified = (uid: string): Answer => [200, { metadata: { name: 'kube-system', uid } }];

describe('access that is refused', () => {
  const rows: readonly (readonly [string, () => KubeconfigAccess, RegExp])[] = [
    ['a command', () => access((_c, user) => (user['exec'] = { command: 'sh' })), /exec, which is not allowed/],
    ['an auth provider', () => access((_c, user) => (user['auth-provider'] = { name: 'x' })), /auth-provider/],
    ['a token file', () => access((_c, user) => (user['tokenFile'] = '/etc/passwd')), /tokenFile/],
    ['a certificate file', () => access((_c, user) => (user['client-certificate'] = '/etc/x')), /client-certificate/],
    ['an authority file', () => access((of) => (of['certificate-authority'] = '/etc/x')), /certificate-authority/],
    ['a proxy', () => access((cluster) => (cluster['proxy-url'] = 'http://p')), /proxy-url/],
    ['no verification', () => access((of) => (of['insecure-skip-tls-verify'] = true)), /insecure-skip-tls-verify/],
    ['a password', () => access((_c, user) => (user['username'] = 'u')), /username/],
    ['a metadata address', () => access((of) => (of['server'] = 'https://169.254.169.254')), /link-local or metadata/],
    ['a special address', () => access((of) => (of['server'] = 'https://100.64.0.1')), /that Targets may not use/],
    ['plain HTTP', () => access((cluster) => (cluster['server'] = 'http://a')), /https/],
    ['no credentials', () => access((_c, user) => delete user['token']), /neither a token nor a client certificate/],
    ['no YAML', () => ({ kind: 'kubeconfig', text: '{' }), /not valid YAML/],
    ['a bomb', () => ({ kind: 'kubeconfig', text: '['.repeat(5_000) }), /too large or too deeply nested/],
    ['a huge one', () => ({ kind: 'kubeconfig', text: ' '.repeat(2_000_000) }), /longer than/],
    ['a missing context', () => ({ ...access(), context: 'other' }), /no context named "other"/],
    ['another server without TLS', () => ({ ...access(), server: { server: 'http://a' } }), /https URL/],
  ];
  for (const [what, of, expected] of rows) {
    it(what, async () => {
      const calls = server.calls.length;
      const result = await check(of());
      assert.equal(result.kind, 'refused');
      assert.match(result.kind === 'refused' ? result.message : '', expected);
      assert.equal(server.calls.length, calls, 'nothing was sent');
    });
  }

  it('is what goes through a gateway that there is not', async () => {
    const result = await check(access(), { member: 'eu' });
    assert.match(result.kind === 'refused' ? result.message : '', /knows no gateway/);
  });
});

describe('access that is checked', () => {
  it('is by the UID of kube-system, and kept as server, authority and token alone', async () => {
    answer = identified('u1');
    const result = await check(access());
    assert.equal(result.kind === 'answered' ? result.clusterId : result.kind, 'u1');
    const text = result.kind === 'answered' ? result.kubeconfig : '';
    const { server: { host }, credentials } = await readKubeconfig({ text, author: 'registry' });
    assert.deepEqual([host, credentials], [server.host, { kind: 'token', token: 'token' }]);
  });

  const rows: readonly (readonly [string, Answer, string])[] = [
    ['may not know which cluster it is', [403, status(403, 'Forbidden', 'no')], 'answered'],
    ['has credentials that are not accepted', [401, status(401, 'Unauthorized', 'no')], 'unanswered'],
    ['has an API server that fails', [500, status(500, 'InternalError', 'no')], 'unanswered'],
    ['has a server that says anything but a UID', identified('u'.repeat(65)), 'unanswered'],
    ['has a server whose UID would be another line', identified('u\nv'), 'unanswered'],
  ];
  for (const [what, given, expected] of rows) {
    it(what, async () => {
      answer = given;
      assert.equal((await check(access())).kind, expected);
    });
  }

  it('is not asked again for what its target has', async () => {
    answer = identified('u1');
    const result = await check(access());
    const kubeconfig = result.kind === 'answered' ? result.kubeconfig : '';
    const calls = server.calls.length;
    const again = await check(access(), { known: { kubeconfig, clusterId: 'known' } });
    assert.deepEqual(again, { kind: 'answered', kubeconfig, clusterId: 'known' });
    assert.equal(server.calls.length, calls);
  });

  it('takes the server from elsewhere, and the credentials from the kubeconfig', async () => {
    answer = identified('u2');
    const elsewhere = access((cluster) => (cluster['server'] = 'https://nowhere.example'));
    const override = { server: `https://${server.host}`, certificateAuthorityData: authority() };
    const result = await check({ ...elsewhere, server: override });
    assert.equal(result.kind === 'answered' ? result.clusterId : result.kind, 'u2');
  });
});

function authority(): string {
  return String((parse(server.kubeconfigText()) as Config).clusters[0]?.cluster['certificate-authority-data']);
}
