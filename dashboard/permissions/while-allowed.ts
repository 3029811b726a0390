// Runs something only while the viewer may: it ends when the API server refuses, and begins again once it allows.
import { forwardAbort, onAbort } from '../../kubernetes/flow/abort.ts';
import { isForbidden, isUnauthorized } from '../../kubernetes/flow/api-error.ts';
import type { ViewerPermissions } from './viewer-permissions.ts';

/** What is run, and how to find out whether the viewer may. */
export interface AllowedWork {
  /** Reads something by the same permissions; rejects with what the API server says. */
  readonly check: (signal: AbortSignal) => Promise<unknown>;
  /** Resolves when its signal aborts, or to the refusal that has ended it. Never rejects. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  /** Called with each refusal, and with undefined once the viewer may again. */
  readonly refused: (error: unknown) => void;
  /** Whether it begins again after any change of the viewer's permissions, as what reads many things does. */
  readonly beginsAgain?: boolean;
}

/** Runs the work until the signal aborts. Never rejects. */
export async function whileAllowed(
  permissions: ViewerPermissions, { check, work, refused, beginsAgain = false }: AllowedWork, signal: AbortSignal,
): Promise<void> {
  const state = { isAllowed: true, changed: (): void => undefined };
  const set = (isAllowed: boolean, error?: unknown): void => {
    if (isAllowed && state.isAllowed) return;
    state.isAllowed = isAllowed;
    refused(error);
    state.changed();
  };
  const forget = onAbort(signal, () => state.changed());
  const registration = permissions.onReview((review, asked) => check(asked).then(
    () => {
      if (review === 'changed' && beginsAgain && state.isAllowed) state.changed();
      set(true);
      return true;
    },
    (error: unknown) => {
      if (isRefusal(error)) set(false, error);
      return isRefusal(error); // any other error says nothing about permissions
    },
  ));
  while (!signal.aborted) {
    if (!state.isAllowed) {
      await new Promise<void>((resolve) => (state.changed = resolve));
      continue;
    }
    const ended = new AbortController();
    const release = forwardAbort([signal], ended);
    state.changed = () => ended.abort();
    const refusal = await work(ended.signal);
    release();
    if (refusal === undefined || signal.aborted || !state.isAllowed) continue;
    const explained = await inWordsOf(check, refusal, signal);
    registration.recheck(); // it may be passing, as that of an API server that has just started
    if (!signal.aborted) set(false, explained);
  }
  forget();
  registration.forget();
}

/** The refusal as the check words it: watches are refused with another message, and the shown text must not flip. */
function inWordsOf(check: AllowedWork['check'], refusal: unknown, signal: AbortSignal): Promise<unknown> {
  return check(signal).then(() => refusal, (error: unknown) => (isRefusal(error) ? error : refusal));
}

/** Whether the error says that the viewer is not permitted, or not authenticated. */
export function isRefusal(error: unknown): boolean {
  return isForbidden(error) || isUnauthorized(error);
}
