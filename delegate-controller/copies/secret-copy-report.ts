// Decides what a target reports about the Secrets of sources: a SecretCopy for each, without its contents (ADR 0024).
import type { Secret } from '../../api/objects/core.ts';
import {
  COPY_DIGEST_ANNOTATION, COPY_VERSION_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL,
} from '../../api/objects/keys.ts';
import { apiVersionOf, SECRET_COPIES, SECRETS } from '../../api/resource-types.ts';
import type { SecretCopy, SecretCopySpec } from '../../api/kinds/secret-copy.ts';
import { deletion, NOTHING, type Plan } from '../../model/objects/plan.ts';
import { splitKey } from '../../model/pod/pod.ts';
import { copyDigest, isCopyOf } from './followed-copy.ts';
import { FOLLOWED_KINDS, type FollowedKind } from './followed-kinds.ts';

/** The cached fields of a source's Secret. */
export interface CopiedSecret {
  readonly namespace: string;
  readonly name: string;
  /** Identity of the source. */
  readonly sourceId: string;
  readonly spec: SecretCopySpec;
}

/** The cached fields of a report. */
export interface SecretReport {
  readonly uid: string;
  readonly spec: SecretCopySpec;
}

/** The record of a Secret; undefined when no source created it. */
export function toCopiedSecret(secret: Secret): CopiedSecret | undefined {
  const { namespace = '', name = '', uid = '', resourceVersion = '', labels = {}, annotations = {} } = secret.metadata;
  const sourceId = labels[PARENT_CLUSTER_LABEL] ?? '';
  if (sourceId === '' || !isCopyOf(secret, sourceId)) return undefined;
  const spec = {
    secretUID: uid,
    secretVersion: resourceVersion,
    parentUID: labels[PARENT_UID_LABEL] ?? '',
    parentVersion: annotations[COPY_VERSION_ANNOTATION] ?? '',
    intact: annotations[COPY_DIGEST_ANNOTATION] === copyDigest(secretKind(), secret),
  };
  return { namespace, name, sourceId, spec };
}

/** The write that brings the report up to date. A report is garbage-collected with its Secret. */
export function planReport(key: string, secret: CopiedSecret | undefined, report: SecretReport | undefined): Plan {
  const at = splitKey(key);
  if (secret === undefined || (report !== undefined && report.spec.secretUID !== secret.spec.secretUID)) {
    return report === undefined ? NOTHING : [deletion(SECRET_COPIES, { ...at, uid: report.uid })];
  }
  if (report === undefined) return [{ kind: 'create', type: SECRET_COPIES, object: toReport(secret) }];
  if (isSame(report.spec, secret.spec)) return NOTHING;
  const patch = { metadata: { uid: report.uid }, spec: secret.spec };
  return [{ kind: 'patch', type: SECRET_COPIES, at, patchType: 'merge', patch }];
}

function toReport({ namespace, name, sourceId, spec }: CopiedSecret): SecretCopy {
  const owner = { apiVersion: apiVersionOf(SECRETS), kind: SECRETS.kind, name, uid: spec.secretUID };
  return {
    metadata: { namespace, name, labels: { [PARENT_CLUSTER_LABEL]: sourceId }, ownerReferences: [owner] }, spec,
  };
}

/** The record of a report. */
export function toSecretReport({ metadata, spec }: SecretCopy): SecretReport {
  return { uid: metadata.uid ?? '', spec };
}

function isSame(left: SecretCopySpec, right: SecretCopySpec): boolean {
  return (Object.keys(right) as (keyof SecretCopySpec)[]).every((field) => left[field] === right[field]);
}

/** The followed kind of Secrets. Throws when it is missing, which is a bug. */
export function secretKind(): FollowedKind {
  const kind = FOLLOWED_KINDS.find(({ type }) => type.plural === SECRETS.plural);
  if (kind === undefined) throw new Error('Secrets follow');
  return kind;
}
