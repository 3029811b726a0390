// A member's client of the broker: mirrors the members locally, publishes its own addresses, renews its certificate.
// Broker outages are tolerated: gateways start and run from the local copy.
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import {
  ANNOUNCED_KEYS_ANNOTATION, POD_PLANE_BACKEND, type ClustersetMember, type ClustersetEndpoint,
} from '../../api/kinds/gateway.ts';
import { BROKER_COPY_LABEL, OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, SECRETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { backoffDelay, delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { endpointObjectName } from '../../model/network/gateway-names.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { createSigningRequest } from '../../process/crypto/certificate-authority.ts';
import { messageOf } from '../../process/errors.ts';
import { planCopy, type BrokerUpdate, type Members } from './broker-protocol.ts';
import { askBroker, openBroker, type BrokerAccess } from './broker-request.ts';
import { ExportSharing } from './export-sharing.ts';
import {
  GATEWAY_SECRET, readGatewaySecret, renewalTime, toGatewaySecret, type MemberCredentials,
} from './gateway-secret.ts';

/** Dependencies. */
export interface FollowOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** This member, while it is active. */
  readonly controller: { readonly driver: unknown; readonly credentials: MemberCredentials | undefined };
  readonly logger: Logger;
}

const INTERVAL_MS = 500;
/** Idle timeout of the stream: the broker sends a line every 10 s. */
const SILENCE_MS = 35_000;
const BACKOFF = { firstMs: 500, maxMs: 15_000 };
const FIELD_MANAGER = 'isthmus-gateway';

/** Follows the broker while this process is active, until `signal` is aborted. Never throws. */
export async function followBroker(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, logger } = options;
  const exports = new ExportSharing({ client, namespace, logger });
  const inform = fullInformersOf({ client, logger });
  const planes = inform(CLUSTERSET_ENDPOINTS, { namespace, labelSelector: `${OWN_ENDPOINT_LABEL}=true` });
  const words = { ...options, exports, planes, sent: { plane: '' } };
  await Promise.all([
    exports.run(signal), planes.run(signal), repeat(words, signal, followMembers), repeat(words, signal, renewWhenDue),
    repeat(words, signal, tell),
  ]);
}

interface Words extends FollowOptions {
  readonly exports: ExportSharing;
  /** The ClustersetEndpoint that the pod plane of this cluster announces. */
  readonly planes: Informer<ClustersetEndpoint, ClustersetEndpoint>;
  readonly sent: { plane: string };
}

type Work = (
  options: Words, credentials: MemberCredentials & { readonly brokerUrl: string }, signal: AbortSignal,
) => Promise<void>;

async function repeat(options: Words, signal: AbortSignal, work: Work): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const { driver, credentials } = options.controller;
    const brokerUrl = credentials?.brokerUrl;
    if (driver !== undefined && credentials !== undefined && brokerUrl !== undefined) {
      const outcome = await work(options, { ...credentials, brokerUrl }, signal).then(
        () => 'done', (error: unknown) => messageOf(error),
      );
      failures = outcome === 'done' ? 0 : failures + 1;
      if (outcome !== 'done' && !signal.aborted) options.logger.warn(
        { broker: brokerUrl, error: outcome }, 'the broker cannot be used; continuing with the local copy',
      );
    }
    await delay(failures === 0 ? INTERVAL_MS : backoffDelay(BACKOFF, failures, Math.random()), signal);
  }
}

/**
 * Resolves when the stream has ended, by the broker or because a renewed certificate is to be used. Throws when it
 * broke.
 */
async function followMembers(
  { client, namespace, controller, exports, sent }: Words,
  credentials: MemberCredentials & { readonly brokerUrl: string }, signal: AbortSignal,
): Promise<void> {
  const access = accessOf(credentials);
  const ending = new AbortController();
  const stop = () => ending.abort();
  let isOver = false;
  signal.addEventListener('abort', stop, { once: true });
  let silence = setTimeout(stop, SILENCE_MS);
  try {
    const stream = await openBroker(access, { method: 'GET', path: '/v1/members/stream' }, ending.signal);
    stream.on('data', () => {
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE_MS);
      isOver = controller.driver === undefined || controller.credentials?.certificate !== credentials.certificate;
      if (isOver) stop();
    });
    const lines = createInterface({ input: stream, crlfDelay: Infinity });
    // the loop reports it as well, unless it was left before
    for (const emitter of [stream, lines]) emitter.on('error', () => undefined);
    for await (const line of lines) {
      if (line === '') {
        await exports.retry(signal);
        continue;
      }
      const news = JSON.parse(line) as BrokerUpdate;
      const { clusters, endpoints } = news;
      if (clusters !== undefined && endpoints !== undefined) {
        await copy({ client, namespace, clusterId: credentials.clusterId }, { clusters, endpoints }, signal);
        await noteKeys({ client, namespace, clusterId: credentials.clusterId }, endpoints, signal);
        await tellAddresses(access, credentials, { clusters, endpoints }, signal);
      }
      await exports.receive(credentials.clusterId, news, signal);
    }
  } catch (error) {
    if (!isOver) throw error;
  } finally {
    stop(); // close the stream when the loop was left for another reason
    exports.forget();
    sent.plane = '';
    clearTimeout(silence);
    signal.removeEventListener('abort', stop);
  }
}

async function tellAddresses(
  access: BrokerAccess, { clusterId, addresses }: MemberCredentials, { endpoints }: Members, signal: AbortSignal,
): Promise<void> {
  const own = endpoints.find(({ spec }) => spec.clusterID === clusterId && spec.backend === 'mtls');
  if ((own?.spec.addresses ?? []).join() === addresses.join()) return;
  await askBroker(access, { method: 'PUT', path: `/v1/clusters/${clusterId}/endpoint`, body: { addresses } }, signal);
}

