// What was written to one pod and to what was made for it, by the audit logs of API servers (`audit.k8s.io/v1`).

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** One cluster's log. */
export interface AuditedCluster {
  readonly name: string;
  readonly log: string;
}

/** Writes to objects whose name is that of the pod or begins with it: one line each, in the order of their requests. */
export function writesTo(pod: string, clusters: readonly AuditedCluster[]): readonly string[] {
  return clusters.flatMap(({ name: cluster, log }) => log.split('\n').flatMap((line) => {
    const event = line.includes(pod) ? eventOf(line) : undefined;
    return event !== undefined && isWriteTo(pod, event) ? [textOf(cluster, event)] : [];
  })).toSorted();
}

/** Of a last line that is still being written there is none. */
function eventOf(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function isWriteTo(pod: string, { verb, objectRef }: AuditEvent): boolean {
  const { name = '', resource } = objectRef ?? {};
  return !['get', 'list', 'watch'].includes(verb) && resource !== 'events'
    && (name === pod || name.startsWith(`${pod}-`));
}

function textOf(cluster: string, event: AuditEvent): string {
  const { verb, user, userAgent = '', objectRef, responseStatus, requestReceivedTimestamp } = event;
  const what = [objectRef?.resource, objectRef?.subresource].filter((part) => part !== undefined).join('/');
  const which = `${cluster} ${verb} ${what} ${objectRef?.name}`;
  const who = `${user.username} (${userAgent.split(' ')[0]})`;
  return `${requestReceivedTimestamp} ${which}: ${responseStatus?.code}, by ${who}`;
}
