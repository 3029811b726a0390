// Readers of what strangers, other clusters of a clusterset and callers of the kubelet API bring.
import { strict as assert } from 'node:assert';
import packet from 'dns-packet';
import type { Invitation, JoinRequest } from '../../api/kinds/invitation.ts';
import {
  issuedSerials, parseEndpoint, parseJoin, parseSigningRequest, toMemberObjects, type Parsed,
} from '../../gateway/broker/broker-protocol.ts';
import { applyUpdate, parseExport } from '../../gateway/broker/export-protocol.ts';
import { planSubmariner, readSubmariner } from '../../gateway/submariner/submariner-facts.ts';
import { parseAddress, parseServices } from '../../gateway/protocol/allowed-services.ts';
import { parseAnswer } from '../../pod-plane/plan/wireguard-protocol.ts';
import { exportedPortName, isClusterId, parseExportedPort, parseRoute } from '../../model/network/gateway-names.ts';
import { formatV4, isWithin, parseAddressBits, parseRange } from '../../model/network/ip-range.ts';
import { joinKeyOf, decideJoin, toInvitationData } from '../../peering/invitation/join-decision.ts';
import { sealerFor } from '../../process/crypto/sealed-message.ts';
import {
  createTokenKey, readBrokerToken, signToken, unverifiedData, verifyBrokerToken, verifyToken,
} from '../../process/crypto/signed-token.ts';
import { parseKubeletRequest } from '../../virtual-node/kubelet/kubelet-request.ts';
import { answerQuestion, type DnsService } from '../../service-discovery/dns/dns-answer.ts';
import { answerMessage } from '../../service-discovery/dns/dns-message.ts';
import { hold, jsonOf, type FuzzTarget } from './fuzz-target.ts';

const KEY = Buffer.alloc(32, 7);
const BROKER_KEY = createTokenKey();
const NOW = Date.parse('2026-01-01T00:00:00Z');
const CLAIMS = {
  issuer: 'https://t.example', audience: 'isthmus-join', id: 'inv-1', notBefore: NOW / 1_000 - 60,
  expiresAt: NOW / 1_000 + 600,
};
const DATA = {
  server: 'https://t.example:6443', certificateAuthority: 'CA', bearer: 'b', installNamespace: 'isthmus-system',
  targetName: 'eu', tokenSeconds: 86_400, ca: 'CA', sub: 'eu',
};
const GENUINE = await signToken({ ...CLAIMS, data: DATA }, KEY);
const [HEADER = '', PAYLOAD = '', SIGNATURE = ''] = GENUINE.split('.');
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Nobody makes a token that holds out of one that does. */
const tokens: FuzzTarget = {
  name: 'tokens', reads: 'invitation and join tokens (JWT), from anybody', shape: 'text', maxBytes: 2_048,
  tokens: [
    '.', 'e30', encoded({ alg: 'none' }), encoded({ alg: 'HS256', crit: ['x'] }), encoded({ alg: 'EdDSA' }),
    encoded({ alg: 'HS256', jku: 'https://x' }), encoded({ exp: 9e15 }), '=', '-', '_',
  ],
  seeds: [
    GENUINE, `${encoded({ alg: 'none' })}.${PAYLOAD}.`, `${HEADER}.${encoded({ ...DATA, exp: 9e9 })}.${SIGNATURE}`, 'x',
  ],
  async run(input) {
    const text = input.toString('utf8');
    const expectation = { key: KEY, issuer: CLAIMS.issuer, audience: CLAIMS.audience, now: NOW };
    const verified = await verifyToken(text, expectation);
    if (verified.kind === 'verified') hold(sameToken(text), 'a token that holds was signed by us');
    if (verified.kind === 'verified') {
      hold(toInvitationData(verified.claims.data) !== undefined, 'what was signed is read');
    }
    const data = unverifiedData(text);
    if (data !== undefined) toInvitationData(data);
    const claims = readBrokerToken(text);
    hold(claims === undefined || claims.brokerUrl.startsWith('https://'), 'a broker is spoken to over TLS');
    if (text.length < 200) hold(
      (await verifyBrokerToken(BROKER_KEY, text, { brokerUrl: CLAIMS.issuer, now: new Date(NOW) })) === undefined,
      'no short text is a token of a broker',
    );
  },
};

/** The same token, but for how Base64 can be written. */
function sameToken(text: string): boolean {
  const bytesOf = (token: string): string =>
    token.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex')).join('.');
  return bytesOf(text) === bytesOf(GENUINE);
}

const PUBLIC_KEY =
  '{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}';
const JOIN_SPEC =
  { invitation: 'inv-1', token: GENUINE, clusterID: 'cluster-a', targetName: 'eu', publicKey: PUBLIC_KEY };
