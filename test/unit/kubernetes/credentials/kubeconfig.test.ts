// Refusals follow the security rules for kubeconfigs of tenants: none of these may read a file, run a program or reach
// around the network.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { readKubeconfig, type ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { resolveCredentials, type KubeconfigAuthor } from '../../../../kubernetes/credentials/kubeconfig-user.ts';
import { AppError } from '../../../../process/errors.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

type Fields = Readonly<Record<string, unknown>>;

const SERVER = 'https://api.example:6443';
const CANARY = 'canary-7f3a';
const folder = mkdtempSync(join(tmpdir(), 'isthmus-kubeconfig-'));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

function kubeconfig(cluster: Fields, user: Fields = {}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: SERVER, ...cluster } }],
    users: [{ name: 'u', user }],
  });
}

const read = (text: string, author: KubeconfigAuthor = 'tenant', context?: string) =>
  readKubeconfig({ text, author, ...(context !== undefined && { context }) });

describe('C2-1, C2-2, C2-3 and C2-4: readKubeconfig: refused when a tenant wrote it', () => {
  const refused: Record<string, readonly [field: string, cluster: Fields, user: Fields]> = {
    'an exec plugin': ['exec', {}, {
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'touch', args: [join(folder, 'ran')] },
    }],
    'an exec plugin beside a token': ['exec', {}, { token: 't', exec: { command: 'id' } }],
    'an auth provider': ['auth-provider', {}, { 'auth-provider': { name: 'gcp' } }],
    'a token file': ['tokenFile', {}, { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }],
    'a token file beside a token': ['tokenFile', {}, { token: 't', tokenFile: '/etc/hostname' }],
    'a certificate file': ['client-certificate', {}, { 'client-certificate': '/etc/hostname', 'client-key-data': 'a' }],
    'a key file': ['client-key', {}, { 'client-certificate-data': 'a', 'client-key': '/etc/hostname' }],
    'a key file beside key data': ['client-key', {}, { 'client-key-data': 'a', 'client-key': '/etc/hostname' }],
    'a CA file': ['certificate-authority', { 'certificate-authority': '/etc/hostname' }, {}],
    'a CA file beside CA data':
      ['certificate-authority', { 'certificate-authority': '/etc/hostname', 'certificate-authority-data': 'a' }, {}],
    'a user name and password': ['username, password', {}, { username: 'a', password: 'b' }],
    'a proxy': ['proxy-url', { 'proxy-url': 'http://proxy:3128' }, {}],
    'a server that is not checked': ['insecure-skip-tls-verify', { 'insecure-skip-tls-verify': true }, {}],
    'a server that is not checked, in quotes': ['insecure-skip-tls-verify', { 'insecure-skip-tls-verify': 'true' }, {}],
    'another name for the server': ['tls-server-name', { 'tls-server-name': 'kubernetes.default' }, {}],
    'all at once': ['proxy-url, exec, tokenFile', { 'proxy-url': 'x' }, { exec: {}, tokenFile: 'x' }],
  };
  for (const [what, [fields, cluster, user]] of Object.entries(refused)) {
    it(what, async () => {
      await assert.rejects(read(kubeconfig(cluster, user)), {
        code: 'KubeconfigRefused', message: new RegExp(`uses ${fields}, which is not allowed`),
      });
    });
  }

  const hosts = [
    '169.254.169.254', '169.254.0.1:6443', '2852039166', '0xa9fea9fe', '[fe80::1]', '[febf::1]',
    '[::ffff:169.254.169.254]', '[fd00:ec2::254]', 'metadata.google.internal', 'METADATA.google.internal.',
  ];
  for (const host of hosts) {
    it(`a server at the link-local or metadata address ${host}`, async () => {
      await assert.rejects(read(kubeconfig({ server: `https://${host}` })), {
        code: 'KubeconfigRefused', message: /link-local or metadata/,
      });
    });
  }

  it('but not what says no to a dangerous field', async () => {
    assert.equal((await read(kubeconfig({ 'insecure-skip-tls-verify': false }))).insecure, false);
  });

  it('and only for the context that is used', async () => {
    const text = stringify({
      'current-context': 'good',
      contexts: [{ name: 'good', context: { cluster: 'c', user: 'good' } }, {
        name: 'bad', context: { cluster: 'c', user: 'bad' },
      }],
      clusters: [{ name: 'c', cluster: { server: SERVER } }],
      users: [{ name: 'good', user: { token: 't' } }, { name: 'bad', user: { exec: { command: 'id' } } }],
    });
    assert.deepEqual((await read(text)).credentials, { kind: 'token', token: 't' });
    await assert.rejects(read(text, 'tenant', 'bad'), { code: 'KubeconfigRefused' });
  });
});

