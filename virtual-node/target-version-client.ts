// Which Kubernetes a target runs, asked when a connection to it opens: an upgrade of its API server breaks them all.
import type { TargetSession } from '../kubernetes/target-session.ts';

/** `/version` of an API server (`k8s.io/apimachinery` version.Info). */
interface VersionInfo {
  readonly gitVersion?: unknown;
}

/** Not more often than this is a target asked, in ms. */
const INTERVAL_MS = 60_000;
/** What may stand in a Node's status: Kubernetes' versions, those of distributions too (`v1.30.0+k3s1`). */
const VERSION = /^v\d{1,4}\.\d{1,4}\.\d{1,4}[-+.\w]{0,64}$/;

/** The versions of targets. */
export class TargetVersions {
  readonly #known = new WeakMap<TargetSession, { readonly askedAt: number; readonly version: string | undefined }>();

  /** What a target said, `v1.36.3`; undefined while it has not. */
  of(session: TargetSession): string | undefined {
    return this.#known.get(session)?.version;
  }

  /** Asks, unless it was just done; `found` is called when the answer is another than before. */
  async look(session: TargetSession, found: () => void): Promise<void> {
    const { askedAt = -Infinity, version } = this.#known.get(session) ?? {};
    if (performance.now() - askedAt < INTERVAL_MS) return;
    this.#known.set(session, { askedAt: performance.now(), version });
    const { gitVersion } = await session.client.transport.call<VersionInfo>({ method: 'GET', path: '/version' }, session.signal).catch((): VersionInfo => ({}));
    if (typeof gitVersion !== 'string' || !VERSION.test(gitVersion) || gitVersion === version) return;
    this.#known.set(session, { askedAt: performance.now(), version: gitVersion });
    found();
  }
}
