// What the kubeconfig of a ClusterTarget may use, and what whoever can write its Secret cannot: programs, variables,
// files and proxies that the installation has not named.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, renameSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readKubeconfig, type ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { resolveCredentials } from '../../../../kubernetes/credentials/kubeconfig-user.ts';
import type { LocalAccess } from '../../../../kubernetes/credentials/local-access.ts';

const V1 = 'client.authentication.k8s.io/v1';
const CANARY = 'canary-90cc';
const folder = mkdtempSync(join(tmpdir(), 'isthmus-access-'));
after(() => rmSync(folder, { recursive: true }));
const tokens = join(folder, 'tokens');
mkdirSync(tokens);

type Fields = Readonly<Record<string, unknown>>;

const NOTHING: LocalAccess = { execPlugins: [], execEnvironment: [], tokenFolders: [], environment: {} };
const access = (more: Partial<LocalAccess>): LocalAccess => ({ ...NOTHING, ...more });
const exec = (more: Fields = {}): Fields =>
  ({ exec: { apiVersion: V1, command: 'aws', interactiveMode: 'Never', ...more } });

function read(
  user: Fields, local: LocalAccess | 'elsewhere' = NOTHING, cluster: Fields = {},
): Promise<ClusterConnection> {
  const text = JSON.stringify({
    'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://api.example', ...cluster } }], users: [{ name: 'u', user }],
  });
  return readKubeconfig({ text, author: 'cluster-target', access: local === 'elsewhere' ? undefined : local });
}

/** A plugin that prints its environment and arguments as a token, and leaves a trace of itself. */
function program(name: string): string {
  const path = join(folder, name);
  const script = `#!/bin/sh
touch '${path}.ran'
variables=$(env | grep -v '^\\(PWD\\|SHLVL\\|_\\|KUBERNETES_EXEC_INFO\\|OLDPWD\\)=' | sort | tr '\\n' ';')
token=$(printf '%s,' "$@"; printf '%s' "$variables")
printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s"}}' "$token"
`;
  writeFileSync(path, script, { mode: 0o700 });
  return path;
}

const tokenOf = async ({ credentials }: ClusterConnection): Promise<string> =>
  (await resolveCredentials(credentials)).token ?? '';

describe('the kubeconfig of a ClusterTarget', () => {
  it('may name a proxy and another name of the server', async () => {
    const { proxy, serverName } =
      await read({ token: 't' }, NOTHING, { 'proxy-url': 'http://proxy:3128', 'tls-server-name': 'other' });
    assert.deepEqual([proxy?.href, serverName], ['http://proxy:3128/', 'other']);
  });

  it('runs the program that the installation names, by its name or path', async () => {
    const path = program('named-plugin');
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    for (const [named, command] of [['named-plugin', 'named-plugin'], [path, path], [path, 'named-plugin']] as const) {
      const connection =
        await read(exec({ command, args: ['a', 'b'] }), access({ execPlugins: [named], environment: env }));
      assert.match(await tokenOf(connection), /^a,b,PATH=/);
    }
  });

  it('gives it the variables of clouds, those that are named, and no others', async () => {
    const environment = {
      PATH: '/usr/bin:/bin', AWS_WEB_IDENTITY_TOKEN_FILE: '/t', HTTPS_PROXY: 'http://p', NAMED: 'n', POD_IP: '10.0.0.1',
      OTEL_EXPORTER_OTLP_HEADERS: CANARY, NODE_OPTIONS: CANARY,
    };
    const env = [{ name: 'AWS_PROFILE', value: 'prod' }];
    const connection = await read(
      exec({ command: program('variables'), env }),
      access({ execPlugins: [join(folder, 'variables')], execEnvironment: ['NAMED'], environment }),
    );
    assert.equal(
      await tokenOf(connection),
      ',AWS_PROFILE=prod;AWS_WEB_IDENTITY_TOKEN_FILE=/t;HTTPS_PROXY=http://p;NAMED=n;PATH=/usr/bin:/bin;',
    );
  });

  it('reads the token file that is mounted, and reads it anew when it is rotated as kubelets do', async () => {
    // a projected volume: token → ..data/token, ..data → ..1
    for (const [version, token] of [['..1', 'one'], ['..2', 'two']] as const) {
      mkdirSync(join(tokens, version));
      writeFileSync(join(tokens, version, 'token'), `${token}\n`);
    }
    symlinkSync('..1', join(tokens, '..data'));
    symlinkSync('..data/token', join(tokens, 'token'));
    const connection = await read({ tokenFile: join(tokens, 'token') }, access({ tokenFolders: [tokens] }));
    assert.equal(await tokenOf(connection), 'one');
    symlinkSync('..2', join(tokens, '..next'));
    renameSync(join(tokens, '..next'), join(tokens, '..data'));
    assert.equal(await tokenOf(connection), 'two');
  });
});

