// Why a target is rejected, in the one form that filters, targets and policies share.

/** Why a target is rejected. `reason` is CamelCase, `message` says what to change. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}
