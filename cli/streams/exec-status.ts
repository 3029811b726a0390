// Parses the Status that ends an exec stream (Kubernetes `remotecommand`: reason NonZeroExitCode with a cause
// ExitCode). Pure.
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';

/** The exit code, and a message when the command itself is not at fault. */
export interface ExecEnd {
  readonly code: number;
  readonly message?: string;
}

/** Parses it; a stream without one was interrupted. */
export function exitCodeOf(text: string): ExecEnd {
  const answer = parsedJson(text);
  if (!isRecord(answer)) return { code: 1, message: 'the stream broke off' };
  const { status, message, details } = answer;
  if (status === 'Success') return { code: 0 };
  const code = Number(exitCauseOf(details));
  if (Number.isInteger(code) && code > 0 && code < 256) return { code };
  return { code: 1, message: typeof message === 'string' ? message : 'the command failed' };
}

/** The text of the cause; undefined where the target sends anything else. */
function exitCauseOf(details: unknown): string | undefined {
  if (!isRecord(details) || !Array.isArray(details['causes'])) return undefined;
  const cause = details['causes'].filter(isRecord).find(({ reason }) => reason === 'ExitCode');
  return typeof cause?.['message'] === 'string' ? cause['message'] : undefined;
}
