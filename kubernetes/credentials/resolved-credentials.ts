// Credentials in the form that a request needs, whatever their source.

/** A bearer token or a client certificate, current at the time of the call. */
export interface ResolvedCredentials {
  readonly token?: string;
  /** `user:password`. */
  readonly basic?: string;
  readonly certificate?: string;
  readonly key?: string;
}
