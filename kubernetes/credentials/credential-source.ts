// The current credentials of a connection. Files, plugins and kubeconfigs are re-read at intervals, and at once after a
// 401. Unchanged credentials are reported as such, so that nothing reconnects without need.
import { messageOf } from '../../process/errors.ts';
import { forgetAuthProvider } from './auth-provider.ts';
import type { ClusterConnection } from './kubeconfig.ts';
import { resolveCredentials } from './kubeconfig-user.ts';
import type { ResolvedCredentials } from './resolved-credentials.ts';

/** A connection with its current credentials. */
export interface FreshCredentials {
  readonly connection: ClusterConnection;
  readonly resolved: ResolvedCredentials;
  /** Whether anything differs from the last read. */
  readonly changed: boolean;
}

/** Least time between two reads of rejected credentials that count as changes, in ms: each reopens all watches. */
const DISTRUST_MS = 10_000;

/** Credentials of one connection and of its replacements. */
export class CredentialSource {
  readonly #maxAgeMs: number;
  #connection: ClusterConnection;
  #readAt = -Infinity;
  #renewedAt = -Infinity;
  /** The outcome of the last renewal, or of the one in progress. */
  #renewal = Promise.resolve(false);
  #digest: string | undefined;
  #replaced = false;
  #distrustedAt = -Infinity;
  /** The next read counts as a change. */
  #isDistrusted = false;
  #problem: string | undefined;
  /** Called when {@link problem} has changed. */
  onProblem: () => void = () => undefined;

  constructor(connection: ClusterConnection, maxAgeMs: number) {
    this.#connection = connection;
    this.#maxAgeMs = maxAgeMs;
  }

  /** Whether credentials of this kind can change without a new connection. */
  get canChange(): boolean {
    const { credentials, reread } = this.#connection;
    return reread !== undefined || credentials.kind === 'exec'
      || credentials.kind === 'token-file' || credentials.kind === 'auth-provider';
  }

  /** Why there are no credentials now: a plugin fails, or a file cannot be read. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether they are due for a re-read. */
  get isDue(): boolean {
    if (this.#replaced || this.#isDistrusted || this.#readAt === -Infinity) return true;
    return this.canChange && performance.now() - this.#readAt >= this.#maxAgeMs;
  }

  /** Switches to another connection. */
  use(connection: ClusterConnection): void {
    this.#connection = connection;
    this.#replaced = true;
  }

  /**
   * Reads the current credentials. While a kubeconfig cannot be read, for instance because it is being written, the
   * last one is used.
   * @throws what reading credentials throws.
   */
  async read(): Promise<FreshCredentials> {
    this.#replaced = false;
    const connection = await this.#reread();
    const resolved = await this.#resolve(connection);
    if (this.#replaced) return this.read(); // replaced in the meantime
    this.#connection = connection;
    this.#readAt = performance.now();
    const digest = digestOf(connection, resolved);
    const changed = digest !== this.#digest || this.#isDistrusted;
    this.#isDistrusted = false;
    this.#digest = digest;
    return { connection, resolved, changed };
  }

  /**
   * The server rejected the credentials. Returns whether a re-read has yielded others, which is then due. All calls in
   * flight are rejected with them, and share one re-read.
   */
  renew(): Promise<boolean> {
    const now = performance.now();
    if (!this.canChange) return Promise.resolve(false);
    if (now - this.#renewedAt < this.#maxAgeMs) return this.#renewal;
    this.#renewedAt = now;
    this.#renewal = this.#renewNow();
    return this.#renewal;
  }

  async #renewNow(): Promise<boolean> {
    const { credentials } = this.#connection;
    if (credentials.kind === 'auth-provider') forgetAuthProvider(credentials);
    if (credentials.kind === 'exec') credentials.plugin.reject();
    const before = this.#digest;
    const connection = await this.#reread();
    const resolved = await resolveCredentials(connection.credentials).catch(() => undefined);
    this.#readAt = -Infinity;
    return resolved !== undefined && digestOf(connection, resolved) !== before;
  }

  /**
   * The server rejected a call and there were no other credentials: the next read, due now, counts as a change even if
   * it finds the same. Returns false, and does nothing, if that happened less than {@link DISTRUST_MS} ago.
   */
  distrust(): boolean {
    const now = performance.now();
    if (now - this.#distrustedAt < DISTRUST_MS) return false;
    this.#distrustedAt = now;
    this.#isDistrusted = true;
    return true;
  }

  /** Ends a plugin that is running: no call waits for it any more. */
  close(): void {
    const { credentials } = this.#connection;
    if (credentials.kind === 'exec') credentials.plugin.stop();
  }

  async #resolve({ credentials }: ClusterConnection): Promise<ResolvedCredentials> {
    try {
      const resolved = await resolveCredentials(credentials);
      this.#tell(undefined);
      return resolved;
    } catch (error) {
      this.#tell(messageOf(error));
      throw error;
    }
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.onProblem();
  }

  async #reread(): Promise<ClusterConnection> {
    const { reread } = this.#connection;
    return reread === undefined ? this.#connection : reread().catch(() => this.#connection);
  }
}

function digestOf(
  { server, certificateAuthority, serverName, insecure, proxy, gateway }: ClusterConnection,
  resolved: ResolvedCredentials,
): string {
  return JSON.stringify([server.href, certificateAuthority, serverName, insecure, proxy?.href, gateway, resolved]);
}
