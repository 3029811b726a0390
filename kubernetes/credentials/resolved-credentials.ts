// What credentials come to for one request, whatever they were made from.

/** What a request needs besides the connection: a bearer token or a client certificate, fresh at the time of the call. */
export interface ResolvedCredentials {
  readonly token?: string;
  /** `user:password`. */
  readonly basic?: string;
  readonly certificate?: string;
  readonly key?: string;
}
