// Parses the Status that ends an exec stream (Kubernetes `remotecommand`: reason NonZeroExitCode with a cause
// ExitCode). Pure.

/** The exit code, and a message when the command itself is not at fault. */
export interface ExecEnd {
  readonly code: number;
  readonly message?: string;
}

interface Status {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] };
}

/** Parses it; a stream without one was interrupted. */
export function exitCodeOf(text: string): ExecEnd {
  const status = parsed(text);
  if (status === undefined) return { code: 1, message: 'the stream broke off' };
  if (status.status === 'Success') return { code: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  const code = Number(cause);
  if (cause !== undefined && Number.isInteger(code) && code > 0 && code < 256) return { code };
  return { code: 1, message: typeof status.message === 'string' ? status.message : 'the command failed' };
}

function parsed(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
