// Whether a cluster that asks to become a source is let in. The token has been verified before; this looks at what it says, at the invitation
// that it belongs to, and at what has become of that. An invitation is for one request of one cluster: the first that is accepted.
import type { Invitation, JoinRequest } from '../../api/kinds/invitation.ts';
import { contentDigest } from '../../model/objects/content-digest.ts';
import { sourceKey, type SourceIdentity } from '../identity/source-identity.ts';
import { sourceName } from '../access/target-access.ts';

/** Audience of invitations' tokens (RFC 7519 §4.1.3). */
export const INVITATION_AUDIENCE = 'isthmus-join';

/** What an invitation's token holds, beside the registered claims. */
export interface InvitationData {
  /** https URL of the target's API server as the source reaches it. */
  readonly server: string;
  /** PEM: the one authority that the target's certificate may come from. */
  readonly certificateAuthority: string;
  /** Bearer token that may do one thing: make a JoinRequest and read it. */
  readonly bearer: string;
  /** Of the target. */
  readonly installNamespace: string;
  /** Name for the target, which the source may change. */
  readonly targetName: string;
  /** The one namespace that is offered; all when missing. */
  readonly namespace?: string | undefined;
  /** Life of the source's tokens, in s. */
  readonly tokenSeconds: number;
}

/** What is to be done about a request. */
export type JoinVerdict =
  | { readonly kind: 'accept'; readonly invitation: Invitation }
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string };

/** What a verdict is made on. */
export interface JoinCase {
  readonly request: JoinRequest;
  /** The invitation of that name; undefined when there is none. */
  readonly invitation: Invitation | undefined;
  /** `jti` of the verified token. */
  readonly tokenId: string;
  /** UID of this cluster's kube-system Namespace. */
  readonly ownClusterId: string;
  /** All sources that there are. */
  readonly sources: readonly SourceIdentity[];
  /** ms since the epoch. */
  readonly now: number;
}

/** Judges a request whose token is genuine. */
export function judgeJoin(joinCase: JoinCase): JoinVerdict {
  const { request, invitation, tokenId, ownClusterId, now } = joinCase;
  const { spec, metadata } = request;
  if (tokenId !== spec.invitation) return refuse('WrongInvitation', `the token belongs to invitation ${tokenId}, not to ${spec.invitation}`);
  if (spec.clusterID === ownClusterId) return refuse('SameCluster', 'a cluster cannot be a source of itself; use a target with spec.self: true');
  if (invitation === undefined) return refuse('InvitationGone', 'the invitation has been taken back; ask for another one');
  const { redeemedBy, clusterID } = invitation.status ?? {};
  if (redeemedBy === metadata.uid) return { kind: 'accept', invitation }; // it was interrupted after it had been let in
  if (redeemedBy !== undefined) return refuse('AlreadyRedeemed', `the invitation was used by cluster ${clusterID}; each is for one source, once. If that was not you, take that source's rights back`);
  if (Date.parse(invitation.spec.expiresAt) <= now) return refuse('InvitationExpired', `the invitation expired at ${invitation.spec.expiresAt}; ask for another one`);
  const known = sourceInTheWay(joinCase, invitation.spec.namespace);
  if (known !== undefined) {
    return refuse('AlreadyASource', `source ${sourceKey(known)} is there already for that cluster or name; it has to leave first (isthmus unpeer in that source), or be deleted in the target (${deletionOf(known)})`);
  }
  return judgeApproval(spec.clusterID, invitation);
}

/**
 * A cluster's identity is what it says it is: whoever was invited must not be able to take that of a source which is there, nor its account.
 * Sources of different namespaces do not meet. One that was let in and interrupted is known again by its key: what it is granted nobody else can read.
 */
function sourceInTheWay({ request, sources }: JoinCase, namespace: string | undefined): SourceIdentity | undefined {
  const { clusterID, targetName, publicKey } = request.spec;
  const name = sourceName({ name: targetName, sourceId: clusterID });
  return sources
    .filter((source) => namespace === undefined || source.namespace === undefined || source.namespace === namespace)
    .find((source) => (source.clusterId === clusterID || source.name === name) && !isInterrupted(source));

  function isInterrupted(source: SourceIdentity): boolean {
    return source.clusterId === clusterID && source.name === name && source.namespace === namespace && source.joinKey !== undefined && source.joinKey === joinKeyOf(publicKey);
  }
}

function deletionOf({ namespace, name }: SourceIdentity): string {
  return namespace === undefined ? `kubectl delete clustersource ${name}` : `kubectl delete source ${name} -n ${namespace}`;
}

/** Digest of a public key (JWK, JSON), however its fields are ordered: 64 hexadecimal digits; undefined for what is no JSON. */
export function joinKeyOf(publicKey: string): string | undefined {
  try {
    return Buffer.from(contentDigest(JSON.parse(publicKey)), 'base64').toString('hex');
  } catch {
    return undefined;
  }
}

function judgeApproval(clusterID: string, invitation: Invitation): JoinVerdict {
  const { metadata, spec } = invitation;
  if (spec.approval === 'Automatic' || spec.approvedClusterID === clusterID) return { kind: 'accept', invitation };
  if (spec.approvedClusterID !== undefined) return refuse('AnotherApproved', `cluster ${spec.approvedClusterID} was approved instead`);
  return { kind: 'wait', reason: 'ApprovalPending', message: `an administrator of the target has to run: isthmus approve ${metadata.name}` };
}

function refuse(reason: string, message: string): JoinVerdict {
  return { kind: 'refuse', reason, message };
}

/** The data of a verified token; undefined when it was signed by another version that says other things. */
export function toInvitationData(data: Readonly<Record<string, unknown>>): InvitationData | undefined {
  const { server, certificateAuthority, bearer, installNamespace, targetName, namespace, tokenSeconds } = data;
  const texts = [server, certificateAuthority, bearer, installNamespace, targetName];
  if (!texts.every((text) => typeof text === 'string') || typeof tokenSeconds !== 'number') return undefined;
  if (namespace !== undefined && typeof namespace !== 'string') return undefined;
  return data as unknown as InvitationData;
}
