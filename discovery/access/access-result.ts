// What is known of the access to an entry of a registry: whether it may be used, and which cluster answered.

/** The result of a check. */
export type AccessResult =
  /** Not checked yet. */
  | { readonly kind: 'unchecked' }
  /** It has something that is not allowed, or cannot be used; nothing was sent. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Nothing answered as an API server that accepts the credentials. */
  | { readonly kind: 'unanswered'; readonly message: string }
  /** The API server accepts the credentials in `kubeconfig`. */
  | {
    readonly kind: 'answered'; readonly kubeconfig: string;
    /** UID of its kube-system Namespace; undefined where the credentials may not read it. */
    readonly clusterId: string | undefined;
  };

/** Nothing is known. */
export const UNCHECKED: AccessResult = { kind: 'unchecked' };

/** First and longest wait in ms before an access that was not answered is tried again. */
const RETRY = { firstMs: 5_000, maxMs: 300_000 };

/** When to try again after so many failures in a row, in ms. */
export function retryAfterMs(failures: number): number {
  return Math.min(RETRY.firstMs * 2 ** Math.min(failures - 1, 10), RETRY.maxMs);
}
