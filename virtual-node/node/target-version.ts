// The Kubernetes version of a target, requested when a connection to it opens: an upgrade of its API server closes them
// all.
import { TargetAnswers } from './target-answers.ts';

/** `/version` of an API server (`k8s.io/apimachinery` version.Info). */
interface VersionInfo {
  readonly gitVersion?: unknown;
}

const INTERVAL_MS = 60_000;
/** Valid versions for a Node's status, including distributions' (`v1.30.0+k3s1`). */
const VERSION = /^v\d{1,4}\.\d{1,4}\.\d{1,4}[-+.\w]{0,64}$/;

/** The versions of targets, `v1.36.3`. */
export function targetVersions(): TargetAnswers<string> {
  return new TargetAnswers({
    intervalMs: INTERVAL_MS,
    async ask({ client, signal }) {
      const { gitVersion } = await client.transport.call<VersionInfo>({ method: 'GET', path: '/version' }, signal);
      return typeof gitVersion === 'string' && VERSION.test(gitVersion) ? gitVersion : undefined;
    },
  });
}
