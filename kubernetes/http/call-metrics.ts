// Latency of API calls by verb, resource and code. Label values come from our code and from HTTP, never from objects.
import { observeApiCall } from '../../process/metrics.ts';

/** RBAC verb and `resource` with its subresource, as in `pods/status`. */
export interface CallKind {
  readonly verb: string;
  readonly resource: string;
}

interface CallOnWire {
  readonly method: string;
  readonly path: string;
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Parses method and path of a call (Kubernetes API concepts, "Resource URIs"). */
export function kindOfCall(method: string, path: string): CallKind {
  const parts = path.split('/').slice(path.startsWith('/apis/') ? 4 : 3);
  const [resource = 'none', name, subresource] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  const verb = VERBS[method] ?? (name === undefined ? 'list' : 'get');
  return {
    verb: verb === 'delete' && name === undefined ? 'deletecollection' : verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
  };
}

/** Records the latency of a call in ms; one without a response has the code `none`. */
export function observeCall({ method, path }: CallOnWire, status: number | undefined, ms: number): void {
  observeApiCall({ ...kindOfCall(method, path), code: status === undefined ? 'none' : String(status) }, ms);
}
