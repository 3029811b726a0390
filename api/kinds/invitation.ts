// Invitation and JoinRequest: how a cluster becomes a source of this one while no administrator's kubeconfig leaves its
// cluster. The target's administrator creates an Invitation, the bearer of its token creates a JoinRequest, and the
// target's controller responds in its status.
import { NAMESPACE_SELECTOR, NAMESPACES, POD_SECURITY, type SourceGrants } from './cluster-source.ts';
import type { Condition, KubernetesObject } from '../objects/core.ts';
import { CONDITIONS, type KindDefinition } from '../objects/schema.ts';

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
    spec: {
      type: 'object',
      description: 'What the invitation grants.',
      required: ['expiresAt', 'approval'],
      properties: {
        expiresAt: { type: 'string', format: 'date-time', description: 'When it expires.' },
        namespace: {
          type: 'string', description: 'The only namespace that the source may use; default: all.', maxLength: 63,
          pattern: LABEL_PATTERN,
        },
        grants: {
          type: 'object',
          description: 'What the source will be granted; default: OptedIn and baseline.',
          properties: { namespaces: NAMESPACES, namespaceSelector: NAMESPACE_SELECTOR, podSecurity: POD_SECURITY },
        },
        tokenSeconds: {
          type: 'integer',
          description: `Lifetime of the source's first token, in seconds; default: ${DEFAULT_TOKEN_SECONDS}.`,
          minimum: 600,
        },
        approval: {
          type: 'string', description: 'Whether an administrator has to approve the source ("isthmus approve").',
          enum: ['Automatic', 'Manual'],
        },
        approvedClusterID: {
          type: 'string', description: 'The source that an administrator has approved.', maxLength: 63,
          pattern: CLUSTER_ID_PATTERN,
        },
      },
    },
    status: {
      type: 'object',
      description: 'Its outcome.',
      properties: {
        redeemedBy: { type: 'string', description: 'UID of the JoinRequest that redeemed it.', maxLength: 63 },
        clusterID: { type: 'string', description: 'The cluster that redeemed it.', maxLength: 63 },
        conditions: CONDITIONS,
      },
    },
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
    spec: {
      type: 'object',
      description: 'The request of the source. Immutable.',
      required: ['invitation', 'token', 'clusterID', 'targetName', 'publicKey'],
      'x-kubernetes-validations':
        [{ rule: 'self == oldSelf', message: 'a join request cannot be changed; make another one' }],
      properties: {
        invitation: {
          type: 'string', description: 'Name of the Invitation.', minLength: 1, maxLength: 63, pattern: LABEL_PATTERN,
        },
        token: {
          type: 'string', description: "The Invitation's token. Invalid once it is redeemed or has expired.",
          minLength: 1, maxLength: 16_384,
        },
        clusterID: {
          type: 'string', description: "UID of the source's kube-system Namespace.", minLength: 1, maxLength: 63,
          pattern: CLUSTER_ID_PATTERN,
        },
        targetName: {
          type: 'string', description: 'Name of this cluster in the source.', minLength: 1, maxLength: 63,
          pattern: LABEL_PATTERN,
        },
        publicKey: {
          type: 'string', description: 'Public key of the source as JSON Web Key; the response is encrypted for it.',
          minLength: 1, maxLength: 4_096,
        },
      },
    },
    status: {
      type: 'object',
      description: 'The response.',
      properties: {
        phase:
          { type: 'string', description: 'Pending, Accepted or Refused.', enum: ['Pending', 'Accepted', 'Refused'] },
        reason: { type: 'string', description: 'Why, in CamelCase.', maxLength: 1024 },
        message: { type: 'string', description: 'Human-readable message.', maxLength: 4_096 },
        access: {
          type: 'string', description: 'How to reach this cluster, encrypted for the key of the request.',
          maxLength: 65_536,
        },
      },
    },
  },
};
