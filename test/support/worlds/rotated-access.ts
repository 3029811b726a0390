// A registry entry whose credentials are replaced again and again, as Argo CD's are by whoever manages the clusters:
// tokens and client certificates by turns, and what was valid before the last ones stops being so.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Secret } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_ROLE_BINDINGS, SECRETS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { discoveredNamespace } from '../../../model/access/key-namespace.ts';
import { clusterRoleBinding } from '../../../model/access/rbac-objects.ts';
import { loadAuthority } from '../../../process/crypto/certificate-authority.ts';
import { writeSecret, type DiscoveryWorld } from './discovery-world.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

const ARGO_CD = 'argocd';
const base64 = (text = '') => Buffer.from(text, 'utf8').toString('base64');

/** What a set of credentials adds to Argo CD's `config`, and a text that only they have. */
interface Credentials {
  readonly config: { readonly bearerToken?: string; readonly tlsClientConfig?: object };
  readonly mark: string;
}

/** The entry `eu-west` of Argo CD for the first target of a world, in namespace `argocd`. */
export class RotatedAccess {
  readonly name = 'eu-west';
  readonly #world: DiscoveryWorld;
  readonly #kept: WatchedCollection<Secret>;
  #count = 0;

  private constructor(world: DiscoveryWorld, kept: WatchedCollection<Secret>) {
    this.#world = world;
    this.#kept = kept;
  }

  /** Registers the cluster with its first credentials. */
  static async begin(world: DiscoveryWorld): Promise<RotatedAccess> {
    const kept =
      new WatchedCollection(world.source, SECRETS, { namespace: discoveredNamespace(DEFAULT_INSTALL_NAMESPACE) });
    const access = new RotatedAccess(world, await kept.start(world.signal));
    await access.rotate();
    return access;
  }

  /** How often the credentials were replaced. */
  get rotations(): number {
    return this.#count - 1;
  }

  /** Replaces the credentials; resolves once the target's kubeconfig has the new ones. Those before last end. */
  async rotate(): Promise<void> {
    const index = this.#count++;
    const { config, mark } = index % 2 === 0 ? await this.#token(index) : await this.#certificate(index);
    await this.write(config);
    await this.#kept.until(`the kubeconfig has credentials ${index}`, (secrets) => secrets.some(({ data }) =>
      Buffer.from(data?.['config'] ?? '', 'base64').toString('utf8').includes(mark)), 60_000);
    if (index >= 2) await this.#client.delete(SERVICE_ACCOUNTS, accountOf(index - 2)).catch(() => undefined);
  }

  /** Writes an entry as Argo CD does, with these credentials in its `config`. */
  async write({ tlsClientConfig, ...config }: Credentials['config']): Promise<void> {
    const { connection } = this.#world.targets[0]!;
    const tls = { insecure: false, caData: base64(connection.certificateAuthority), ...tlsClientConfig };
    await writeSecret(
      this.#world,
      {
        namespace: ARGO_CD, name: `cluster-${this.name}`, labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
      },
      { name: this.name, server: connection.server.href, config: JSON.stringify({ ...config, tlsClientConfig: tls }) },
    );
  }

  get #client() {
    return this.#world.targets[0]!.client;
  }

  async #token(index: number): Promise<Credentials> {
    const account = accountOf(index);
    await this.#client.create(SERVICE_ACCOUNTS, { metadata: account });
    await this.#client.create(CLUSTER_ROLE_BINDINGS, clusterRoleBinding(account.name, 'cluster-admin', [account]));
    const { token } = await requestToken(this.#client, { ...account, seconds: 3_600 }, AbortSignal.timeout(30_000));
    return { config: { bearerToken: token }, mark: token };
  }

  async #certificate(index: number): Promise<Credentials> {
    const read = (name: string) => readFile(join(this.#world.sandbox.clusters[1]!.directory, 'pki', name), 'utf8');
    const authority = await loadAuthority({ certificate: await read('ca.crt'), key: await read('ca.key') });
    const { certificate, key } = await authority.issue(
      { commonName: accountOf(index).name, organizations: ['system:masters'], usages: ['client'], days: 1 }, new Date(),
    );
    const mark = base64(certificate);
    return { config: { tlsClientConfig: { certData: mark, keyData: base64(key) } }, mark };
  }
}

function accountOf(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: 'kube-system', name: `manager-${index}` };
}