const INVITATION: Invitation =
  { metadata: { name: 'inv-1' }, spec: { expiresAt: '2026-01-01T00:10:00Z', approval: 'Automatic' } };

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** A request is let in by its own invitation alone, while that holds. */
const joinRequests: FuzzTarget = {
  name: 'join-requests', reads: 'JoinRequests, from whoever has a token', shape: 'json', maxBytes: 4_096, tokens: [
    'inv-1', 'cluster-a', 'own', '"approvedClusterID":"cluster-a"', '"kty":"EC"', '"crv":"P-256"', '"d":"x"',
    '"kty":"RSA"', '"redeemedBy":"uid-1"', '"namespace":"team-a"',
  ],
  seeds: [
    JSON.stringify({ spec: JOIN_SPEC, invitation: INVITATION, key: JSON.parse(PUBLIC_KEY) as unknown }),
    JSON.stringify(
      { spec: { ...JOIN_SPEC, clusterID: 'own' }, invitation: { ...INVITATION, status: { redeemedBy: 'uid-1' } } },
    ),
    JSON.stringify({ spec: JOIN_SPEC, key: { kty: 'RSA' } }),
  ],
  async run(input) {
    const said = jsonOf(input) as { readonly spec?: Record<string, unknown>; readonly key?: unknown } | null
      | undefined;
    // the API server holds the types
    const texts = Object.fromEntries(Object.keys(JOIN_SPEC).map((field) => [field, textOf(said?.spec?.[field])]));
    const request = {
      metadata: { name: 'r', uid: 'uid-1' }, spec: { ...texts, publicKey: JSON.stringify(said?.key ?? null) ?? '' },
    } as unknown as JoinRequest;
    const decision = decideJoin({
      request, invitation: INVITATION, tokenId: 'inv-1', ownClusterId: 'own',
      sources: [{ name: 'taken', clusterId: 'taken', joinKey: 'k' }], now: NOW,
    });
    if (decision.kind === 'accept') hold(
      request.spec.invitation === 'inv-1' && !['own', 'taken'].includes(request.spec.clusterID),
      'who is let in names the invitation, and is nobody who is there',
    );
    joinKeyOf(input.toString('utf8'));
    const sealed = await (await sealerFor(request.spec.publicKey))?.('SECRET');
    hold(sealed === undefined || !sealed.includes('SECRET'), 'what is sealed cannot be read');
  },
};

const JOIN_BODY = {
  token: GENUINE, clusterId: 'eu', signingRequest: '-----BEGIN CERTIFICATE REQUEST-----',
  addresses: ['192.0.2.1:4511', '[2001:db8::1]:4511', 'gw.example:443'], clusterCIDR: ['10.0.0.0/16'],
  serviceCIDR: ['10.96.0.0/12'],
};
const EXPORT_BODY = {
  spec: {
    clusterID: 'evil', namespace: 'x', name: 'y', type: 'ClusterSetIP', ports: [{ port: 80 }],
    slices: [{ endpoints: [{ address: '10.0.0.1', ready: true }], ports: [{ port: 80 }] }],
  },
};

/** What members tell the broker is theirs alone, whatever they say. */
const brokerBodies: FuzzTarget = {
  name: 'broker-bodies',
  reads: 'bodies that members and strangers send to the broker', shape: 'json', maxBytes: 4_096, tokens: [
    '"backend":"wireguard"', '"publicKeys":[', '"addresses":', '"clusterID":"us"', '0.0.0.0/0', '[::1]:1', 'host:99999',
    '"slices":', '"endpoints":',
  ],
  seeds: [
    JSON.stringify(JOIN_BODY),
    JSON.stringify(
      { backend: 'wireguard', addresses: ['192.0.2.1:51820'], publicKeys: [Buffer.alloc(32, 3).toString('base64')] },
    ),
    JSON.stringify(EXPORT_BODY),
    JSON.stringify({ exports: [], changedExports: [{ metadata: { name: 'x' }, spec: EXPORT_BODY.spec }] }),
  ],
  run(input) {
    const body = jsonOf(input);
    const join = parseJoin(body);
    if (join.kind === 'value') {
      hold(
        isClusterId(join.value.clusterId) && join.value.addresses.length <= 16, 'a member has an ID and few addresses',
      );
      hold(toMemberObjects(join.value, {}).cluster.spec.clusterID === join.value.clusterId, 'a member is who it says');
    }
    const endpoint = ownOf(parseEndpoint(body, 'eu'));
    hold(
      endpoint === undefined || endpoint.spec.clusterID === 'eu', 'an endpoint is that of the member that tells of it',
    );
    const exported = ownOf(parseExport(body, { clusterId: 'eu', namespace: 'shop', name: 'web' }));
    hold(
      exported === undefined
        || (exported.spec.clusterID === 'eu' && exported.spec.namespace === 'shop' && exported.spec.name === 'web'),
      'an export is that of the member that tells of it',
    );
    parseSigningRequest(body);
    issuedSerials(
      { metadata: { annotations: { 'isthmus.dev/certificate-serials': input.toString('utf8') } } } as never,
    );
  },
};

