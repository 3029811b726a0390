// What must be so before a takeover changes anything: mistakes that are easily made when the commands are typed, each
// with what to type instead. Pure.
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { isRecord, unverifiedClaims } from '../../model/objects/json-values.ts';
import { AppError } from '../../process/errors.ts';
import { targetText } from '../clusters/cluster-flags.ts';

/** By what Isthmus was installed in the cluster: Helm, in that namespace; `isthmus install`; or nothing yet. */
export type InstalledBy =
  | { readonly kind: 'chart'; readonly namespace: string }
  | { readonly kind: 'command' }
  | { readonly kind: 'nothing' };

/** What is known before the first step. */
export interface Preconditions {
  readonly installed: InstalledBy;
  readonly installNamespace: string;
  /** `--install` was given. */
  readonly mayInstall: boolean;
  /** Targets, as users name them, in which Admiralty's controllers work. */
  readonly admiraltyTargets: readonly string[];
  /** `--targets-later` was given. */
  readonly targetsLater: boolean;
}

/** Throws AppError `BadInput` that says what to type first. */
export function requirePreconditions(
  { installed, installNamespace, mayInstall, admiraltyTargets, targetsLater }: Preconditions,
): void {
  if (installed.kind === 'chart' && installed.namespace !== installNamespace) throw new AppError(
    'BadInput',
    `The chart of Isthmus is installed in namespace ${installed.namespace}, not in ${installNamespace}. Add ` +
      `--install-namespace ${installed.namespace}.`,
  );
  if (installed.kind === 'nothing' && !mayInstall) throw new AppError(
    'BadInput',
    'Isthmus is not installed in this cluster. Install its chart first, or add --install to install the same as ' +
      '"isthmus install" without Helm.',
  );
  if (admiraltyTargets.length > 0 && !targetsLater) throw new AppError(
    'BadInput',
    `Migrate targets first: Admiralty still runs in ${admiraltyTargets.join(', ')}. Run "isthmus migrate admiralty" ` +
      'there. With --targets-later this source is migrated anyway; until those targets are migrated too, pods keep ' +
      'running in them without status updates, and no new pod is sent there.',
  );
}

/**
 * The file given for each target as `NAME=FILE`.
 * @throws AppError `BadInput` for a name that no target has, and for targets without a file.
 */
export function targetFiles(targets: readonly TargetRef[], given: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map(given.map((text) => {
    const end = Math.max(0, text.indexOf('='));
    return [text.slice(0, end), text.slice(end + 1)] as const;
  }));
  const names = targets.map(targetText);
  const strange = [...files.keys()].filter((name) => !names.includes(name));
  if (strange.length > 0) throw new AppError(
    'BadInput',
    names.length === 0
      ? `This cluster has no targets; leave out --target ${strange.join(', ')}, or name the kubeconfig of the source.`
      : `No target of this cluster is called ${strange.map((name) => JSON.stringify(name)).join(', ')}. Its targets: ` +
        `${names.join(', ')}.`,
  );
  const missing = names.filter((name) => !files.has(name));
  if (missing.length > 0) throw new AppError(
    'BadInput',
    `Give an administrator's kubeconfig of each target: ${missing.map((name) => `--target ${name}=FILE`).join(' ')}.`,
  );
  return files;
}

/** A ServiceAccount, as the API server that issued a token for it wrote it into the token. */
export interface TokenAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const LEGACY = 'kubernetes.io/serviceaccount';

/**
 * The account of a bound token (claim `kubernetes.io`) or of one from a Secret; undefined for any other token. Not
 * verified: it is only compared.
 */
export function accountOfToken(token: string): TokenAccount | undefined {
  const claims = unverifiedClaims(token);
  const bound = claims['kubernetes.io'];
  const [namespace, { name, uid }] = isRecord(bound)
    ? [bound['namespace'], isRecord(bound['serviceaccount']) ? bound['serviceaccount'] : {}]
    : [claims[`${LEGACY}/namespace`], {
      name: claims[`${LEGACY}/service-account.name`], uid: claims[`${LEGACY}/service-account.uid`],
    }];
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return { namespace, name, uid };
}
