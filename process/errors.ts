// Errors that leave a component carry a stable code that scripts and documentation can name. Pure code returns unions
// instead; only outer layers throw these.

/** Every code an {@link AppError} may carry; `docs/errors.md` explains each one. */
export type ErrorCode =
  | 'AdmiraltyLives'
  | 'BadInput'
  | 'ToolMissing'
  | 'StartFailed'
  | 'StillInUse'
  | 'NotFound'
  | 'NotMadeAnew'
  | 'KubeconfigInvalid'
  | 'KubeconfigRefused'
  | 'InvitationRefused'
  | 'LeadershipLost'
  | 'Timeout'
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
