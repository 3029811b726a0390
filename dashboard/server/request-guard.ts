// Decides which requests the page's server answers. A browser on this machine also runs pages of strangers: they can
// make it send requests here, under any name that resolves to this address, but cannot make it send our token.

/** What is looked at of a request; headers are missing where the client did not send them. */
export interface AskedRequest {
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
  | { readonly kind: 'page' | 'redeem' | 'data' }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 405 | 421; readonly message: string };

/** What the judgement depends on beside the request. */
export interface Guarded {
  readonly port: number;
  readonly admits: (token: string) => boolean;
}

/** Path of the exchange of the one-time key. */
export const SESSION_PATH = '/session';
const DATA = '/api/';
const BEARER = 'Bearer ';
const OWN_ONLY = 'Only the page itself may request this.';
const FRAMES: ReadonlySet<string> = new Set(['iframe', 'frame', 'embed', 'object', 'fencedframe']);

/** Judges a request before anything of it is read. */
export function judge(request: AskedRequest, { port, admits }: Guarded): Judgement {
  const { method, path, host = '', origin, fetchDest = '' } = request;
  if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(host)) {
    return refused(421, `This server answers as 127.0.0.1:${port} only.`);
  }
  if (origin !== undefined && origin !== `http://${host}`) return refused(403, OWN_ONLY);
  if (FRAMES.has(fetchDest)) return refused(403, 'The page cannot be shown in a frame.');
  if (path === SESSION_PATH) return judgeRedeem(method, origin);
  return path.startsWith(DATA) ? judgeData(request, admits) : judgePage(method);
}

function judgePage(method: string): Judgement {
  return method === 'GET' || method === 'HEAD' ? { kind: 'page' } : refused(405, 'Pages are read with GET.');
}

function judgeData(
  { method, fetchSite, authorization = '' }: AskedRequest, admits: Guarded['admits'],
): Judgement {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return refused(403, OWN_ONLY);
  if (!authorization.startsWith(BEARER) || !admits(authorization.slice(BEARER.length))) {
    return refused(401, 'Not signed in. Open the address that "isthmus ui" printed.');
  }
  return method === 'GET' ? { kind: 'data' } : refused(405, 'Data is read with GET.');
}

/** Browsers name the origin of every POST. */
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
