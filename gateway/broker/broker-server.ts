// The broker: a small HTTPS service in front of the members' objects, so that no API server is exposed. It issues
// one-day certificates for unused tokens; with a certificate a member reads everything and writes its own objects.
// Private keys never come here.
import { X509Certificate } from 'node:crypto';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import type { ClustersetMember } from '../../api/kinds/gateway.ts';
import { isDnsLabel } from '../../model/naming/label-syntax.ts';
import { exportedServiceName, gatewayName } from '../../model/network/gateway-names.ts';
import type { CertificateAuthority, KeyPair } from '../../process/crypto/certificate-authority.ts';
import { verifyBrokerToken } from '../../process/crypto/signed-token.ts';
import {
  CERTIFICATE_DAYS, globalRangesFor, issuedSerials, isTaken, MAX_BODY_BYTES, MAX_CERTIFICATES, parseEndpoint, parseJoin,
  parseSigningRequest, replacedRanges, speaksFor, toMemberObjects, withSerial, type Members,
} from './broker-protocol.ts';
import { exportsExcess, MAX_EXPORT_BYTES, parseExport } from './export-protocol.ts';
import type { MemberStore } from './member-store.ts';
import { MemberStreams, visibleToMembers } from './member-streams.ts';
import { isRejection } from '../../kubernetes/flow/api-error.ts';
import { messageOf } from '../../process/errors.ts';
import { OpenConnections } from '../../process/servers/open-connections.ts';
import { readPeer, type KnownPeer } from '../tunnel/tls-identity.ts';
import { listenHost } from '../../process/listen-host.ts';

/** Dependencies and options. */
export interface BrokerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** https URL by which members reach it; tokens are valid for this URL only. */
  readonly url: string;
  readonly authority: CertificateAuthority;
  /** Serving certificate, from the same CA. */
  readonly serving: KeyPair;
  /** Ed25519, PKCS #8 PEM. */
  readonly tokenKey: string;
  readonly store: MemberStore;
  /** Lifetime of members' certificates in days; tests shorten it. */
  readonly certificateDays?: number;
  readonly now: () => Date;
  readonly logger: Logger;
}

/** A running broker. */
export interface Broker {
  readonly port: number;
  /** New connections get this certificate, from the same CA. */
  serve(serving: KeyPair): void;
  close(): Promise<void>;
}

class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** Starts it. Throws what listening throws. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { serving, authority } = options;
  const https = {
    cert: serving.certificate, key: serving.key, ca: authority.keyPair.certificate, requestCert: true,
    rejectUnauthorized: false, minVersion: 'TLSv1.3', handshakeTimeout: 5_000,
  } as const;
  const server = Fastify({
    logger: false, https, bodyLimit: MAX_BODY_BYTES, requestTimeout: 10_000, connectionTimeout: 0,
    forceCloseConnections: true,
  });
  const connections = new OpenConnections(server.server);
  const handlers = new BrokerHandlers(options);
  server.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) options.logger.warn({ error: error.message }, 'a request of a member failed');
    return reply.code(status)
      .send({ message: status >= 500 ? 'the broker failed to process the request; try again' : error.message });
  });
  server.post('/v1/join', (request, reply) => handlers.join(request, reply));
  server.post('/v1/renew', (request) => handlers.renew(request));
  server.put('/v1/clusters/:clusterId/endpoint', (request) => handlers.saveEndpoint(request));
  server.put(
    '/v1/clusters/:clusterId/exports/:namespace/:name', { bodyLimit: MAX_EXPORT_BYTES },
    (request) => handlers.saveExport(request),
  );
  server.delete('/v1/clusters/:clusterId/exports/:namespace/:name', (request) => handlers.removeExport(request));
  server.delete('/v1/clusters/:clusterId', (request) => handlers.leave(request));
  server.get('/v1/members', (request) => handlers.members(request));
  server.get('/v1/members/stream', (request, reply) => handlers.stream(request, reply));
  await server.listen({ host: listenHost(options.host), port: options.port });
  const close = (): Promise<void> => {
    connections.end();
    return server.close();
  };
  const serve = ({ certificate: cert, key }: KeyPair): void => server.server.setSecureContext({ ...https, cert, key });
  return { port: (server.server.address() as AddressInfo).port, serve, close };
}

