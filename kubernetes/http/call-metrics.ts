// Latency of API calls by verb, resource and code. Label values come from our code and from HTTP, never from objects.
import { observeApiCall } from '../../process/metrics.ts';
import type { Answer } from './api-answer.ts';

/** RBAC verb and `resource` with its subresource, as in `pods/status`. */
export interface CallKind {
  readonly verb: string;
  readonly resource: string;
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

/** Passes the response on and records its latency; a call without a response has the code `none`. */
export async function measured(
  call: { readonly method: string; readonly path: string }, send: () => Promise<Answer>,
): Promise<Answer> {
  const began = performance.now();
  let code = 'none';
  try {
    const answer = await send();
    code = String(answer.status);
    return answer;
  } finally {
    observeApiCall({ ...kindOfCall(call.method, call.path), code }, performance.now() - began);
  }
}
