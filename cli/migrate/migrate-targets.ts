// Targets of a source that is migrated: their kubeconfig Secrets are wherever Admiralty's users have put them, and
// Isthmus reads only those that roles name. The kubeconfigs that an administrator gives must point to the same clusters
// as those Secrets.
import { ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { DEFAULT_KUBECONFIG_KEY, type ClusterTarget, type Target } from '../../api/kinds/cluster-target.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';
import { readingManifests, tokenOf } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { accountOfToken, type TokenAccount } from '../takeover/preconditions.ts';
import {
  MIGRATION_FIELD_MANAGER, targetsOf, type Migration, type MigrationTarget, type NamedTarget,
} from './migration.ts';

/** How long targets are waited for, in ms: their first connection takes a few seconds. */
const POLLING = { forMs: 60_000, everyMs: 500 };

/** Lets the components of Isthmus read the one Secret of each target, where it is not in the install namespace. */
export async function grantKubeconfigAccess(migration: Migration): Promise<void> {
  const { client, installNamespace, signal, tell } = migration;
  for (const { object } of await targetsOf(client, signal)) {
    const secret = secretOf(object, installNamespace);
    if (secret === undefined || secret.namespace === installNamespace) continue;
    for (const manifest of readingManifests(secret, installNamespace)) {
      await client.apply(manifest.kind === 'Role' ? ROLES : ROLE_BINDINGS, manifest, MIGRATION_FIELD_MANAGER, signal);
    }
    tell(`  Secret ${secret.namespace}/${secret.name}`);
  }
}

type GivenTargets = Pick<Migration, 'client' | 'installNamespace' | 'targets' | 'signal'>;

/** Where a target's kubeconfig is; undefined for the cluster itself. */
export function secretOf(
  { metadata, spec }: ClusterTarget | Target, installNamespace: string,
): NamespacedName | undefined {
  const { kubeconfigSecret } = spec;
  if (kubeconfigSecret === undefined) return undefined;
  const { name, namespace } = kubeconfigSecret as { readonly name: string; readonly namespace?: string };
  return { name, namespace: metadata.namespace ?? namespace ?? installNamespace };
}

/**
 * Throws AppError `BadInput` where an administrator's kubeconfig points to another cluster than its target: pods would
 * be looked for in the wrong one, and considered gone. Kubeconfigs without a ServiceAccount's token are not checked.
 */
export async function requireSameClusters(given: GivenTargets, named: readonly NamedTarget[]): Promise<void> {
  for (const { ref, object } of named) {
    const secret = secretOf(object, given.installNamespace);
    const target = given.targets.find((each) => targetText(each.ref) === targetText(ref));
    const account = secret && (await accountIn(secret, object, given));
    if (target === undefined || account === undefined || (await hasAccount(target, account, given.signal))) continue;
    throw new AppError(
      'BadInput',
      `The kubeconfig given for ${targetText(ref)} points to another cluster than that target: ServiceAccount ` +
        `${account.namespace}/${account.name}, which this source uses there (Secret ` +
        `${secret?.namespace}/${secret?.name}), does not exist in it. Are the files of two targets swapped?`,
    );
  }
}

/** Account of the token by which the source goes to a target; undefined where there is no such token. */
async function accountIn(
  secret: NamespacedName, { spec }: NamedTarget['object'], { client, signal }: GivenTargets,
): Promise<TokenAccount | undefined> {
  const { data = {} } = (await client.get(SECRETS, secret, signal).catch(unless(isNotFound))) ?? {};
  const kubeconfig = data[spec.kubeconfigSecret?.key ?? DEFAULT_KUBECONFIG_KEY] ?? '';
  return accountOfToken(tokenOf(Buffer.from(kubeconfig, 'base64').toString('utf8')) ?? '');
}

async function hasAccount({ client }: MigrationTarget, account: TokenAccount, signal: AbortSignal): Promise<boolean> {
  const found = await client.get(SERVICE_ACCOUNTS, account, signal).catch(unless(isNotFound));
  return found?.metadata.uid === account.uid;
}

/**
 * Waits until Isthmus can use every target, and says what keeps it from those that it cannot: their pods keep running,
 * without status updates.
 * @throws AppError `Timeout` where there are some, unless targets follow later.
 */
export async function requireReady(migration: Migration, { targetsLater }: { readonly targetsLater: boolean }): Promise<
  void
> {
  const { client, signal, tell } = migration;
  const unready = async (): Promise<readonly NamedTarget[]> =>
    (await targetsOf(client, signal)).filter(({ object }) => readyOf(object)?.status !== 'True');
  await pollUntil(async () => ((await unready()).length === 0 ? true : undefined), POLLING, signal);
  const left = await unready();
  for (const { ref, object } of left) {
    const { reason = 'Unknown', message = 'it has no status yet' } = readyOf(object) ?? {};
    tell(`  ${targetText(ref)} is not Ready: ${reason}: ${message}`);
  }
  if (left.length > 0 && !targetsLater) throw new AppError(
    'Timeout',
    `The migration is done, but Isthmus cannot use ${left.map(({ ref }) => targetText(ref)).join(', ')} yet: pods ` +
      'keep running there without status updates, and no new pod is sent there. Fix what the lines above say, then ' +
      'run "isthmus doctor".',
  );
}

function readyOf({ status }: ClusterTarget | Target) {
  return findCondition(status?.conditions, 'Ready');
}
