// What the audit log of a target's API server tells of the source's session with it (`audit.k8s.io/v1`, one JSON event
// a line): pods that were created, lists from the start, and calls that failed.

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** From a moment on. */
export interface AuditedSession {
  /** Pods that were created. */
  readonly creates: number;
  /** `verb path: code` of creates that failed, and of calls whose credentials were not accepted. */
  readonly failed: readonly string[];
  /** Paths that were listed, by watches that begin with all objects as well. */
  readonly lists: readonly string[];
  /** Number of watches that went on from where one before had ended. */
  readonly resumed: number;
}

/** Reads a log; `from` is in ms since the epoch. */
export function auditedSession(log: string, from: number): AuditedSession {
  const events = log.split('\n').flatMap(ourEvent)
    .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) >= from);
  const isCreate = ({ verb, objectRef }: AuditEvent) =>
    verb === 'create' && objectRef?.resource === 'pods' && objectRef.subresource === undefined;
  const watches = events.filter(({ verb, responseStatus }) => verb === 'watch' && responseStatus?.code === 200);
  const begins = ({ requestURI }: AuditEvent) => requestURI.includes('sendInitialEvents=true');
  return {
    creates: events.filter((event) => isCreate(event) && event.responseStatus?.code === 201).length,
    failed: events.filter((event) => isRefused(event) || (isCreate(event) && event.responseStatus?.code !== 201))
      .map((event) => `${event.verb} ${pathOf(event)}: ${event.responseStatus?.code}`),
    lists: [
      ...events.filter(({ verb, responseStatus }) => verb === 'list' && responseStatus?.code === 200),
      ...watches.filter(begins),
    ].map(pathOf),
    resumed: watches.filter((event) => !begins(event)).length,
  };
}

function isRefused({ responseStatus }: AuditEvent): boolean {
  return responseStatus?.code === 401 || responseStatus?.code === 403;
}

function pathOf({ requestURI }: AuditEvent): string {
  return requestURI.replace(/\?.*/, '');
}

/** The session's and discovery's own calls; nothing of tests, and of a last line that is still being written. */
function ourEvent(line: string): readonly AuditEvent[] {
  if (!line.includes('"userAgent":"isthmus-') || line.includes('"userAgent":"isthmus-test')) return [];
  try {
    return [JSON.parse(line) as AuditEvent];
  } catch {
    return [];
  }
}
