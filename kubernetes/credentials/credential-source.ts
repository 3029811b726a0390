// What a connection's credentials are now. Files, plugins and kubeconfigs are looked at again after a while, and at once when the
// server says 401; what has not changed is told apart from what has, so that nothing is reconnected without need.
import { forgetPluginAnswer } from './credential-plugin.ts';
import { resolveCredentials, type ClusterConnection } from './kubeconfig.ts';
import type { ResolvedCredentials } from './resolved-credentials.ts';

/** A connection with its credentials as they are now. */
export interface FreshCredentials {
  readonly connection: ClusterConnection;
  readonly resolved: ResolvedCredentials;
  /** Whether anything differs from what the last read gave. */
  readonly changed: boolean;
}

/** Credentials of one connection, and of those that replace it. */
export class CredentialSource {
  readonly #maxAgeMs: number;
  #connection: ClusterConnection;
  #readAt = -Infinity;
  #renewedAt = -Infinity;
  #digest: string | undefined;
  #replaced = false;

  constructor(connection: ClusterConnection, maxAgeMs: number) {
    this.#connection = connection;
    this.#maxAgeMs = maxAgeMs;
  }

  /** Whether credentials of this kind can change by themselves. */
  get canChange(): boolean {
    const { credentials, reread } = this.#connection;
    return reread !== undefined || credentials.kind === 'token-file' || credentials.kind === 'plugin';
  }

  /** Whether it is time to read again. */
  get isDue(): boolean {
    if (this.#replaced || this.#readAt === -Infinity) return true;
    return this.canChange && performance.now() - this.#readAt >= this.#maxAgeMs;
  }

  /** Takes over another connection. */
  use(connection: ClusterConnection): void {
    this.#connection = connection;
    this.#replaced = true;
  }

  /**
   * Reads what there is now. While a kubeconfig cannot be read, for instance because it is just being written, the last one stays.
   * @throws what reading credentials throws.
   */
  async read(): Promise<FreshCredentials> {
    this.#replaced = false;
    const connection = await this.#reread();
    const resolved = await resolveCredentials(connection.credentials);
    if (this.#replaced) return this.read(); // meanwhile another one was given
    this.#connection = connection;
    this.#readAt = performance.now();
    const digest = digestOf(connection, resolved);
    const changed = digest !== this.#digest;
    this.#digest = digest;
    return { connection, resolved, changed };
  }

  /** The server did not accept the credentials: whether others may be had by reading again, which then is due. */
  async renew(): Promise<boolean> {
    const now = performance.now();
    if (!this.canChange || now - this.#renewedAt < this.#maxAgeMs) return false;
    this.#renewedAt = now;
    if (this.#connection.credentials.kind === 'plugin') forgetPluginAnswer(this.#connection.credentials);
    const before = this.#digest;
    const connection = await this.#reread();
    const resolved = await resolveCredentials(connection.credentials).catch(() => undefined);
    this.#readAt = -Infinity;
    return resolved !== undefined && digestOf(connection, resolved) !== before;
  }

  async #reread(): Promise<ClusterConnection> {
    const { reread } = this.#connection;
    return reread === undefined ? this.#connection : reread().catch(() => this.#connection);
  }
}

function digestOf({ server, certificateAuthority, serverName, insecure, proxy, gateway }: ClusterConnection, resolved: ResolvedCredentials): string {
  return JSON.stringify([server.href, certificateAuthority, serverName, insecure, proxy?.href, gateway, resolved]);
}
