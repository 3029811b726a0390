// Parses the Status that ends an exec stream (Kubernetes `remotecommand`: reason NonZeroExitCode with a cause
// ExitCode). Pure.
import { isRecord } from '../../model/objects/json-values.ts';

/** The exit code, and a message when the command itself is not at fault. */
export interface ExecEnd {
  readonly code: number;
  readonly message?: string;
}

interface Status {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: unknown } | null;
}

/** Parses it; a stream without one was interrupted. */
export function exitCodeOf(text: string): ExecEnd {
  const status = parsed(text);
  if (status === undefined) return { code: 1, message: 'the stream broke off' };
  if (status.status === 'Success') return { code: 0 };
  const code = Number(exitCauseOf(status));
  if (Number.isInteger(code) && code > 0 && code < 256) return { code };
  return { code: 1, message: typeof status.message === 'string' ? status.message : 'the command failed' };
}

/** The text of the cause; undefined where the target sends anything else. */
function exitCauseOf({ details }: Status): string | undefined {
  if (!Array.isArray(details?.causes)) return undefined;
  const cause = details.causes.filter(isRecord).find(({ reason }) => reason === 'ExitCode');
  return typeof cause?.['message'] === 'string' ? cause['message'] : undefined;
}

function parsed(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
