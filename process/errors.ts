// Errors that leave a component carry a stable code that scripts and documentation can name. Pure code returns unions
// instead; only outer layers throw these.
import { getSystemErrorMap } from 'node:util';

/** Every code an {@link AppError} may carry; `docs/errors.md` explains each one. */
export type ErrorCode =
  | 'AdmiraltyActive'
  | 'BadInput'
  | 'CredentialsUnavailable'
  | 'ToolMissing'
  | 'StartFailed'
  | 'StillInUse'
  | 'NotFound'
  | 'NotRecreated'
  | 'OutputFailed'
  | 'KubeconfigInvalid'
  | 'KubeconfigRefused'
  | 'InvitationRefused'
  | 'LeadershipLost'
  | 'Timeout'
  | 'Unreachable'
  | 'BrokerUnreachable'
  | 'BrokerRefused';

/** An error for people: `message` says what is wrong and what to change, `code` is stable. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The message of anything thrown, for logs and conditions. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** What people say instead of the operating system's words. */
const PLAIN_REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is not a directory',
  ENOTFOUND: 'no such host',
};

/**
 * Why a file or a connection failed, without error numbers: "no such file or directory"; for other errors their
 * message.
 */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string') return messageOf(thrown);
  const errno = 'errno' in thrown && typeof thrown.errno === 'number' ? thrown.errno : 0;
  const known = getSystemErrorMap().get(errno)?.[1];
  return PLAIN_REASONS[thrown.code] ?? known ?? thrown.message;
}
