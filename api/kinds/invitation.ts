// Invitation and JoinRequest: how a cluster becomes a source of this one while no administrator's kubeconfig leaves its
// cluster. The target's administrator creates an Invitation, the bearer of its token creates a JoinRequest, and the
// target's controller responds in its status.
import { NAMESPACE_SELECTOR, NAMESPACES, POD_SECURITY, type SourceGrants } from './cluster-source.ts';
import type { Condition, KubernetesObject } from '../objects/core.ts';
import { CONDITIONS, objectOf, text, time, type KindDefinition } from '../objects/schema.ts';

/** Default lifetime of a source's token in s: the source renews it at two thirds. */
export const DEFAULT_TOKEN_SECONDS = 24 * 60 * 60;

/** An offer to one source, for one use. */
export interface Invitation extends KubernetesObject {
  readonly spec: {
    /** RFC 3339; not accepted afterwards. */
    readonly expiresAt: string;
    /** The only namespace that the source may use; all when missing. */
    readonly namespace?: string;
    /** Lifetime of the source's first token, in s. */
    readonly tokenSeconds?: number;
    /** Grants of the source; missing fields default as in the commands, not as in Admiralty. */
    readonly grants?: SourceGrants;
    readonly approval: 'Automatic' | 'Manual';
    /** The source that an administrator approved, with manual approval. */
    readonly approvedClusterID?: string;
  };
  readonly status?: {
    /** UID of the JoinRequest that redeemed it. */
    readonly redeemedBy?: string;
    /** Cluster ID of that source. */
    readonly clusterID?: string;
    readonly conditions?: readonly Condition[];
  };
}

/** Maximum number of JoinRequests per invitation. */
export const MAX_JOIN_REQUESTS = 10;

/** Names of an invitation's JoinRequests: the bearer of its token may create only these. */
export function joinRequestNames(invitation: string): readonly string[] {
  return Array.from({ length: MAX_JOIN_REQUESTS }, (_, index) => `${invitation}-${index}`);
}

/** Name of the ServiceAccount of an invitation's token, in the install namespace. */
export function invitationAccount(invitation: string): string {
  return `isthmus-${invitation}`;
}

/** A source's request. */
export interface JoinRequestSpec {
  /** Name of the Invitation. */
  readonly invitation: string;
  /** The invitation's JWT; invalid after it was redeemed or has expired. */
  readonly token: string;
  /** UID of the source's kube-system Namespace. */
  readonly clusterID: string;
  /** Name of the target in the source. */
  readonly targetName: string;
  /** Public key as a JWK (RFC 7517), JSON: only its owner can decrypt the response. */
  readonly publicKey: string;
}

/** The target's response. */
export interface JoinRequestStatus {
  readonly phase: 'Pending' | 'Accepted' | 'Refused';
  /** CamelCase. */
  readonly reason?: string;
  readonly message?: string;
  /** Compact JWE (RFC 7516) for the request's key: the granted access as JSON. */
  readonly access?: string;
}

/** A source that requests access. */
export interface JoinRequest extends KubernetesObject {
  readonly spec: JoinRequestSpec;
  readonly status?: JoinRequestStatus;
}

const CLUSTER_ID_PATTERN = '^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$';
const LABEL_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

/** CRD of Invitation. */
export const INVITATION_KIND: KindDefinition = {
  group: 'isthmus.dev',
  kind: 'Invitation',
  plural: 'invitations',
  shortName: 'inv',
  scope: 'Namespaced',
  description:
    'An invitation for one cluster to become a source of this one. Created by "isthmus invite", in the install ' +
      'namespace.',
  columns: [
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt' },
    { name: 'Approval', type: 'string', jsonPath: '.spec.approval' },
    { name: 'Redeemed by', type: 'string', jsonPath: '.status.clusterID' },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf('What the invitation grants.', {
      expiresAt: time('When it expires.'),
      namespace:
        text('The only namespace that the source may use; default: all.', { maxLength: 63, pattern: LABEL_PATTERN }),
      grants: objectOf('What the source will be granted; default: OptedIn and baseline.', {
        namespaces: NAMESPACES,
        namespaceSelector: NAMESPACE_SELECTOR,
        podSecurity: POD_SECURITY,
      }),
      tokenSeconds: {
        type: 'integer',
        description: `Lifetime of the source's first token, in seconds; default: ${DEFAULT_TOKEN_SECONDS}.`,
        minimum: 600,
      },
      approval: text('Whether an administrator has to approve the source ("isthmus approve").', {
        enum: ['Automatic', 'Manual'],
      }),
      approvedClusterID:
        text('The source that an administrator has approved.', { maxLength: 63, pattern: CLUSTER_ID_PATTERN }),
    }, ['expiresAt', 'approval']),
    status: objectOf('Its outcome.', {
      redeemedBy: text('UID of the JoinRequest that redeemed it.', { maxLength: 63 }),
      clusterID: text('The cluster that redeemed it.', { maxLength: 63 }),
      conditions: CONDITIONS,
    }),
  },
};

/** CRD of JoinRequest. */
export const JOIN_REQUEST_KIND: KindDefinition = {
  group: 'isthmus.dev',
  kind: 'JoinRequest',
  plural: 'joinrequests',
  shortName: 'jreq',
  scope: 'Namespaced',
  description:
    'A request of a cluster to become a source of this one. Created by "isthmus join" with the token of an Invitation.',
  columns: [
    { name: 'Invitation', type: 'string', jsonPath: '.spec.invitation' },
    { name: 'Cluster', type: 'string', jsonPath: '.spec.clusterID' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf(
      'The request of the source. Immutable.',
      {
        invitation: text('Name of the Invitation.', { minLength: 1, maxLength: 63, pattern: LABEL_PATTERN }),
        token: text("The Invitation's token. Invalid once it is redeemed or has expired.", {
          minLength: 1, maxLength: 16_384,
        }),
        clusterID: text("UID of the source's kube-system Namespace.", {
          minLength: 1, maxLength: 63, pattern: CLUSTER_ID_PATTERN,
        }),
        targetName:
          text('Name of this cluster in the source.', { minLength: 1, maxLength: 63, pattern: LABEL_PATTERN }),
        publicKey: text('Public key of the source as JSON Web Key; the response is encrypted for it.', {
          minLength: 1, maxLength: 4_096,
        }),
      },
      ['invitation', 'token', 'clusterID', 'targetName', 'publicKey'],
      {
        'x-kubernetes-validations': [
          { rule: 'self == oldSelf', message: 'a join request cannot be changed; make another one' },
        ],
      },
    ),
    status: objectOf('The response.', {
      phase: text('Pending, Accepted or Refused.', { enum: ['Pending', 'Accepted', 'Refused'] }),
      reason: text('Why, in CamelCase.', { maxLength: 1024 }),
      message: text('Human-readable message.', { maxLength: 4_096 }),
      access: text('How to reach this cluster, encrypted for the key of the request.', { maxLength: 65_536 }),
    }),
  },
};
