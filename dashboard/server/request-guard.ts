// Decides which requests the page's server answers. A browser also runs pages of strangers: they can make it send
// requests here, under any name that resolves to this address, but cannot make it send our token.

/** The fields of a request that are checked; headers are missing where the client did not send them. */
export interface GuardedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site` and `Sec-Fetch-Dest` (Fetch Metadata), which browsers send and pages cannot set. */
  readonly fetchSite: string | undefined;
  readonly fetchDest: string | undefined;
  readonly authorization: string | undefined;
}

/** What the request is let through to, or how it is refused. */
export type Judgement =
  | { readonly kind: 'page' | 'redeem' }
  /** For the viewer with this token, which is not verified yet. */
  | { readonly kind: 'data' | 'action'; readonly token: string }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 405 | 421; readonly message: string };

/** What the judgement depends on beside the request. */
export interface Guarded {
  readonly scheme: 'http' | 'https';
  /** Names that the server answers under, with their port unless any port will do, as behind a proxy. */
  readonly hosts: readonly string[];
}

/** Path of the exchange of the one-time key. */
export const SESSION_PATH = '/session';
const DATA = '/api/';
const ACTIONS = '/api/actions/';
const BEARER = 'Bearer ';
const OWN_ONLY = 'Only the page itself may request this.';
/** The message for a request for data without a valid token. */
export const NOT_SIGNED_IN = 'Not signed in.';
const PORT = /:\d{1,5}$/;
const FRAMES: ReadonlySet<string> = new Set(['iframe', 'frame', 'embed', 'object', 'fencedframe']);

/** Decides on a request before its body is read. */
export function judge(request: GuardedRequest, { scheme, hosts }: Guarded): Judgement {
  const { method, path, host = '', origin, fetchDest = '' } = request;
  if (!hosts.includes(host) && !hosts.includes(host.replace(PORT, ''))) {
    return refused(421, `This server answers as ${hosts.join(', ')} only.`);
  }
  if (origin !== undefined && origin !== `${scheme}://${host}`) return refused(403, OWN_ONLY);
  if (FRAMES.has(fetchDest)) return refused(403, 'The page cannot be shown in a frame.');
  if (path === SESSION_PATH) return judgeRedeem(method, origin);
  return path.startsWith(DATA) ? judgeData(request) : judgePage(method);
}

function judgePage(method: string): Judgement {
  return method === 'GET' || method === 'HEAD' ? { kind: 'page' } : refused(405, 'Pages are read with GET.');
}

function judgeData({ method, path, origin, fetchSite, authorization = '' }: GuardedRequest): Judgement {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return refused(403, OWN_ONLY);
  if (!authorization.startsWith(BEARER)) return refused(401, NOT_SIGNED_IN);
  const token = authorization.slice(BEARER.length);
  if (!path.startsWith(ACTIONS)) {
    return method === 'GET' ? { kind: 'data', token } : refused(405, 'Data is read with GET.');
  }
  if (method !== 'POST') return refused(405, 'Actions are done with POST.');
  return origin === undefined ? refused(403, OWN_ONLY) : { kind: 'action', token };
}

/** Browsers name the origin of every POST; programs have kubectl. */
function judgeRedeem(method: string, origin: string | undefined): Judgement {
  if (method !== 'POST') return refused(405, 'A key is exchanged with POST.');
  return origin === undefined ? refused(403, OWN_ONLY) : { kind: 'redeem' };
}

function refused(status: 401 | 403 | 405 | 421, message: string): Judgement {
  return { kind: 'refused', status, message };
}

/**
 * Headers of every answer. Nothing is loaded from elsewhere, no script or style stands in a document, text never
 * becomes markup (Trusted Types without a policy), and no other page frames this one or holds a reference to it.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
