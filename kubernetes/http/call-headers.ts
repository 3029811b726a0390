// Headers common to all requests to an API server.

/** Who sends the request. */
export interface Identity {
  readonly userAgent: string;
  /** Value of the authorization header, if there is one. */
  readonly authorization: string | undefined;
}

/** Headers of a request; `contentType` is that of its body, if it has one. */
export function headersOf(
  { userAgent, authorization }: Identity, contentType?: string,
): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'user-agent': userAgent,
    ...(authorization !== undefined && { authorization }),
    ...(contentType !== undefined && { 'content-type': contentType }),
  };
}
