// Joining, in the target: verifies JoinRequests, admits invited clusters, and tells the others why not. The response
// holds a token of the new identity, encrypted for the requester's key; a copy of the invitation does not suffice to
// read it.
import type { Logger } from 'pino';
import {
  DEFAULT_TOKEN_SECONDS, type Invitation, type JoinRequest, type JoinRequestStatus,
} from '../../api/kinds/invitation.ts';
import { INVITATION_KEY_SECRET } from '../../api/objects/own-names.ts';
import {
  apiVersionOf, CLUSTER_SOURCES, INVITATIONS, JOIN_REQUESTS, SECRETS, SOURCES,
} from '../../api/resource-types.ts';
import { ApiError, isConflict, isForbidden, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { KEY_NAMESPACE_REMEDY, keyNamespace } from '../../model/access/key-namespace.ts';
import { AppError } from '../../process/errors.ts';
import { sealerFor } from '../../process/crypto/sealed-message.ts';
import { verifyToken, type VerifiedToken } from '../../process/crypto/signed-token.ts';
import { AccountTakenError, establishIdentity } from '../identity/establish-identity.ts';
import {
  INVITATION_AUDIENCE, joinKeyOf, decideJoin, KEY_UNUSABLE, refusalOfToken, toInvitationData, type JoinDecision,
  type Refusal,
} from './join-decision.ts';
import { toSourceIdentity, type SourceIdentity } from '../identity/source-identity.ts';
import {
  peeringIdentity, sourceAccount, type GrantedAccess, type Peering,
} from '../access/target-access.ts';

/** Dependencies of the controller. */
export interface JoinOptions {
  readonly client: ClusterClient;
  /** UID of this cluster's kube-system Namespace. */
  readonly clusterId: string;
  readonly installNamespace: string;
  readonly events: EventSink;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-peering';
/**
 * How long an invitation is kept after it expired or was used, in ms: late and repeated requests get an explanation.
 */
const REMEMBERED_MS = 10 * 60_000;

/** Starts the controller; it runs until `signal` is aborted. */
export function startJoining(options: JoinOptions, signal: AbortSignal): void {
  new Joining(options).start(signal);
}

type Accepted = Extract<JoinDecision, { readonly kind: 'accept' }>;
type Judged = Accepted | Refusal
  | (Extract<JoinDecision, { readonly kind: 'wait' }> & { readonly untilMs: number });

/** Why no identity could be made; undefined for what may pass. */
function refusalOfIdentity(error: unknown, namespace: string | undefined): Refusal | undefined {
  if (error instanceof AccountTakenError) return { kind: 'refuse', reason: 'AccountTaken', message: error.message };
  if (!(error instanceof ApiError) || error.status !== 404 || namespace === undefined) return undefined;
  return { kind: 'refuse', reason: 'NamespaceMissing', message: `the target has no namespace ${namespace}` };
}

class Joining {
  readonly #options: JoinOptions;
  readonly #invitations: Informer<Invitation, Invitation>;
  readonly #requests: Informer<JoinRequest, JoinRequest>;

  constructor(options: JoinOptions) {
    this.#options = options;
    const { client, logger, installNamespace: namespace } = options;
    const inform = fullInformersOf({ client, logger });
    this.#invitations = inform(INVITATIONS, { namespace });
    this.#requests = inform(JOIN_REQUESTS, { namespace });
  }

  start(signal: AbortSignal): void {
    const { logger } = this.#options;
    const ready = Promise.all([this.#invitations.synced, this.#requests.synced]);
    const requests = startController(
      { name: 'join-request', reconcile: (key) => this.#reconcile(key, signal), concurrency: 1, logger, ready }, signal,
    );
    const invitations = startController(
      { name: 'invitation', reconcile: (key) => this.#forget(key, signal), concurrency: 1, logger, ready }, signal,
    );
    this.#requests.onChange((key) => requests.enqueue(key));
    this.#invitations.onChange((key) => {
      invitations.enqueue(key);
      for (const { metadata, spec } of this.#requests.records()) {
        if (key.endsWith(`/${spec.invitation}`)) requests.enqueue(`${metadata.namespace}/${metadata.name}`);
      }
    });
    void this.#requests.run(signal);
    void this.#invitations.run(signal);
  }

  /** Deletes an invitation once it is no longer needed for explanations, with its account and requests. */
  async #forget(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const invitation = this.#invitations.get(key);
    if (invitation === undefined) return DONE;
    const { namespace, name = '', uid = '' } = invitation.metadata;
    const leftMs = Date.parse(invitation.spec.expiresAt) + REMEMBERED_MS - Date.now();
    if (leftMs > 0) return { kind: 'requeue-after', ms: leftMs };
    await this.#options.client.delete(INVITATIONS, { namespace, name }, { preconditions: { uid } }, signal)
      .catch(unless(isNotFound));
    return DONE;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const request = this.#requests.get(key);
    if (request === undefined) return DONE;
    const invitation = this.#invitations.get(`${request.metadata.namespace}/${request.spec.invitation}`);
    if (request.status?.phase === 'Accepted' || request.status?.phase === 'Refused') return invitation === undefined
      ? this.#remove(request, signal)
      : DONE;
    const judged = await this.#judge(request, invitation ?? (await this.#liveInvitation(request, signal)), signal);
    if (judged.kind === 'refuse') return this.#refuse(request, judged, signal);
    if (judged.kind === 'accept') {
      if (await this.#isAnswered(request, signal)) return DONE;
      return this.#accept(request, judged, signal).catch((error: unknown) => this.#fail(request, error, signal));
    }
    await this.#answer(request, { phase: 'Pending', reason: judged.reason, message: judged.message }, signal);
    return { kind: 'requeue-after', ms: Math.max(0, judged.untilMs - Date.now()) };
  }

  /** Uncached: of two watches, that of invitations may be behind, and what is refused stays refused. */
  async #liveInvitation({ metadata, spec }: JoinRequest, signal: AbortSignal): Promise<Invitation | undefined> {
    const at = { namespace: metadata.namespace, name: spec.invitation };
    return this.#options.client.get(INVITATIONS, at, signal).catch(unless(isNotFound));
  }

  /**
   * Uncached: the change of its own invitation brings a request back before the watch brings the answer, and a source
   * that was deleted meanwhile must not be recreated.
   */
  async #isAnswered({ metadata: { namespace, name = '' } }: JoinRequest, signal: AbortSignal): Promise<boolean> {
    const live = await this.#options.client.get(JOIN_REQUESTS, { namespace, name }, signal).catch(unless(isNotFound));
    return live === undefined || live.status?.phase === 'Accepted' || live.status?.phase === 'Refused';
  }

  /** Verifies the token, then its contents, then the state of the invitation. */
  async #judge(request: JoinRequest, invitation: Invitation | undefined, signal: AbortSignal): Promise<Judged> {
    const verified = await this.#verify(request, signal);
    if (verified.kind === 'refused') return refusalOfToken(verified);
    const { id, data: claimed, expiresAt } = verified.claims;
    if (toInvitationData(claimed) === undefined) return {
      kind: 'refuse', reason: 'TokenMalformed',
      message: 'the token was issued by another version of Isthmus; ask for another one',
    };
    const sources = await this.#sources(signal);
    const decision =
      decideJoin({ request, invitation, tokenId: id, ownClusterId: this.#options.clusterId, sources, now: Date.now() });
    if (decision.kind === 'wait') return { ...decision, untilMs: expiresAt * 1_000 };
    return decision;
  }

  /** Uncached: a source that was just admitted may not be in a cache yet. */
  async #sources(signal: AbortSignal): Promise<readonly SourceIdentity[]> {
    const { client } = this.#options;
    const [clusterSources, sources] =
      await Promise.all([client.list(CLUSTER_SOURCES, {}, signal), client.list(SOURCES, {}, signal)]);
    return [...clusterSources, ...sources].map(toSourceIdentity);
  }

  async #verify({ spec }: JoinRequest, signal: AbortSignal): Promise<VerifiedToken> {
    const { client, clusterId, installNamespace } = this.#options;
    const at = { namespace: keyNamespace(installNamespace), name: INVITATION_KEY_SECRET };
    const secret = await client.get(SECRETS, at, signal).catch((error: unknown) => {
      if (!isForbidden(error)) return unless(isNotFound)(error);
      const message = `Secret ${at.namespace}/${at.name} may not be read: ${KEY_NAMESPACE_REMEDY}.`;
      throw new AppError('NotFound', message, { cause: error });
    });
    const key = Buffer.from(secret?.data?.['key'] ?? '', 'base64');
    if (key.length === 0) {
      return { kind: 'refused', reason: 'SignatureInvalid', message: 'this cluster has no invitations' };
    }
    return verifyToken(spec.token, { key, issuer: clusterId, audience: INVITATION_AUDIENCE, now: Date.now() });
  }

  async #accept(request: JoinRequest, { invitation }: Accepted, signal: AbortSignal): Promise<ReconcileResult> {
    const { installNamespace, client, logger } = this.#options;
    const { clusterID, targetName, publicKey } = request.spec;
    const seal = await sealerFor(publicKey);
    if (seal === undefined) return this.#refuse(request, KEY_UNUSABLE, signal);
    const claimed = await this.#claim(request, invitation, signal);
    // as stored here, not as the token claims
    const { namespace, grants, tokenSeconds: seconds = DEFAULT_TOKEN_SECONDS } = invitation.spec;
    const peering: Peering = { name: targetName, sourceId: clusterID, namespace, installNamespace, grants };
    try {
      await establishIdentity(
        { client, installNamespace, fieldManager: FIELD_MANAGER },
        { ...peeringIdentity(peering), joinKey: joinKeyOf(publicKey) }, signal,
      );
    } catch (error) {
      const refused = refusalOfIdentity(error, namespace);
      if (refused === undefined) throw error;
      await this.#giveBack(claimed, signal);
      return this.#refuse(request, refused, signal);
    }
    const account = sourceAccount(peering);
    const issued = await requestToken(client, { ...account, seconds }, signal);
    const granted: GrantedAccess =
      { token: issued.token, expirationTimestamp: issued.expirationTimestamp, account, namespace };
    const access = await seal(JSON.stringify(granted));
    await this.#answer(
      request, { phase: 'Accepted', reason: 'Joined', message: `cluster ${clusterID} may send pods`, access }, signal,
    );
    this.#record(request, { type: 'Normal', reason: 'Joined', message: `cluster ${clusterID} joined as a source` });
    logger.info({ invitation: request.spec.invitation, source: clusterID }, 'a source joined');
    return DONE;
  }

  /** It is tried again. The source is told why it waits: whoever reads the log here may be somebody else. */
  async #fail(request: JoinRequest, error: unknown, signal: AbortSignal): Promise<never> {
    if (error instanceof ApiError && !isConflict(error)) {
      const { reason, message } = error;
      await this.#answer(request, { phase: 'Pending', reason, message }, signal);
    }
    throw error;
  }

  /**
   * From here on the invitation is used. Of two concurrent requests the second fails on the resourceVersion and is
   * then refused.
   */
  async #claim({ metadata, spec }: JoinRequest, invitation: Invitation, signal: AbortSignal): Promise<Invitation> {
    if (invitation.status?.redeemedBy === metadata.uid) return invitation;
    return this.#setUse(invitation, { redeemedBy: metadata.uid, clusterID: spec.clusterID }, signal);
  }

  /** An invitation that made no source is not used up. */
  async #giveBack(invitation: Invitation, signal: AbortSignal): Promise<void> {
    await this.#setUse(invitation, { redeemedBy: null, clusterID: null }, signal);
  }

  #setUse({ metadata }: Invitation, status: object, signal: AbortSignal): Promise<Invitation> {
    const { namespace, name = '', uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion }, status };
    return this.#options.client.patch(
      INVITATIONS, { namespace, name, subresource: 'status' }, { patchType: 'merge', patch }, signal,
    );
  }

  async #refuse(
    request: JoinRequest, { reason, message }: { readonly reason: string; readonly message: string },
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    await this.#answer(request, { phase: 'Refused', reason, message }, signal);
    this.#record(
      request, { type: 'Warning', reason, message: `cluster ${request.spec.clusterID} may not join: ${message}` },
    );
    this.#options.logger.warn(
      { invitation: request.spec.invitation, source: request.spec.clusterID, reason },
      'a cluster was refused as a source',
    );
    return DONE;
  }

  async #answer(
    { metadata, status: before }: JoinRequest, status: JoinRequestStatus, signal: AbortSignal,
  ): Promise<void> {
    if (before?.phase === status.phase && before.reason === status.reason) return;
    const { namespace, name = '', uid } = metadata;
    await this.#options.client.patch(
      JOIN_REQUESTS, { namespace, name, subresource: 'status' },
      { patchType: 'merge', patch: { metadata: { uid }, status } }, signal,
    );
  }

  /** The response is kept until it has been read. */
  async #remove({ metadata }: JoinRequest, signal: AbortSignal): Promise<ReconcileResult> {
    const { namespace, name = '', uid = '', creationTimestamp = '' } = metadata;
    const leftMs = Date.parse(creationTimestamp) + REMEMBERED_MS - Date.now();
    if (leftMs > 0) return { kind: 'requeue-after', ms: leftMs };
    await this.#options.client.delete(JOIN_REQUESTS, { namespace, name }, { preconditions: { uid } }, signal)
      .catch(unless(isNotFound));
    return DONE;
  }

  #record({ metadata }: JoinRequest, { type, reason, message }: {
    readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string
  }): void {
    const { namespace = '', name = '', uid = '' } = metadata;
    const regarding = { apiVersion: apiVersionOf(JOIN_REQUESTS), kind: JOIN_REQUESTS.kind, namespace, name, uid };
    this.#options.events.record({ regarding, type, reason, action: 'Joining', note: message });
  }
}
