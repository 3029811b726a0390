// Which labels and annotations an API server accepts: one invalid entry blocks the write of the whole object.
import type { StringMap } from '../../api/objects/core.ts';

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Keys and values of all annotations of an object (Kubernetes `TotalAnnotationSizeLimitB`), less what we add. */
const MOST_ANNOTATION_BYTES = 255 << 10;

/** Whether it is a DNS label (RFC 1123), as names of namespaces, Services and ports are. */
export function isDnsLabel(text: string): boolean {
  return DNS_LABEL.test(text);
}

/** Whether it is a DNS subdomain (RFC 1123), as names of most objects are. */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= 253 && DOMAIN.test(text);
}

/** Whether it is the name of a host: DNS labels of at most 253 characters together. */
export function isHostName(text: string): boolean {
  return text.length <= 253 && text.split('.').every(isDnsLabel);
}

/** Whether it is a valid label. */
export function isLabel(key: string, value: string): boolean {
  return isQualifiedName(key) && (value === '' || NAME.test(value));
}

/** Those that are valid. */
export function acceptedLabels(labels: StringMap): StringMap {
  return Object.fromEntries(Object.entries(labels).filter(([key, value]) => isLabel(key, value)));
}

/** Those with a valid key; none when all together are too large. */
export function acceptedAnnotations(annotations: StringMap): StringMap {
  const accepted = Object.entries(annotations).filter(([key]) => isQualifiedName(key.toLowerCase()));
  const bytes = accepted.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  return bytes > MOST_ANNOTATION_BYTES ? {} : Object.fromEntries(accepted);
}

/** Whether it is a qualified name, `[DOMAIN/]NAME`, as keys of labels are. */
export function isQualifiedName(key: string): boolean {
  const [name = '', domain, ...more] = key.split('/').toReversed();
  return NAME.test(name) && more.length === 0
    && (domain === undefined || isDnsSubdomain(domain));
}