describe('readKubeconfig: invalid, whoever wrote it', () => {
  const invalid: Record<string, readonly [text: string, why: RegExp]> = {
    'an http server': [kubeconfig({ server: 'http://api.example' }), /must start with https:\/\/$/],
    'a file as server': [kubeconfig({ server: 'file:///etc/hostname' }), /must start with https/],
    'a user in the server': [kubeconfig({ server: 'https://me@api.example' }), /user name or password/],
    'a password in the server': [kubeconfig({ server: `https://:${CANARY}@api.example` }), /user name or password/],
    'no server': [kubeconfig({ server: undefined }), /no valid server/],
    'a server that is no URL': [kubeconfig({ server: 'api.example' }), /no valid server/],
    'a server that is not a string': [kubeconfig({ server: ['https://api.example'] }), /its server is not a string/],
    'a token of digits': [kubeconfig({}, { token: 123 }), /its token is not a string; put it in quotes$/],
    'a certificate without its key':
      [kubeconfig({}, { 'client-certificate-data': base64('cert') }), /certificate and its key/],
    'a key without its certificate': [kubeconfig({}, { 'client-key-data': base64(CANARY) }), /certificate and its key/],
    'a key with a passphrase': [kubeconfig({}, {
      'client-certificate-data': base64('cert'),
      'client-key-data': base64(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: CANARY,
      }) as string),
    }), /its client-key has a passphrase/],
    'a key with a passphrase, in the older form': [kubeconfig({}, {
      'client-certificate-data': base64('cert'),
      'client-key-data': base64(`-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${CANARY}\n`),
    }), /its client-key has a passphrase/],
    nothing: ['', /it is empty$/],
    'an empty line': [' \n', /it is empty$/],
    'a number': ['1', /not a YAML mapping/],
    'a list': ['- a', /not a YAML mapping/],
    'a token alone': [CANARY, /not a YAML mapping/],
    'an empty mapping': ['{}', /no current-context/],
    'a current-context that is not a string': ['current-context: 7', /its current-context is not a string/],
    'a context that is missing': ['current-context: x', /no context named "x"/],
    'contexts that are no list': ['current-context: x\ncontexts: {x: {context: {}}}', /no context named "x"/],
    'contexts that are nonsense':
      ['current-context: x\ncontexts: [null, 1, [x], {name: x}, {name: x, context: 1}]', /no context named "x"/],
    'a context named like a property of all objects':
      ['current-context: __proto__\ncontexts: []', /no context named "__proto__"/],
    'a cluster that is missing':
      ['current-context: x\ncontexts: [{name: x, context: {cluster: y}}]', /no cluster named "y"/],
    'a context without a cluster': ['current-context: x\ncontexts: [{name: x, context: {}}]', /no cluster named ""/],
    'a user that is missing': [kubeconfig({}).replace(/users:[^]*/, ''), /no user named "u"/],
    'broken YAML': [`users: "${CANARY}\n`, /not valid YAML, see line \d+/],
    'the same key twice': [`a: ${CANARY}\na: ${CANARY}\n`, /not valid YAML, see line 2/],
    'a tab as indentation': [`a:\n\tb: ${CANARY}\n`, /not valid YAML, see line 2/],
    'two documents': ['a: 1\n---\nb: 1\n', /not valid YAML/],
    'an alias of nothing': [`a: *${CANARY}`, /not valid YAML$/],
    'aliases of aliases': [
      `a: &a [x,x,x,x,x,x,x,x,x]\n${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((key, i) => `${key}: &${key} [${`*${'abcdefgh'[i]},`.repeat(9)}]`).join('\n')}\n`,
      /not valid YAML$/,
    ],
    'many aliases': [`a: &a x\nb: [${'*a,'.repeat(1_000)}]`, /not valid YAML$|too large/],
    'a megabyte': [`a: "${'x'.repeat(1_000_000)}"`, /longer than 1000000/],
  };
  for (const [what, [text, why]] of Object.entries(invalid)) {
    for (const author of ['tenant', 'administrator'] as const) {
      it(`${what} (${author})`, async () => {
        await assert.rejects(read(text, author), (error: unknown) => {
          assert(error instanceof AppError && error.code === 'KubeconfigInvalid', String(error));
          assert.match(error.message, why);
          if (!what.startsWith('a context')) {
            assert(!error.message.includes(CANARY), 'a secret is repeated in the message');
          }
          return true;
        });
      });
    }
  }

  // Each would end the process in the parser's recursion, or hold up the event loop for half a minute.
  const bombs: Record<string, string> = {
    'open brackets': '['.repeat(100_000),
    'balanced brackets': '['.repeat(20_000) + ']'.repeat(20_000),
    'open braces': '{a: '.repeat(20_000),
    'dashes': '- '.repeat(100_000),
    'question marks': '? '.repeat(100_000),
    'colons': ': '.repeat(100_000),
    'mappings in mappings': 'a: '.repeat(100_000),
    'ever deeper lines': Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    'many keys': Array.from({ length: 50_000 }, (_, i) => `k${i}: 1`).join('\n'),
    'many anchors': '&a '.repeat(100_000),
    'many errors': '}\n'.repeat(100_000),
  };
  for (const [what, text] of Object.entries(bombs)) {
    it(`C2-45: a tenant's bomb of ${what}, without taking long`, async () => {
      const before = process.cpuUsage();
      await assert.rejects(read(text), { code: 'KubeconfigInvalid', message: /too large or too deeply nested/ });
      const { user, system } = process.cpuUsage(before);
      assert(user + system < 1_000_000, `${user + system} µs of CPU`);
    });
  }

  it('repeats nothing of the text in warnings of the process', async (t) => {
    const warn = t.mock.method(process, 'emitWarning', () => undefined);
    const text = kubeconfig({}, { token: 't' }).replace('token: t', `token: !${CANARY} t`);
    assert.deepEqual((await read(text)).credentials, { kind: 'token', token: 't' });
    assert.equal(warn.mock.callCount(), 0);
  });

  it('never gives anything but a connection or an AppError without secrets, whatever the tenant writes', async () => {
    const valid = kubeconfig({ 'certificate-authority-data': base64('ca') }, { token: CANARY });
    const scraps = fc.constantFrom(
      '[', ']', '{', '}', ': ', '- ', '\n', '  ', '&a ', '*a', '!!js/function ', '!x ', '"', "'", '|', '>', '%', '---',
      '#', '\0', '\t', CANARY, '<<: ', '? ', '@',
    );
    const damage = fc.record({
      at: fc.nat(valid.length), cut: fc.nat(20), scrap: fc.oneof(scraps, fc.string({ unit: codePoint, maxLength: 5 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { maxLength: 4 }), async (damages) => {
        const text = damages.reduce((now, { at, cut, scrap }) => now.slice(0, at) + scrap + now.slice(at + cut), valid);
        const outcome = await read(text).catch((error: unknown) => error);
        if (outcome instanceof AppError) assert(!parserMessage(outcome).includes(CANARY), outcome.message);
        else assert.equal((outcome as ClusterConnection).server.protocol, 'https:', String(outcome));
      }),
      { numRuns: 300 },
    );
  });
});

