// What API servers have refused to our components, from their audit logs (`audit.k8s.io/v1`, one JSON event a line).

interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly user?: { readonly username?: string };
  readonly userAgent?: string;
  readonly responseStatus?: { readonly code?: number };
}

/** Users of tests and of the control plane itself are not ours. */
const OURS = /^system:serviceaccount:isthmus-system:/;

/**
 * Each kind of call that was answered with 403, once: who asked, and for what. A last line that is still being written
 * is passed over.
 */
export function refusedCalls(log: string): readonly string[] {
  const refused = log.split('\n').flatMap((line) => {
    const { stage, verb, requestURI, user, responseStatus } = parse(line);
    const isOurs = stage === 'ResponseComplete' && responseStatus?.code === 403 && OURS.test(user?.username ?? '');
    return isOurs ? [`${user?.username} ${verb} ${requestURI?.replace(/\?.*/, '')}`] : [];
  });
  return [...new Set(refused)].toSorted();
}

function parse(line: string): AuditEvent {
  if (!line.includes('"code":403')) return {};
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return {};
  }
}
