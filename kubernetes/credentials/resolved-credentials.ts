// Credentials in the form that a request needs, whatever their source.

/** Whether a text can be a bearer token: one with a line break would be refused much later, by its text. */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Names and values of HTTP headers. */
export type Headers = Readonly<Record<string, string | string[]>>;

/** A bearer token or a client certificate, current at the time of the call. */
export interface ResolvedCredentials {
  readonly token?: string;
  /** `user:password`. */
  readonly basic?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Headers that say whom to act as. */
  readonly impersonation?: Headers;
}
