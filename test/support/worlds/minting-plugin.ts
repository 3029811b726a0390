// An exec plugin as those of clouds: a program of its own that mints tokens of a ServiceAccount. A file beside it says
// how each credential is to behave, and how often it was asked for.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';

/** What the plugin does when it is asked for a credential. */
export interface MintMode {
  readonly mode: 'mint' | 'hang' | 'garbage';
  /** The account, in `namespace` of the target. */
  readonly account?: string;
  readonly namespace?: string;
  /** What it says of when the token expires; it holds for ten minutes. */
  readonly seconds?: number;
  /** Secret that the token is bound to: it ends with the Secret. */
  readonly boundTo?: { readonly name: string; readonly uid: string };
}

const SCRIPT = `#!/usr/bin/env node
const { appendFileSync, readFileSync } = require('node:fs');
const { request } = require('node:https');
const { spawn } = require('node:child_process');
const name = process.argv[2];
const file = (ending) => __dirname + '/' + name + ending;
const { mode, account, namespace, seconds, boundTo, server } = JSON.parse(readFileSync(file('.json'), 'utf8'));
const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
appendFileSync(file('.runs'), JSON.stringify({ pid: process.pid, info, env: Object.keys(process.env) }) + '\\n');
console.error('canary-of-stderr');
if (mode === 'garbage') console.log('canary-of-stdout { not json');
else if (mode === 'hang') {
  const child = spawn('sleep', ['600'], { stdio: 'inherit' });
  appendFileSync(file('.children'), child.pid + '\\n');
} else {
  const reference = boundTo && { apiVersion: 'v1', kind: 'Secret', ...boundTo };
  const spec = { expirationSeconds: 600, ...(reference && { boundObjectRef: reference }) };
  const sent = request(
    new URL('/api/v1/namespaces/' + namespace + '/serviceaccounts/' + account + '/token', server.url),
    {
      method: 'POST', ca: server.ca, cert: server.cert, key: server.key,
      headers: { 'content-type': 'application/json' },
    },
    (response) => {
      let body = '';
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () => {
        const { status } = JSON.parse(body);
        const until = seconds && new Date(Date.now() + seconds * 1000).toISOString();
        console.log(JSON.stringify({
          apiVersion: info.apiVersion, kind: 'ExecCredential',
          status: { token: status.token, ...(until && { expirationTimestamp: until }) },
        }));
      });
    },
  );
  sent.end(JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }));
}
`;

/** One run, as the plugin saw it. */
export interface MintRun {
  readonly pid: number;
  readonly info: { readonly spec: { readonly interactive: boolean; readonly cluster?: { readonly server: string } } };
  readonly env: readonly string[];
}

/** The plugin, in a folder of the test. */
export class MintingPlugin {
  readonly path: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, 'mint-token');
    writeFileSync(this.path, SCRIPT);
    chmodSync(this.path, 0o755);
  }

  /** Says how a credential is to behave from now on; `connection` has the permissions to mint tokens. */
  set(name: string, mode: MintMode, { server, certificateAuthority, credentials }: ClusterConnection): void {
    const by = credentials.kind === 'certificate' ? { cert: credentials.certificate, key: credentials.key } : {};
    const access = { url: server.href, ca: certificateAuthority, ...by };
    writeFileSync(join(this.#folder, `${name}.json`), JSON.stringify({ ...mode, server: access }));
  }

  /** How often it was asked for a credential, and how. */
  runs(name: string): readonly MintRun[] {
    return this.#lines(`${name}.runs`).map((line) => JSON.parse(line) as MintRun);
  }

  /** Processes that it has started and that run on. */
  children(name: string): readonly string[] {
    const alive = (pid: string) => {
      try {
        return !/ Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      } catch {
        return false;
      }
    };
    return this.#lines(`${name}.children`).filter(alive);
  }

  /** A kubeconfig as clouds write them, whose credential has this name. */
  kubeconfig(
    name: string, { server, certificateAuthority = '' }: ClusterConnection, command = 'mint-token',
  ): string {
    return stringify({
      apiVersion: 'v1', kind: 'Config', 'current-context': name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [{
        name,
        cluster: {
          server: server.href.replace(/\/$/, ''),
          'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
        },
      }],
      users: [{
        name,
        user: {
          exec: {
            apiVersion: 'client.authentication.k8s.io/v1beta1', command, args: [name], env: null, installHint: 'none',
            provideClusterInfo: true,
          },
        },
      }],
    });
  }

  #lines(name: string): readonly string[] {
    const path = join(this.#folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  }
}