function ownOf<T>(parsed: Parsed<T>): T | undefined {
  return parsed.kind === 'value' ? parsed.value : undefined;
}

/** What the broker streams to members: a broker is trusted with who is there, and not with what its lines look like. */
const brokerNews: FuzzTarget = {
  name: 'broker-news', reads: 'lines of the stream from the broker',
  shape: 'json', maxBytes: 4_096, tokens: ['"goneExports":', '"changedExports":', '"clusters":', '"endpoints":'],
  seeds: [
    JSON.stringify({
      exports: [], changedExports: [{ metadata: { name: 'eu-shop-web' }, spec: EXPORT_BODY.spec }], goneExports: ['a'],
    }),
  ],
  run(input) {
    const news = jsonOf(input);
    if (typeof news !== 'object' || news === null) return;
    try {
      for (const [name, { metadata }] of applyUpdate(new Map(), news)) {
        hold(name === metadata.name, 'an export is known under its name');
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the line is given up, and the connection with it
    }
  },
};

const SERVICE: DnsService = {
  namespace: 'shop', name: 'web', type: 'ClusterSetIP',
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }], ips: ['10.96.0.9'], localIps: [], preference: 'local',
  clusters: [{
    id: 'eu', isLocal: false,
    endpoints:
      [{ address: '10.0.0.1', ready: true, hostname: 'web-0', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
  }],
} as unknown as DnsService;
const find = (namespace: string, name: string): DnsService
  | undefined => (namespace === 'shop' && name === 'web' ? SERVICE : undefined);
const ask = (name: string, type: string): Buffer =>
  packet.encode({ type: 'query', id: 7, flags: packet.RECURSION_DESIRED, questions: [{ type: type as 'A', name }] });

/** Datagrams from any pod. */
const dnsMessages: FuzzTarget = {
  name: 'dns-messages', reads: 'DNS messages, from any pod', shape: 'bytes', maxBytes: 1_024, tokens: [
    '\u0003web\u0004shop\u0003svc\nclusterset\u0005local\u0000', '\u0005_http\u0004_tcp', '\u0002eu', '\u00c0\u000c',
    '\u0000\u0021', '\u0000\u001c',
  ],
  seeds: [
    ask('web.shop.svc.clusterset.local', 'A'), ask('_http._tcp.web.shop.svc.clusterset.local', 'SRV'),
    ask('eu.web.shop.svc.clusterset.local', 'AAAA'), ask('web-0.eu.web.shop.svc.clusterset.local', 'A'),
    ask('example.com', 'A'),
  ],
  run(input) {
    for (const over of ['udp', 'tcp'] as const) {
      const answer = answerMessage(input, over, (question) => answerQuestion(question, find));
      if (answer === undefined) continue;
      hold(answer.length <= (over === 'udp' ? 1_232 : 65_535), 'an answer fits its way');
      hold(
        (answer.readUInt16BE(2) & 0x8000) !== 0 && answer.readUInt16BE(0) === input.readUInt16BE(0),
        'an answer is marked as one, and carries the ID of its question',
      );
      packet.decode(answer);
    }
  },
};

/** Requests as API servers, and others, send them to virtual nodes. */
const kubeletRequests: FuzzTarget = {
  name: 'kubelet-requests', reads: 'requests to the kubelet API of virtual nodes', shape: 'text', maxBytes: 1_024,
  tokens: [
    '/containerLogs/', '/exec/', '/attach/', '/portForward/', '/nodes/', '/pods', '/stats/summary', '/metrics/resource',
    '?command=sh', '&input=1', '&tty=true', '?port=80', '..', '//', '%2f', '%2e%2e', '?tailLines=1',
    '&sinceTime=2026-01-01T00:00:00Z', '&follow=true', ';', '#', '\u0000',
  ],
  seeds: [
    'GET /containerLogs/team-a/web-1/app?follow=true&tailLines=5',
    'POST /exec/team-a/web/app?command=sh&command=-c&input=1&tty=1', 'POST /portForward/team-a/web?port=80',
    'GET /nodes/n/stats/summary', 'GET /attach/team-a/web/app?output=1', 'GET /healthz',
  ],
  run(input) {
    const [method = '', ...rest] = input.toString('latin1').split(' ');
    const request = parseKubeletRequest(method, rest.join(' '));
    if (request.kind !== 'pod') return;
    const names = [request.namespace, request.name, ...(request.container === undefined ? [] : [request.container])];
    hold(
      names.every((name) => /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name)), 'only names of Kubernetes are passed on',
    );
    hold(
      !request.namespace.includes('.') && request.name.length <= 253,
      'names have the length that Kubernetes lets them have',
    );
    const allowed = new Set([
      'follow', 'previous', 'timestamps', 'sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes', 'stream', 'stdin',
      'stdout', 'stderr', 'tty', 'command', 'ports',
    ]);
    hold(request.parameters.every(([name]) => allowed.has(name)), 'only known parameters are passed on');
  },
};

