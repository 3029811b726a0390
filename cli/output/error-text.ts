// What a command prints of the error that ended it: one sentence with a code that scripts can match, as kubectl does.
// Pure.
import { ApiError, DeadlineError, UnreachableError } from '../../kubernetes/flow/api-error.ts';
import { AppError, messageOf, reasonOf } from '../../process/errors.ts';
import { hostPort } from '../../model/network/socket-address.ts';

/** How certificate checks of Node fail (its TLS error codes), in words. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; compare the clocks',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it was signed by an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for other names',
  SELF_SIGNED_CERT_IN_CHAIN: 'it was signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'it was signed by an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it was signed by an unknown authority',
};
const CERTIFICATE_REMEDY = 'does certificate-authority-data of the kubeconfig belong to this server?';
/** Codes of TLS against a server that speaks something else. */
const NO_TLS: ReadonlySet<string> =
  new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** The text for an error, without the program's name. An error that is a bug says so. */
export function errorText(error: unknown): string {
  if (error instanceof AppError) return `error (${error.code}): ${error.message}`;
  if (error instanceof ApiError) return `error from server (${apiReason(error)}): ${apiMessage(error)}`;
  if (error instanceof UnreachableError) return `error (Unreachable): ${unreachableText(error)}`;
  if (isSystemError(error)) return systemText(error);
  return `unexpected error: ${messageOf(error)}`;
}

/** The sentence alone, for a message of its own about what failed. */
export function failureText(error: unknown): string {
  if (error instanceof ApiError) return apiMessage(error);
  return error instanceof UnreachableError ? unreachableText(error) : reasonOf(error);
}

interface SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path?: string;
  /** Of a listener. */
  readonly address?: string;
  readonly port?: number;
}

function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

function systemText(error: SystemError): string {
  const { syscall, path, address, port } = error;
  if (syscall === 'write') return `error (OutputFailed): the output cannot be written: ${reasonOf(error)}.`;
  if (syscall === 'listen') {
    const place = hostPort(address ?? '', port ?? 0);
    return `error (StartFailed): ${place} cannot be listened on: ${reasonOf(error)}.`;
  }
  return `error (BadInput): ${path ?? syscall} cannot be used: ${reasonOf(error)}.`;
}

function apiReason({ status, reason }: ApiError): string {
  if (reason !== '') return reason;
  return { 401: 'Unauthorized', 403: 'Forbidden', 404: 'NotFound' }[status] ?? `HTTP ${status}`;
}

function apiMessage({ status, reason, message }: ApiError): string {
  if (status === 401) {
    return 'it does not accept the credentials of the kubeconfig. Log in again, or name another kubeconfig.';
  }
  if (reason !== '') return message;
  if (status === 404) return 'it does not serve this kind. Run "isthmus install" first, or name another cluster.';
  return 'it does not answer as a Kubernetes API server does. Compare the server in the kubeconfig.';
}

function unreachableText({ server, cause, message }: UnreachableError): string {
  if (server === undefined) return message;
  if (hasCause(cause, SyntaxError)) {
    return `${server} does not answer as a Kubernetes API server does. Compare the server in the kubeconfig.`;
  }
  if (hasCause(cause, DeadlineError)) return `the server ${server} gives ${messageOf(cause)}.`;
  const [code = '', at] = codeOf(cause) ?? [];
  if (code === 'ECONNREFUSED') {
    return `the connection to the server ${server} was refused. Does it run, and are host and port right?`;
  }
  const fault = CERTIFICATE_FAULTS[code];
  if (fault !== undefined) {
    return `the certificate of the server ${server} cannot be verified: ${fault}; ${CERTIFICATE_REMEDY}`;
  }
  if (NO_TLS.has(code)) return `the server ${server} does not speak TLS. Are host and port right?`;
  return `unable to connect to the server ${server}: ${reasonOf(at ?? cause)}.`;
}

/** The first error with a code among an error, its parts and its causes. */
function codeOf(error: unknown): readonly [code: string, error: Error] | undefined {
  if (!(error instanceof Error)) return undefined;
  const [first]: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  if (first !== undefined) return codeOf(first);
  if ('code' in error && typeof error.code === 'string' && !error.code.startsWith('UND_ERR')) {
    return [error.code, error];
  }
  return codeOf(error.cause) ?? ('code' in error && typeof error.code === 'string' ? [error.code, error] : undefined);
}

function hasCause(error: unknown, type: new (...args: never[]) => Error): boolean {
  return error instanceof Error && (error instanceof type || hasCause((error as Error).cause, type));
}
