// Why a connection is down, in messages that say what to change (Submariner users' main complaint is that the reason is
// hidden).

/** Category of the failure. */
export type FailureCause = 'refused' | 'unreachable' | 'name' | 'certificate' | 'clock' | 'identity' | 'revoked'
  | 'unknown-peer' | 'limit' | 'closed' | 'protocol';

/** A connection that failed or broke. */
export interface Failure {
  readonly cause: FailureCause;
  /** A message with what to change. */
  readonly message: string;
}

type Rule = readonly [codes: readonly string[], cause: FailureCause, advice: string];

const RULES: readonly Rule[] = [
  [['ECONNREFUSED'], 'refused', 'nothing listens there; start the gateway, or correct its address'],
  [
    ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'], 'name',
    'the name has no address; correct the address of the peer, or the DNS of this gateway',
  ],
  [
    ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'], 'unreachable',
    'nothing answers; look for a firewall in between, or a wrong address',
  ],
  [['CERT_NOT_YET_VALID'], 'clock', "the peer's certificate is not valid yet; compare the clocks of both gateways"],
  [
    ['CERT_HAS_EXPIRED'], 'certificate',
    "the peer's certificate has expired; it must reach its broker to renew it, or a clock is wrong",
  ],
  [
    ['ERR_TLS_CERT_ALTNAME_INVALID'], 'identity',
    'another cluster answers; correct the address of the peer',
  ],
  [
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_GET_ISSUER_CERT', 'CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED',
      'INVALID_CA', 'INVALID_PURPOSE',
    ],
    'certificate',
    'its certificate is not from the CA of this clusterset; both must have joined the same broker',
  ],
  [['ECONNRESET', 'EPIPE', 'ECONNABORTED'], 'closed', 'the connection was closed by a firewall or by a peer that ' +
    'is stopping'],
];

/**
 * The failure for an error code of Node's net, dns, tls or http2. `where` is the address that was tried, or the peer.
 */
export function toFailure(
  error: { readonly code?: string | undefined; readonly message: string }, where: string,
): Failure {
  const code = error.code ?? '';
  const [, cause, advice] = RULES.find(([codes]) => codes.includes(code)) ?? tlsRule(code);
  return { cause, message: `${where}: ${advice} (${code === '' ? error.message : code})` };
}

function tlsRule(code: string): Rule {
  if (code.startsWith('ERR_SSL_') && /ALERT/.test(code)) {
    return [[], 'certificate', 'the peer does not accept our certificate; join again'];
  }
  if (code.startsWith('ERR_SSL_')) return [
    [], 'protocol',
    'what answers there does not speak TLS 1.3; another server, or something in between that changes bytes',
  ];
  return [[], 'closed', 'the connection ended'];
}

/** Parses a peer's rejection of the form `cause: message`. */
export function toRefusal(words: string): Failure {
  const [, cause = '', message = ''] = /^([a-z-]{1,20}): (.{0,200})$/s.exec(words) ?? [];
  const known = REFUSALS.find((one) => one === cause);
  return known === undefined
    ? { cause: 'refused', message: 'the peer refused us without a reason' }
    : { cause: known, message: `the peer refuses us: ${printable(message)}` };
}

const REFUSALS: readonly FailureCause[] =
  ['certificate', 'clock', 'identity', 'revoked', 'unknown-peer', 'limit', 'closed'];

/** Texts of peers are untrusted: headers, log lines and messages take printable ASCII alone from them. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
