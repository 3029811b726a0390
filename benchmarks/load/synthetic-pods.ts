// Serves 100,000 synthetic pods of about 5 kB as an API server does: pages, a streaming list, a watch with only
// changes. Runs in its own process, so that its CPU time is not the client's. Names and versions are written into
// prebuilt bytes.
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Pod } from '../../api/objects/core.ts';

/**
 * A pod as kubelets and controllers leave it, of about 5 kB; `00000000` stands for its number, `11111111` for its
 * version, what else differs between pods is in {@link DIFFERENCES}.
 */
export function syntheticPod(): Pod {
  const probe = {
    httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, initialDelaySeconds: 5, timeoutSeconds: 1,
    periodSeconds: 10, successThreshold: 1, failureThreshold: 3,
  };
  const fields = Object.fromEntries(
    Array.from({ length: 28 }, (_, i) => [`f:field-${i}`, { '.': {}, 'f:value': {}, 'f:other': {} }]),
  );
  const container = {
    name: 'app', image: 'registry.example.com/team-a/shop-frontend:1.42.0',
    args: ['--listen=:8080', '--log-level=info', '--upstream=http://backend.team-a.svc:8080'],
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 8 }, (_, i) => ({ name: `SETTING_${i}`, value: `the value of setting number ${i}` })),
    resources: { limits: { cpu: '500m', memory: '512Mi' }, requests: { cpu: '444m', memory: '256Mi' } },
    volumeMounts:
      [{ name: 'kube-api-access', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
    livenessProbe: probe,
    readinessProbe: probe, terminationMessagePath: '/dev/termination-log', imagePullPolicy: 'IfNotPresent',
  };
  const condition = (type: string) =>
    ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'shop-frontend-00000000', namespace: 'team-a', uid: '00000000-1a2b-4c3d-8e4f-123456789abc',
      resourceVersion: '11111111', creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'shop-frontend', 'pod-template-hash': '7d4b8c9f6d', tier: 'web' },
      annotations: { 'example.com/config-hash': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' },
      ownerReferences: [{
        apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-frontend-7d4b8c9f6d',
        uid: '33333333-1a2b-4c3d-8e4f-123456789abc', controller: true, blockOwnerDeletion: true,
      }],
      managedFields: [{
        manager: 'kube-controller-manager', operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1', fieldsV1: fields,
      }],
    },
    spec: {
      containers: [container], nodeName: 'node-22222222', schedulerName: 'default-scheduler',
      restartPolicy: 'Always', serviceAccountName: 'default', terminationGracePeriodSeconds: 30,
      volumes: [{
        name: 'kube-api-access',
        projected: {
          sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }, {
            configMap: { name: 'kube-root-ca.crt' },
          }],
        },
      }],
      tolerations:
        [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
    },
    status: {
      phase: 'Running',
      hostIP: '10.0.0.1', podIP: '10.244.1.17', startTime: '2026-01-01T00:00:00Z', qosClass: 'Burstable',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
      containerStatuses: [{
        name: 'app', ready: true, restartCount: 0, started: true, image: container.image, imageID: 'sha256:1',
        containerID: 'containerd://1', state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      }],
    },
  } as unknown as Pod;
}

/**
 * Texts of a pod that stand for something else in each: what of, by the pod's number, in as many characters. 2,000
 * nodes, 5,000 owners, 100 requests.
 */
const DIFFERENCES: Readonly<Record<string, (number: number) => string>> = {
  '00000000': (number) => String(number).padStart(8, '0'),
  '22222222': (number) => String((number * 7_919) % 2_000).padStart(8, '0'),
  '33333333': (number) => String(Math.floor(number / 20)).padStart(8, '0'),
  '444m': (number) => `${100 + (Math.floor(number / 20) % 100)}m`,
};

/** Ready-made bytes of `count` items with the places of what differs. */
class Template {
  readonly #bytes: Buffer;
  readonly #places: readonly { readonly at: readonly number[]; readonly textOf: (number: number) => string }[];
  readonly #version: number;
  readonly #stride: number;
  readonly #count: number;

  constructor(item: string, count: number, separator: string) {
    this.#bytes = Buffer.from(Array.from({ length: count }, () => item).join(separator));
    this.#places = Object.entries(DIFFERENCES)
      .map(([mark, textOf]) => ({ at: [...item.matchAll(new RegExp(mark, 'g'))].map(({ index }) => index), textOf }));
    this.#version = item.indexOf('11111111');
    this.#stride = Buffer.byteLength(item) + Buffer.byteLength(separator);
    this.#count = count;
  }

  /** The items from number `first`, with versions from `version`. */
  fill(first: number, version: number, among = Number.MAX_SAFE_INTEGER): Buffer {
    const bytes = Buffer.from(this.#bytes);
    for (let i = 0; i < this.#count; i += 1) {
      const start = i * this.#stride;
      for (const { at, textOf } of this.#places) {
        const text = textOf((first + i) % among);
        for (const place of at) bytes.write(text, start + place, 'latin1');
      }
      bytes.write(String(version + i), start + this.#version, 'latin1');
    }
    return bytes;
  }
}

const FIRST_VERSION = 20_000_000;
const BATCH = 50;
const text = JSON.stringify(syntheticPod());
const pages = new Map<number, Template>();
const added = new Template(`{"type":"ADDED","object":${text}}\n`, BATCH, '');
const modified = new Template(`{"type":"MODIFIED","object":${text}}\n`, BATCH, '');

function page(response: ServerResponse, total: number, limit: number, from: number): void {
  const count = Math.min(limit, total - from);
  let template = pages.get(count);
  if (template === undefined) pages.set(count, (template = new Template(text, count, ',')));
  const next = from + count < total ? String(from + count) : '';
  response.write(
    `{"kind":"PodList","metadata":{"resourceVersion":"${FIRST_VERSION + total}","continue":"${next}"},"items":[`,
  );
  response.write(template.fill(from, FIRST_VERSION + from));
  response.end(']}');
}

async function send(response: ServerResponse, template: Template, { total, version, among }: {
  readonly total: number; readonly version: number; readonly among: number
}): Promise<void> {
  for (let sent = 0; sent < total; sent += BATCH) {
    if (!response.write(template.fill(sent, version + sent, among))) await once(response, 'drain');
  }
}

/** Serves until the parent goes. `events` of the query asks a watch for so many changes. */
function serve(): void {
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://server').searchParams;
    const selector = Object.fromEntries((query.get('labelSelector') ?? '').split(',').map((pair) => pair.split('=')));
    const [total, events] = [Number(selector['total'] ?? 0), Number(selector['events'] ?? 0)];
    response.writeHead(200, { 'content-type': 'application/json' });
    if (query.get('watch') !== 'true') {
      return page(response, total, Number(query.get('limit')), Number(query.get('continue') ?? 0));
    }
    void (async () => {
      response.flushHeaders();
      if (query.get('sendInitialEvents') === 'true') {
        await send(response, added, { total, version: FIRST_VERSION, among: Number.MAX_SAFE_INTEGER });
        const end = {
          metadata:
            { resourceVersion: String(FIRST_VERSION + total), annotations: { 'k8s.io/initial-events-end': 'true' } },
        };
        response.write(`${JSON.stringify({ type: 'BOOKMARK', object: end })}\n`);
      }
      await send(response, modified, { total: events, version: FIRST_VERSION * 2, among: Math.max(total, 1) });
    })();
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('disconnect', () => {
    server.close();
    server.closeAllConnections();
  });
}

if (process.send !== undefined && process.argv[2] === 'serve-synthetic-pods') serve();