const SUBMARINER = {
  clusters: [{
    metadata: { name: 'eu' },
    spec: { cluster_id: 'eu', cluster_cidr: ['10.1.0.0/16'], service_cidr: ['100.64.0.0/16'], global_cidr: [] },
  }],
  endpoints: [{
    metadata: { name: 'eu-cable' },
    spec: { cluster_id: 'eu', private_ip: '10.0.0.1', public_ip: '', backend_config: { 'udp-port': '4501' } },
  }],
  gateways: [{
    metadata: { name: 'g', annotations: { 'update-timestamp': '1' } },
    status: {
      haStatus: 'active', localEndpoint: { cluster_id: 'eu' },
      connections: [{
        status: 'connected', statusMessage: '', endpoint: { cluster_id: 'eu' }, usingIP: '10.0.0.2',
        latencyRTT: { last: '1ms', min: '1ms', average: '1ms', max: '1ms', stdDev: '0s' },
      }],
    },
  }],
};

/** Objects of another program, whose schema is its own. */
const submarinerObjects: FuzzTarget = {
  name: 'submariner-objects', reads: 'objects of an existing Submariner', shape: 'json', maxBytes: 4_096, tokens:
    ['"cluster_id":"eu"', '"cluster_cidr":', '"haStatus":"active"', '"connections":', '"udp-port":', '"latencyRTT":'],
  seeds: [JSON.stringify(SUBMARINER), JSON.stringify({ ...SUBMARINER, gateways: [] })],
  run(input) {
    const said = jsonOf(input) as Partial<typeof SUBMARINER> | null | undefined;
    const objects = (list: unknown): readonly never[] => (
      Array.isArray(list) ? (list as readonly unknown[])
        .flatMap((one) => (
          typeof one === 'object' && one !== null
            && !Array.isArray(one) ? [{ ...one, metadata: { name: 'x' } } as never] : []
        )) : []
    );
    const facts = readSubmariner(
      { clusters: objects(said?.clusters), endpoints: objects(said?.endpoints), gateways: objects(said?.gateways) },
      undefined,
    );
    for (const { cluster } of facts.members) hold(isClusterId(cluster.clusterID), 'a member has an ID');
    planSubmariner('ns', facts, { clusters: [], endpoints: [] });
  },
};

/** Names, addresses and ranges that come as text. */
const networkTexts: FuzzTarget = {
  name: 'network-texts',
  reads: 'addresses, ranges, routes and answers of WireGuard', shape: 'text', maxBytes: 512, tokens: [
    '.gateway.isthmus.dev', 'kube-apiserver', ':443', '[', ']', '::', '/0', '/33', '0x', '255.255.255.255',
    '::ffff:1.2.3.4', '%eth0', 'public_key=', 'endpoint=', 'rx_bytes=', 'errno=0', '--', '\n',
  ],
  seeds: [
    '10.0.0.0/16', '2001:db8::1', 'kube-apiserver.eu.gateway.isthmus.dev:443', '[2001:db8::1]:51820',
    `public_key=${'ab'.repeat(32)}\nendpoint=192.0.2.1:1\nlast_handshake_time_sec=1\nrx_bytes=5\nerrno=0\n`,
    'service--web--shop--http',
  ],
  run(input) {
    const text = input.toString('utf8');
    const range = parseRange(text);
    const address = parseAddressBits(text);
    if (range !== undefined) isWithin(range, '10.0.0.1');
    if (address !== undefined && /^[\d.]+$/.test(text)) assert.equal(parseAddressBits(formatV4(address)), address);
    const route = parseRoute(text);
    hold(route.kind === 'invalid' || isClusterId(route.clusterId), 'a route leads to a cluster');
    const port = parseExportedPort(text);
    if (port !== undefined) assert.deepEqual(parseExportedPort(exportedPortName(port)), port);
    parseAddress(text);
    parseServices([text]);
    parseAnswer(text);
  },
};

/** All of them. */
export const NETWORK_TARGETS: readonly FuzzTarget[] =
  [tokens, joinRequests, brokerBodies, brokerNews, dnsMessages, kubeletRequests, submarinerObjects, networkTexts];
