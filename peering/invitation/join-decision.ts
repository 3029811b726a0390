// Whether a cluster that asks to become a source is admitted. The token is already verified; this checks its contents,
// its invitation and the invitation's state. An invitation admits one request of one cluster: the first that is
// accepted.
import type { Invitation, JoinRequest } from '../../api/kinds/invitation.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { sourceKey, type SourceIdentity } from '../identity/source-identity.ts';
import { sourceName } from '../access/target-access.ts';

/** Audience of invitation tokens (RFC 7519 §4.1.3). */
export const INVITATION_AUDIENCE = 'isthmus-join';

/** Private claims of an invitation token. */
export interface InvitationData {
  /** https URL of the target's API server as the source reaches it. */
  readonly server: string;
  /** PEM: the only CA accepted for the target's certificate. */
  readonly certificateAuthority: string;
  /** Bearer token that may only create a JoinRequest and read it. */
  readonly bearer: string;
  /** Install namespace of the target. */
  readonly installNamespace: string;
  /** Suggested name of the target, which the source may change. */
  readonly targetName: string;
  /** The one namespace that is offered; all when missing. */
  readonly namespace?: string | undefined;
  /** Lifetime of the source's tokens in s. */
  readonly tokenSeconds: number;
}

/** What to do with a request. */
export type JoinDecision =
  | { readonly kind: 'accept'; readonly invitation: Invitation }
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string }
  | Refusal;

/** A request that is refused permanently, with a CamelCase reason. */
export interface Refusal {
  readonly kind: 'refuse';
  readonly reason: string;
  readonly message: string;
}

/** The refusal of a request with whose key nothing can be encrypted. */
export const KEY_UNUSABLE: Refusal = {
  kind: 'refuse', reason: 'KeyUnusable', message: 'spec.publicKey must be a public key on P-256 as JSON Web Key',
};

/** Inputs of a decision. */
export interface JoinCase {
  readonly request: JoinRequest;
  /** The invitation of that name; undefined when it does not exist. */
  readonly invitation: Invitation | undefined;
  /** `jti` of the verified token. */
  readonly tokenId: string;
  /** UID of this cluster's kube-system Namespace. */
  readonly ownClusterId: string;
  /** All existing sources. */
  readonly sources: readonly SourceIdentity[];
  /** ms since the epoch. */
  readonly now: number;
}

/**
 * The refusal of a request whose token is invalid. A token expires with its invitation, so a late request gets the same
 * reason whichever of the two is checked first.
 */
export function refusalOfToken({ reason, message }: { readonly reason: string; readonly message: string }): Refusal {
  if (reason === 'TokenExpired') return refuse('InvitationExpired', 'the invitation has expired; ask for another one');
  return { kind: 'refuse', reason, message: `the token is refused: ${message}` };
}

/** Judges a request whose token is valid. */
export function decideJoin(joinCase: JoinCase): JoinDecision {
  const { request, invitation, tokenId, ownClusterId, now } = joinCase;
  const { spec, metadata } = request;
  if (tokenId !== spec.invitation) {
    return refuse('WrongInvitation', `the token belongs to invitation ${tokenId}, not to ${spec.invitation}`);
  }
  if (spec.clusterID === ownClusterId) {
    return refuse('SameCluster', 'a cluster cannot be a source of itself; use a target with spec.self: true');
  }
  if (invitation === undefined) {
    return refuse('InvitationGone', 'the invitation was withdrawn; ask for another one');
  }
  const { redeemedBy, clusterID } = invitation.status ?? {};
  if (redeemedBy === metadata.uid) return { kind: 'accept', invitation }; // interrupted after it was admitted
  if (redeemedBy !== undefined) return refuse(
    'AlreadyRedeemed',
    `the invitation was used by cluster ${clusterID}; each is for one source, once. If that was not you, ` +
      'revoke the permissions of that source',
  );
  if (Date.parse(invitation.spec.expiresAt) <= now) {
    return refuse('InvitationExpired', `the invitation expired at ${invitation.spec.expiresAt}; ask for another one`);
  }
  const known = conflictingSource(joinCase, invitation.spec.namespace);
  if (known !== undefined) {
    return refuse(
      'AlreadyASource',
      `source ${sourceKey(known)} is there already for that cluster or name; it has to leave first (isthmus unpeer ` +
        `in that source), or be deleted in the target (${deletionOf(known)})`,
    );
  }
  return decideApproval(spec.clusterID, invitation);
}

/**
 * A cluster's identity is its own claim: an invited cluster must not be able to take over that of an existing source,
 * nor its account. Sources of different namespaces do not conflict. A source that was admitted but interrupted is
 * recognized by its key: no other process can read what it is granted.
 */
function conflictingSource({ request, sources }: JoinCase, namespace: string | undefined): SourceIdentity | undefined {
  const { clusterID, targetName, publicKey } = request.spec;
  const name = sourceName({ name: targetName, sourceId: clusterID });
  return sources
    .filter((source) => namespace === undefined || source.namespace === undefined || source.namespace === namespace)
    .find((source) => (source.clusterId === clusterID || source.name === name) && !isInterrupted(source));

  function isInterrupted(source: SourceIdentity): boolean {
    return source.clusterId === clusterID && source.name === name && source.namespace === namespace
      && source.joinKey !== undefined && source.joinKey === joinKeyOf(publicKey);
  }
}

function deletionOf({ namespace, name }: SourceIdentity): string {
  return namespace === undefined
    ? `kubectl delete clustersource ${name}`
    : `kubectl delete source ${name} -n ${namespace}`;
}

/**
 * Digest of a public key (JWK, JSON), independent of field order: 64 hexadecimal digits; undefined for invalid JSON.
 */
export function joinKeyOf(publicKey: string): string | undefined {
  try {
    return Buffer.from(contentDigest(JSON.parse(publicKey)), 'base64').toString('hex');
  } catch {
    return undefined;
  }
}

function decideApproval(clusterID: string, invitation: Invitation): JoinDecision {
  const { metadata, spec } = invitation;
  if (spec.approval === 'Automatic' || spec.approvedClusterID === clusterID) return { kind: 'accept', invitation };
  if (spec.approvedClusterID !== undefined) {
    return refuse('AnotherApproved', `cluster ${spec.approvedClusterID} was approved instead`);
  }
  return {
    kind: 'wait', reason: 'ApprovalPending',
    message: `an administrator of the target has to run: isthmus approve ${metadata.name}`,
  };
}

function refuse(reason: string, message: string): Refusal {
  return { kind: 'refuse', reason, message };
}

/** The data of a verified token; undefined when another version with other claims signed it. */
export function toInvitationData(data: Readonly<Record<string, unknown>>): InvitationData | undefined {
  const { server, certificateAuthority, bearer, installNamespace, targetName, namespace, tokenSeconds } = data;
  const texts = [server, certificateAuthority, bearer, installNamespace, targetName];
  if (!texts.every((text) => typeof text === 'string') || typeof tokenSeconds !== 'number') return undefined;
  if (namespace !== undefined && typeof namespace !== 'string') return undefined;
  return data as unknown as InvitationData;
}