class BrokerHandlers {
  readonly #options: BrokerOptions;
  readonly #streams: MemberStreams;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#streams = new MemberStreams(options.store);
  }

  async join({ body }: FastifyRequest, reply: FastifyReply) {
    const { store, tokenKey, url: brokerUrl, now, authority, logger } = this.#options;
    const parsed = parseJoin(body);
    if (parsed.kind === 'invalid') throw new Refusal(400, parsed.message);
    const { clusterId, token, signingRequest } = parsed.value;
    const verified = await verifyBrokerToken(tokenKey, token, { brokerUrl, now: now() });
    if (verified === undefined || (verified.clusterId ?? clusterId) !== clusterId) throw new Refusal(
      403,
      'the token is not valid: it is for another broker or cluster, has expired, or is not a token; create one ' +
        'with "isthmus ' +
        'broker token"',
    );
    const before = await store.cluster(clusterId);
    if (before !== undefined && isTaken(before, now().getTime())) throw new Refusal(
      409,
      `a cluster "${clusterId}" has already joined; choose another --cluster-id, or let it leave first: where it has ` +
        `no certificate, as after a join that was interrupted, by "isthmus broker revoke ${clusterId}"`,
    );
    const { certificate, serial, notAfterMs } = await this.#certify(clusterId, signingRequest);
    // The token is used up last: a request that failed for another reason may be retried with it.
    if (!(await store.useToken(verified.id, verified.expiresMs, now().getTime()))) {
      throw new Refusal(403, 'the token was already used; create another one with "isthmus broker token"');
    }
    await this.#oneAtATime(async () => {
      const globalCIDR = globalRangesFor(clusterId, parsed.value.clusterCIDR, await store.listClusters());
      const revokedSerials = [...before?.spec.revokedSerials ?? [], ...await store.serialsOfRemoved(clusterId)];
      const additions = { revokedSerials, globalCIDR, joinedAt: now().toISOString() };
      const { cluster, endpoint } = toMemberObjects(parsed.value, additions);
      const saved = withSerial(
        { ...cluster, metadata: { ...before?.metadata, ...cluster.metadata } }, { serial, notAfterMs }, now().getTime(),
      );
      if (!(await store.saveCluster(saved))) {
        throw new Refusal(409, `a cluster "${clusterId}" has joined just now; choose another --cluster-id`);
      }
      await store.saveEndpoint(endpoint);
      await this.#settleRanges(clusterId);
    });
    logger.info({ audit: true, cluster: clusterId, serial }, 'a cluster has joined');
    return reply.code(201).send({ certificate, authority: authority.keyPair.certificate, clusterId });
  }

  async renew(request: FastifyRequest) {
    const { store, now, logger, authority } = this.#options;
    const { member } = await this.#identify(request);
    const parsed = parseSigningRequest(request.body);
    if (parsed.kind === 'invalid') throw new Refusal(400, parsed.message);
    if (issuedSerials(member).filter((issued) => issued.notAfterMs > now().getTime()).length >= MAX_CERTIFICATES) {
      throw new Refusal(429, `this member has ${MAX_CERTIFICATES} valid certificates; wait until one has ended`);
    }
    const { certificate, serial, notAfterMs } = await this.#certify(member.spec.clusterID, parsed.value);
    if (!(await store.saveCluster(withSerial(member, { serial, notAfterMs }, now().getTime())))) {
      throw new Refusal(409, 'this member was changed concurrently; try again');
    }
    logger.info({ audit: true, cluster: member.spec.clusterID, serial }, 'a certificate was renewed');
    return { certificate, authority: authority.keyPair.certificate };
  }

  async saveEndpoint(request: FastifyRequest) {
    const clusterId = await this.#own(request);
    const parsed = parseEndpoint(request.body, clusterId);
    if (parsed.kind === 'invalid') throw new Refusal(400, parsed.message);
    const { store } = this.#options;
    const { publicKeys = [] } = parsed.value.spec;
    // WireGuard has one peer for a key: the other member would lose its ranges everywhere
    const owner = store.members().endpoints.find(
      ({ spec }) => spec.clusterID !== clusterId && spec.publicKeys?.some((key) => publicKeys.includes(key)) === true,
    );
    if (owner !== undefined) throw new Refusal(
      403, `another member, "${owner.spec.clusterID}", has announced this key of a pod plane; revoke it, or rotate ` +
        'the key',
    );
    await store.saveEndpoint(parsed.value);
    return {};
  }

  async saveExport(request: FastifyRequest) {
    const { store } = this.#options;
    const clusterId = await this.#own(request);
    const parsed = parseExport(request.body, { ...namesIn(request), clusterId });
    if (parsed.kind === 'invalid') throw new Refusal(400, parsed.message);
    const others = store.exports()
      .filter(({ spec, metadata }) => spec.clusterID === clusterId && metadata.name !== parsed.value.metadata.name);
    const excess = exportsExcess(parsed.value, others);
    if (excess !== undefined) throw new Refusal(403, excess);
    await store.saveExport(parsed.value).catch((error: unknown) => {
      throw isRejection(error) ? new Refusal(400, messageOf(error).slice(0, 500)) : error;
    });
    return {};
  }

  async removeExport(request: FastifyRequest) {
    const clusterId = await this.#own(request);
    const { namespace, name } = namesIn(request);
    await this.#options.store.removeExport(exportedServiceName(clusterId, namespace, name));
    return {};
  }

  async leave(request: FastifyRequest) {
    const { store, now } = this.#options;
    const clusterId = await this.#own(request);
    const member = await store.cluster(clusterId);
    await store.remove(clusterId, member === undefined ? [] : issuedSerials(member), now().getTime());
    this.#options.logger.info({ audit: true, cluster: clusterId }, 'a cluster has left');
    return {};
  }

  async members(request: FastifyRequest): Promise<Members> {
    await this.#identify(request);
    return visibleToMembers(this.#options.store.members());
  }

  /** Follows the members; see {@link MemberStreams}. */
  async stream(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { peer } = await this.#identify(request);
    if (this.#streams.isFull) throw new Refusal(503, 'too many members follow');
    this.#streams.open(reply, peer);
  }

  /** The member that sent a request. Looked up uncached: one that left or was revoked is not authenticated. */
  async #identify({ raw }: FastifyRequest): Promise<{ readonly peer: KnownPeer; readonly member: ClustersetMember }> {
    const peer = readPeer(raw.socket as TLSSocket);
    if ('cause' in peer) throw new Refusal(401, peer.message);
    // a member that is told of a part of the members and exports forgets the others
    if (!this.#options.store.hasSynced) throw new Refusal(503, 'the broker is starting');
    if (peer.notAfterMs <= this.#options.now().getTime()) {
      throw new Refusal(401, 'the certificate has expired; join again');
    }
    const member = await this.#options.store.cluster(peer.clusterId);
    if (member === undefined || !speaksFor(member, peer.serial)) throw new Refusal(
      403, `"${peer.clusterId}" is no longer a member: it has left, or its certificate was revoked; join again`,
    );
    return { peer, member };
  }

  /** The cluster in the path, if it is the requester's own. */
  async #own(request: FastifyRequest): Promise<string> {
    const { peer } = await this.#identify(request);
    const { clusterId } = request.params as { readonly clusterId: string };
    if (clusterId !== peer.clusterId) {
      throw new Refusal(403, `"${peer.clusterId}" may write its own objects only, not those of another member`);
    }
    return clusterId;
  }

  /** Serialized: no two members may get the same global CIDR. */
  #oneAtATime(work: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  /** During an upgrade there are two brokers. */
  async #settleRanges(clusterId: string): Promise<void> {
    const { store } = this.#options;
    for (;;) {
      const all = await store.listClusters();
      const [own, globalCIDR] = [all.find(({ spec }) => spec.clusterID === clusterId), replacedRanges(clusterId, all)];
      if (own === undefined || globalCIDR === undefined) return;
      await store.saveCluster({ ...own, spec: { ...own.spec, globalCIDR } });
    }
  }

  async #certify(
    clusterId: string, signingRequest: string,
  ): Promise<{ readonly certificate: string; readonly serial: string; readonly notAfterMs: number }> {
    const { authority, now, certificateDays: days = CERTIFICATE_DAYS } = this.#options;
    const certificate =
      await authority.sign(signingRequest, { commonName: clusterId, dnsNames: [gatewayName(clusterId)], days }, now());
    if (certificate === undefined) {
      throw new Refusal(400, 'signingRequest is not a PKCS #10 request with an ECDSA key, signed by that key');
    }
    const { serialNumber, validTo } = new X509Certificate(certificate);
    return { certificate, serial: serialNumber, notAfterMs: Date.parse(validTo) };
  }
}

/** The export that a path names. */
function namesIn({ params }: FastifyRequest): { readonly namespace: string; readonly name: string } {
  const { namespace = '', name = '' } = params as Readonly<Record<string, string | undefined>>;
  if (!isDnsLabel(namespace) || !isDnsLabel(name)) {
    throw new Refusal(400, 'namespace and name must be DNS labels of at most 63 characters');
  }
  return { namespace, name };
}
