// Why a target does not get a pod: the one form in which filters, targets and policies say so.

/** Why a target does not get a pod. `reason` is CamelCase, `message` says what to change. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}