describe('the kubeconfig of a ClusterTarget is refused', () => {
  const aws = access({ execPlugins: ['aws'], tokenFolders: [tokens] });
  const refused: Record<string, readonly [user: Fields, why: RegExp, local?: LocalAccess, cluster?: Fields]> = {
    'a program where none is named':
      [exec(), /exec with command "aws".*add it to --exec-plugins \(execPlugins/, NOTHING],
    'another program': [exec({ command: 'sh' }), /exec with command "sh"/],
    'a program of that name elsewhere': [exec({ command: '/tmp/aws' }), /exec with command "\/tmp\/aws"/],
    'a path that leads to it': [exec({ command: './aws' }), /exec with command ".\/aws"/],
    'a part of its path':
      [exec({ command: 'bin/aws' }), /exec with command "bin\/aws"/, access({ execPlugins: ['/usr/local/bin/aws'] })],
    'a name with arguments': [exec({ command: 'aws eks' }), /exec with command "aws eks"/],
    'an empty part of a list': [exec({ command: '' }), /exec\.command is missing/],
    'a library for it to load':
      [exec({ env: [{ name: 'LD_PRELOAD', value: 'x' }] }), /exec\.env with LD_PRELOAD.*--exec-environment/],
    'another configuration for it':
      [exec({ env: [{ name: 'AWS_CONFIG_FILE', value: '/x' }] }), /exec\.env with AWS_CONFIG_FILE/],
    'another path to search': [exec({ env: [{ name: 'PATH', value: '/tmp' }] }), /exec\.env with PATH/],
    'another home': [exec({ env: [{ name: 'HOME', value: '/tmp' }] }), /exec\.env with HOME/],
    'a question to somebody': [exec({ interactiveMode: 'Always' }), /interactiveMode Always, and nobody can be asked/],
    'a program and an auth provider':
      [{ ...exec(), 'auth-provider': { name: 'gcp' } }, /auth-provider, which is not allowed in a Secret/],
    'an auth provider': [{ 'auth-provider': { name: 'gcp' } }, /auth-provider, which is not allowed in a Secret/],
    impersonation: [{ token: 't', as: 'narrow', 'as-groups': ['few'] }, /uses as, as-groups, which is not allowed/],
    'a token file elsewhere':
      [{ tokenFile: '/etc/shadow' }, /tokenFile "\/etc\/shadow".*add its folder to --token-folders/],
    'a token file by way of the folder':
      [{ tokenFile: `${tokens}/../secret` }, /below no folder that this installation names/],
    'a folder whose name begins alike': [{ tokenFile: `${tokens}-other/token` }, /below no folder/],
    'the folder itself': [{ tokenFile: tokens }, /below no folder/],
    'a relative token file': [{ tokenFile: 'token' }, /below no folder/],
    'a certificate file': [{ 'client-certificate': '/x', 'client-key-data': 'a' }, /client-certificate, which is not/],
    'a password': [{ username: 'a', password: CANARY }, /username, password, which is not allowed in a Secret/],
    'a server that is not checked':
      [{ token: 't' }, /insecure-skip-tls-verify, which is not/, aws, { 'insecure-skip-tls-verify': true }],
    'a CA file':
      [{ token: 't' }, /certificate-authority, which is not/, aws, { 'certificate-authority': '/etc/hostname' }],
    'a metadata service as server':
      [{ token: 't' }, /link-local or metadata/, aws, { server: 'https://169.254.169.254' }],
    'a metadata service as proxy':
      [{ token: 't' }, /link-local or metadata/, aws, { 'proxy-url': 'http://169.254.169.254' }],
  };
  for (const [what, [user, why, local = aws, cluster = {}]] of Object.entries(refused)) {
    it(`with ${what}`, async () => {
      await assert.rejects(read(user, local, cluster), (error: Error & { code?: string }) => {
        assert.match(error.code ?? '', /^Kubeconfig(?:Refused|Invalid)$/);
        assert.match(error.message, why);
        assert.ok(!error.message.includes(CANARY));
        return true;
      });
    });
  }

  it('on the machine of somebody else: a command runs nothing and reads no file for it', async () => {
    const path = program('elsewhere');
    for (const user of [exec({ command: path }), { tokenFile: '/etc/hostname' }]) {
      await assert.rejects(read(user, 'elsewhere'), {
        code: 'CredentialsUnavailable', message: /works in the pods of Isthmus alone; use kubectl/,
      });
    }
    assert.equal(existsSync(`${path}.ran`), false);
  });

  const links: Record<string, string> = { 'a link out of the folder': '/etc/hostname', 'a folder above': folder };
  for (const [what, to] of Object.entries(links)) {
    it(`with ${what}, when it is read`, async () => {
      const path = join(tokens, what.replaceAll(' ', '-'));
      symlinkSync(to, path);
      const { credentials } = await read({ tokenFile: path }, access({ tokenFolders: [tokens] }));
      await assert.rejects(resolveCredentials(credentials), {
        code: 'CredentialsUnavailable', message: /it leads out of the folders of --token-folders/,
      });
    });
  }

  it('with a file that holds no token, whose content is not repeated', async () => {
    for (const content of ['', `${CANARY} ${CANARY}`, `${CANARY}\nhost: x`, CANARY.repeat(10_000)]) {
      const path = join(tokens, 'no-token');
      writeFileSync(path, content);
      const { credentials } = await read({ tokenFile: path }, access({ tokenFolders: [tokens] }));
      await assert.rejects(resolveCredentials(credentials), (error: Error) => {
        assert.equal(error.message, `the token file ${path} gives no credentials: it holds no token`);
        return true;
      });
    }
  });

  it('with a file that is not there, until it is', async () => {
    const path = join(tokens, 'late');
    const connection = await read({ tokenFile: path }, access({ tokenFolders: [tokens] }));
    await assert.rejects(resolveCredentials(connection.credentials), { message: /it cannot be read: no such file/ });
    writeFileSync(path, 'there');
    assert.equal(await tokenOf(connection), 'there');
  });
});