/** Publishes exports and the pod plane's ClustersetEndpoint whenever they change here. */
async function tell(
  { exports, planes, sent }: Words, credentials: MemberCredentials & { readonly brokerUrl: string },
  signal: AbortSignal,
): Promise<void> {
  const { clusterId } = credentials;
  await exports.share(accessOf(credentials), clusterId, signal);
  const plane =
    [...planes.records()].find(({ spec }) => spec.clusterID === clusterId && spec.backend === POD_PLANE_BACKEND)?.spec;
  if (plane === undefined || JSON.stringify(plane) === sent.plane) return;
  const { backend, addresses = [], publicKeys = [] } = plane;
  await askBroker(
    accessOf(credentials),
    { method: 'PUT', path: `/v1/clusters/${clusterId}/endpoint`, body: { backend, addresses, publicKeys } }, signal,
  );
  sent.plane = JSON.stringify(plane);
}

interface OwnCluster {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly clusterId: string;
}

/**
 * Updates the local copy. Only objects from a broker are touched; this cluster's pod plane is authoritative for its own
 * ClustersetEndpoint.
 */
async function copy(
  { client, namespace, clusterId }: OwnCluster, { clusters, endpoints }: Members, signal: AbortSignal,
): Promise<void> {
  await copyKind<ClustersetMember>(client, { namespace, type: CLUSTERSET_MEMBERS, remote: clusters }, signal);
  await copyKind<ClustersetEndpoint>(
    client,
    {
      namespace, type: CLUSTERSET_ENDPOINTS,
      remote: endpoints.filter(({ spec }) => spec.clusterID !== clusterId || spec.backend === 'mtls'),
    },
    signal,
  );
}

/** Tells the pod plane of this cluster which of its keys the broker tells of: until then it uses no other. */
async function noteKeys(
  { client, namespace, clusterId }: OwnCluster, endpoints: readonly ClustersetEndpoint[], signal: AbortSignal,
): Promise<void> {
  const name = endpointObjectName(clusterId, POD_PLANE_BACKEND);
  const keys = endpoints.find(({ metadata }) => metadata.name === name)?.spec.publicKeys;
  if (keys === undefined) return;
  const patch = { metadata: { annotations: { [ANNOUNCED_KEYS_ANNOTATION]: keys.join(' ') } } };
  await client.patch(CLUSTERSET_ENDPOINTS, { namespace, name }, { patchType: 'merge', patch }, signal)
    .catch(unless(isNotFound));
}

interface Copied<T extends ClustersetMember | ClustersetEndpoint> {
  readonly namespace: string;
  readonly type: ResourceType<T>;
  readonly remote: readonly T[];
}

async function copyKind<T extends ClustersetMember | ClustersetEndpoint>(
  client: ClusterClient, { namespace, type, remote }: Copied<T>, signal: AbortSignal,
): Promise<void> {
  const local = await client.list(type, { namespace, labelSelector: `${BROKER_COPY_LABEL}=${TRUE}` }, signal);
  for (const change of planCopy(local, remote)) {
    if (change.kind === 'apply') await client.apply(
      type,
      {
        ...change.object,
        metadata: { name: change.object.metadata.name ?? '', namespace, labels: { [BROKER_COPY_LABEL]: TRUE } },
      },
      FIELD_MANAGER, signal,
    );
    else await client.delete(type, { namespace, name: change.name }, {}, signal).catch(unless(isNotFound));
  }
}

/** A new key each time; the Secret is written before the certificate is used, and all gateways load it from there. */
async function renewWhenDue(
  { client, namespace, logger }: FollowOptions, credentials: MemberCredentials & { readonly brokerUrl: string },
  signal: AbortSignal,
): Promise<void> {
  if (Date.now() < renewalTime(credentials)) return;
  const at = { namespace, name: GATEWAY_SECRET };
  const { metadata: { resourceVersion }, data: before = {} } = await client.get(SECRETS, at, signal);
  const stored = storedOr(credentials, before);
  if (stored.certificate !== credentials.certificate) {
    throw new Error('the Secret of the gateway holds other credentials by now');
  }
  const { request, key } = await createSigningRequest({ commonName: credentials.clusterId });
  const answer = await askBroker<{ readonly certificate: string; readonly authority: string }>(
    accessOf(credentials), { method: 'POST', path: '/v1/renew', body: { signingRequest: request } }, signal,
  );
  const { data } =
    toGatewaySecret(namespace, { ...stored, certificate: answer.certificate, key, authority: answer.authority });
  const patch = { metadata: { resourceVersion }, data };
  await client.patch(SECRETS, at, { patchType: 'merge', patch }, signal);
  logger.info({ cluster: credentials.clusterId }, 'the certificate was renewed');
}

/**
 * What the Secret holds by now: the cluster may have joined again, perhaps under another ID, and its addresses may have
 * changed. A Secret that cannot be read is mended.
 */
function storedOr(credentials: MemberCredentials, data: Readonly<Record<string, string>>): MemberCredentials {
  const parsed = readGatewaySecret(data);
  return parsed.kind === 'credentials' ? parsed.credentials : credentials;
}

function accessOf(credentials: MemberCredentials & { readonly brokerUrl: string }): BrokerAccess {
  return { brokerUrl: credentials.brokerUrl, authority: credentials.authority, identity: credentials };
}