/** The message without names of contexts, clusters and users, which are repeated on purpose. */
function parserMessage(error: AppError): string {
  return error.message.replace(/named ".*"/s, '');
}

describe('readKubeconfig: accepted', () => {
  const accepted: Record<string, readonly [cluster: Fields, user: Fields, connection: Partial<ClusterConnection>]> = {
    'a token': [{}, { token: 't' }, { credentials: { kind: 'token', token: 't' } }],
    'a certificate and its key': [
      {}, { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
      { credentials: { kind: 'certificate', certificate: 'cert', key: 'key' } },
    ],
    'a token beside a certificate': [
      {}, { token: 't', 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
      { credentials: { kind: 'token', token: 't', client: { certificate: 'cert', key: 'key' } } },
    ],
    'no credentials': [{}, {}, { credentials: { kind: 'none' } }],
    'fields that are null, which are not set': [
      { 'proxy-url': null, 'certificate-authority': null },
      { exec: null, 'auth-provider': null, tokenFile: null, username: null, token: 't' },
      { credentials: { kind: 'token', token: 't' } },
    ],
    'an empty token': [{}, { token: '' }, { credentials: { kind: 'none' } }],
    'a CA': [{ 'certificate-authority-data': base64('ca') }, {}, { certificateAuthority: 'ca' }],
    'fields that nobody knows':
      [{ extensions: [{ name: 'x' }], 'disable-compression': true }, { extra: 1 }, { credentials: { kind: 'none' } }],
  };
  for (const [what, [cluster, user, connection]] of Object.entries(accepted)) {
    for (const author of ['tenant', 'administrator'] as const) {
      it(`${what} (${author})`, async () => {
        const expected = { server: new URL(SERVER), insecure: false, credentials: { kind: 'none' }, ...connection };
        assert.deepEqual(await read(kubeconfig(cluster, user), author), expected);
      });
    }
  }

  it('a host whose name begins like a link-local address', async () => {
    for (const host of ['fea.example', 'fe80.example', 'febf']) {
      assert.equal((await read(kubeconfig({ server: `https://${host}` }))).server.hostname, host);
    }
  });

  it('JSON, which is YAML', async () => {
    const text = JSON.stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c' } }], clusters: [{ name: 'c', cluster: { server: SERVER } }],
    });
    assert.deepEqual((await read(text)).credentials, { kind: 'none' });
  });

  it('a hundred contexts, of which the named one is used', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `n${i}`);
    const text = stringify({
      'current-context': 'n3',
      contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.example` } })),
      users: names.map((name) => ({ name, user: { token: name } })),
    });
    assert.equal((await read(text)).server.host, 'n3.example');
    const named = await read(text, 'tenant', 'n99');
    assert.deepEqual([named.server.host, named.credentials], ['n99.example', { kind: 'token', token: 'n99' }]);
    await assert.rejects(read(text, 'tenant', 'other'), /no context named "other"/);
  });
});

describe('readKubeconfig: what an administrator may do besides', () => {
  it('name files for CA, certificate and key', async () => {
    const text = kubeconfig(
      { 'certificate-authority': file('ca', 'CA') },
      { 'client-certificate': file('cert', 'CERT'), 'client-key': file('key', 'KEY') },
    );
    const { certificateAuthority, credentials } = await read(text, 'administrator');
    assert.deepEqual(
      [certificateAuthority, credentials], ['CA', { kind: 'certificate', certificate: 'CERT', key: 'KEY' }],
    );
  });

  it('name a file that is missing, and be told', async () => {
    const path = join(folder, 'missing');
    await assert.rejects(read(kubeconfig({ 'certificate-authority': path }), 'administrator'), {
      code: 'KubeconfigInvalid', message: /certificate-authority cannot be read: ENOENT/,
    });
  });

  it('name a token file, which comes before the token and is read at each use', async () => {
    const path = file('token', 'one\n');
    const { credentials } = await read(kubeconfig({}, { token: 'old', tokenFile: path }), 'administrator');
    assert.deepEqual(await resolveCredentials(credentials), { token: 'one' });
    file('token', 'two\n');
    assert.deepEqual(await resolveCredentials(credentials), { token: 'two' });
  });

  it('have a certificate beside a token file: both are sent', async () => {
    const text = kubeconfig({}, {
      tokenFile: file('token', 'one\n'), 'client-certificate-data': base64('cert'), 'client-key-data': base64('key'),
    });
    const { credentials } = await read(text, 'administrator');
    assert.deepEqual(await resolveCredentials(credentials), { token: 'one', certificate: 'cert', key: 'key' });
  });

  it('switch off checks, and name the server', async () => {
    const connection =
      await read(kubeconfig({ 'insecure-skip-tls-verify': true, 'tls-server-name': 'other' }), 'administrator');
    assert.deepEqual([connection.insecure, connection.serverName], [true, 'other']);
  });

  it('use a plugin, which is run only when credentials are asked for', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'false', interactiveMode: 'Never' };
    const { credentials } = await read(kubeconfig({}, { exec }), 'administrator');
    assert.equal(credentials.kind, 'exec');
    await assert.rejects(resolveCredentials(credentials), {
      code: 'CredentialsUnavailable', message: 'exec plugin false gives no credentials: it ended with exit code 1',
    });
  });

  it('use an auth provider', async () => {
    const text = kubeconfig({}, { 'auth-provider': { name: 'oidc' } });
    assert.deepEqual(
      (await read(text, 'administrator')).credentials, { kind: 'auth-provider', kubeconfig: text, context: 'here' },
    );
  });

  it('reach a server at a link-local address', async () => {
    assert.equal(
      (await read(kubeconfig({ server: 'https://169.254.1.1' }), 'administrator')).server.hostname, '169.254.1.1',
    );
  });
});

describe('resolveCredentials', () => {
  it('gives nothing, a token or a certificate as they are', async () => {
    assert.deepEqual(await resolveCredentials({ kind: 'none' }), {});
    assert.deepEqual(await resolveCredentials({ kind: 'token', token: 't' }), { token: 't' });
    assert.deepEqual(
      await resolveCredentials({ kind: 'certificate', certificate: 'c', key: 'k' }), { certificate: 'c', key: 'k' },
    );
  });
});
