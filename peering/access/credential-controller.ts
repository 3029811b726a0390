// In the source: renews the tokens by which targets are reached. A token is renewed over the connection that it
// authenticates, and the new one is stored in the Secret that the target refers to, from where the open session picks
// it up.
import type { Logger } from 'pino';
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { isUnreadable, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { kubeconfigSecretRef, type KubeconfigSecretRef } from '../../targets/access/target-kubeconfig.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { INTERVAL_MS, planRenewal, type Renewal } from './credential-renewal.ts';
import { withToken } from './target-access.ts';

/** Dependencies of the controller. */
export interface CredentialOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly installNamespace: string;
  readonly logger: Logger;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * Pause in ms before another look at a Secret that is not renewed, or may not be read: peering changes both while the
 * session goes on. The shortest token, of 600 s, is due 400 s after it was issued.
 */
const LOOK_AGAIN_MS = 300_000;

/** Starts the controller; it runs until `signal` is aborted. */
export function startCredentials(options: CredentialOptions, signal: AbortSignal): void {
  const { targets, logger } = options;
  const reconcile = (key: string) => renew(options, key, signal);
  const controller =
    startController({ name: 'credential', reconcile, concurrency: 4, logger, ready: targets.untilSynced() }, signal);
  targets.listen({ sessionOpened: ({ key }) => controller.enqueue(key) });
}

async function renew(options: CredentialOptions, targetKey: string, signal: AbortSignal): Promise<ReconcileResult> {
  const secretRef = secretRefOf(options, targetKey);
  if (secretRef === undefined) return DONE;
  const secret = await readOwn(options.source, secretRef, signal);
  if (secret === undefined) return { kind: 'requeue-after', ms: LOOK_AGAIN_MS };
  const renewal = planRenewal(secret, secretRef.key, options.now());
  if (renewal.kind === 'later') return { kind: 'requeue-after', ms: renewal.ms };
  if (renewal.kind === 'none') {
    options.logger.debug({ target: targetKey, why: renewal.why }, 'a token is not renewed');
    return { kind: 'requeue-after', ms: LOOK_AGAIN_MS };
  }
  await write({ ...options, secretRef, secret, renewal, targetKey }, signal);
  // no sooner: by a clock that is ahead of the target's, the new one may be due as well
  return { kind: 'requeue-after', ms: INTERVAL_MS };
}

interface DueRenewal extends CredentialOptions {
  readonly targetKey: string;
  readonly secretRef: KubeconfigSecretRef;
  readonly secret: Secret;
  readonly renewal: Extract<Renewal, { readonly kind: 'now' }>;
}

async function write(
  { source, targets, logger, targetKey, secretRef, secret, renewal }: DueRenewal, signal: AbortSignal,
): Promise<void> {
  const session = targets.get(targetKey)?.session;
  if (session === undefined) throw new Error('its target has no session');
  const { account, seconds, kubeconfig } = renewal;
  const { token, expirationTimestamp } = await requestToken(session.client, { ...account, seconds }, signal);
  const { uid, resourceVersion } = secret.metadata;
  const data = { [secretRef.key]: Buffer.from(withToken(kubeconfig, token), 'utf8').toString('base64') };
  const patch = { metadata: { uid, resourceVersion }, data };
  const { namespace, name } = secretRef;
  await source.patch(SECRETS, { namespace, name }, { patchType: 'merge', patch }, signal);
  logger.info({ target: targetKey, until: expirationTimestamp }, 'renewed the token of a target');
}

function secretRefOf(
  { targets, installNamespace }: CredentialOptions, targetKey: string,
): KubeconfigSecretRef | undefined {
  const target = targets.get(targetKey);
  const spec = target && targets.object(target.ref)?.spec;
  return target && spec && kubeconfigSecretRef(target.ref, spec, installNamespace);
}

/** Peering grants access to its own Secrets only; any other is renewed by its owner. */
function readOwn(
  source: ClusterClient, { namespace, name }: KubeconfigSecretRef, signal: AbortSignal,
): Promise<Secret | undefined> {
  return source.get(SECRETS, { namespace, name }, signal).catch(unless(isUnreadable));
}
