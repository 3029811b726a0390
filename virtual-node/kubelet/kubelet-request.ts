// Parses requests to the kubelet API of virtual nodes from the raw request target. Only canonical names are accepted: a
// target with an escape, an empty segment or an invalid Kubernetes name is refused before it is interpreted.
import type { StringMap } from '../../api/objects/core.ts';

/** An operation on a pod; also the name of the pod's subresource. */
export type PodOperation = 'log' | 'exec' | 'attach' | 'portforward';

/** Query parameters; a name may be repeated. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** A request for one pod and one operation. */
export interface PodRequest {
  readonly kind: 'pod';
  readonly operation: PodOperation;
  readonly namespace: string;
  readonly name: string;
  /** Of a container; ports are forwarded to the pod. */
  readonly container: string | undefined;
  /**
   * As the pod's subresource names them (`core/v1` PodLogOptions, PodExecOptions, PodAttachOptions,
   * PodPortForwardOptions).
   */
  readonly parameters: Parameters;
}

/** A request for data about a node and its pods. */
export interface NodeRequest {
  readonly kind: 'node';
  readonly page: 'pods' | 'stats' | 'metrics';
  /** The requested virtual node; all of them when missing. */
  readonly node: string | undefined;
}

/** A refused request: HTTP status and reason. */
export interface Refusal {
  readonly kind: 'refused';
  readonly status: 400 | 401 | 403 | 404 | 405 | 429 | 500 | 503;
  readonly message: string;
}

/** A parsed request. */
export type KubeletRequest = PodRequest | NodeRequest | { readonly kind: 'health' } | Refusal;

const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const SUBDOMAIN = '[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?';
const CONTAINER_PATH = new RegExp(`^/(containerLogs|exec|attach)/(${LABEL})/(${SUBDOMAIN})/(${LABEL})$`);
const PORT_PATH = new RegExp(`^/(portForward)/(${LABEL})/(${SUBDOMAIN})$`);
const NODE_PATH = new RegExp(`^(?:/nodes/(${SUBDOMAIN}))?/(pods|stats/summary|metrics/resource)$`);

const OPERATIONS: Readonly<Record<string, PodOperation>> = { containerLogs: 'log', exec: 'exec', attach: 'attach' };
const NODE_PAGES: Readonly<Record<string, NodeRequest['page']>> =
  { pods: 'pods', 'stats/summary': 'stats', 'metrics/resource': 'metrics' };

/** Parses a request; `target` is the raw path with its query. */
export function parseKubeletRequest(method: string, target: string): KubeletRequest {
  const cut = target.indexOf('?');
  const path = cut === -1 ? target : target.slice(0, cut);
  const query = new URLSearchParams(cut === -1 ? '' : target.slice(cut + 1));
  if (path === '/healthz') return method === 'GET' ? { kind: 'health' } : notAllowed(method);
  const node = NODE_PATH.exec(path);
  if (node !== null) return method === 'GET'
    ? { kind: 'node', page: NODE_PAGES[node[2] ?? ''] ?? 'pods', node: node[1] }
    : notAllowed(method);
  return toPodRequest(method, path, query);
}

function toPodRequest(method: string, path: string, query: URLSearchParams): KubeletRequest {
  const found = CONTAINER_PATH.exec(path) ?? PORT_PATH.exec(path);
  if (found === null) return refused(404, 'there is no such path');
  const [, kind = '', namespace = '', name = '', container] = found;
  const operation = OPERATIONS[kind] ?? 'portforward';
  if (!METHODS[operation].includes(method)) return notAllowed(method);
  const parameters = PARAMETERS[operation](query);
  return 'kind' in parameters ? parameters : { kind: 'pod', operation, namespace, name, container, parameters };
}

const STREAM_METHODS = ['GET', 'POST'];
const METHODS: Readonly<Record<PodOperation, readonly string[]>> =
  { log: ['GET'], exec: STREAM_METHODS, attach: STREAM_METHODS, portforward: STREAM_METHODS };

const PARAMETERS: Readonly<Record<PodOperation, (query: URLSearchParams) => Parameters | Refusal>> = {
  log: toLogParameters,
  exec: (query) => {
    const commands = query.getAll('command');
    return commands.length === 0
      ? refused(400, 'no command is given')
      : [...toStreamParameters(query), ...commands.map((word) => ['command', word] as const)];
  },
  attach: toStreamParameters,
  portforward: toPortParameters,
};

const LOG_PARAMETERS: Readonly<Record<string, RegExp>> = {
  follow: /^(true|false)$/,
  previous: /^(true|false)$/,
  timestamps: /^(true|false)$/,
  sinceSeconds: /^\d{1,18}$/,
  sinceTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/,
  tailLines: /^\d{1,18}$/,
  limitBytes: /^\d{1,18}$/,
  stream: /^(All|Stdout|Stderr)$/,
};

function toLogParameters(query: URLSearchParams): Parameters | Refusal {
  const given = Object.keys(LOG_PARAMETERS)
    .flatMap((name) => query.getAll(name).slice(0, 1).map((value) => [name, value] as const));
  const wrong = given.find(([name, value]) => LOG_PARAMETERS[name]?.test(value) !== true);
  if (wrong !== undefined) return refused(400, `parameter ${wrong[0]} has an invalid value`);
  // the default; targets before 1.32 do not know it
  return given.filter(([name, value]) => name !== 'stream' || value !== 'All');
}

/**
 * The kubelet's names for the streams, and those of the API (Kubernetes `pkg/apis/core` ExecStdinParam and its
 * neighbours).
 */
const STREAMS: StringMap = { input: 'stdin', output: 'stdout', error: 'stderr', tty: 'tty' };

function toStreamParameters(query: URLSearchParams): Parameters {
  return Object.entries(STREAMS)
    .map(([asked, name]) => [name, ['1', 'true'].includes(query.get(asked) ?? '') ? 'true' : 'false'] as const);
}

/** Over SPDY the streams name the ports; over a WebSocket the query does. */
function toPortParameters(query: URLSearchParams): Parameters | Refusal {
  const ports = query.getAll('port').flatMap((list) => list.split(','));
  const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 65_535;
  if (!ports.every(isPort)) return refused(400, 'parameter port is not a list of ports');
  return ports.map((port) => ['ports', port] as const);
}

/** A request that is refused. */
export function refused(status: Refusal['status'], message: string): Refusal {
  return { kind: 'refused', status, message };
}

function notAllowed(method: string): Refusal {
  return refused(405, `${method.slice(0, 16)} is not served here`);
}
