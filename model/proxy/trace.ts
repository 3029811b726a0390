// The way of a pod as a trace (OpenTelemetry): one trace for each elected pod, whose root lasts from admission until the proxy shows Running.
// The components never meet: an annotation on the proxy says trace, root span and beginning, and each tells of its own part. Pure.
import type { StringMap } from '../../api/objects/core.ts';
import { TRACE_ANNOTATION } from '../../api/objects/keys.ts';

/** Where the parts of a pod's trace belong. Ids are lower-case hex (W3C Trace Context): 32 and 16 digits. */
export interface TraceContext {
  readonly traceId: string;
  /** Of the root, which the others have as their parent. */
  readonly rootId: string;
  /** When admission began, in ms since the epoch. */
  readonly startedAt: number;
}

/** A part of the way. Times are in ms since the epoch. */
export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Missing for the root. */
  readonly parentId?: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Why it failed; missing when it did not. */
  readonly error?: string;
}

/** Which pod a span is about, by OpenTelemetry's names (semantic conventions, "K8s"). */
export function podAttributes({ namespace = '', name = '', uid = '' }: { readonly namespace?: string; readonly name?: string; readonly uid?: string }): Readonly<Record<string, string>> {
  return { 'k8s.namespace.name': namespace, 'k8s.pod.name': name, ...(uid !== '' && { 'k8s.pod.uid': uid }) };
}

/** A version 00 traceparent (W3C Trace Context §3.2), sampled, and when the way began. */
export function printTrace({ traceId, rootId, startedAt }: TraceContext): string {
  return `00-${traceId}-${rootId}-01/${startedAt}`;
}

/** What {@link printTrace} printed; undefined for anything else. */
export function traceOf(annotations: StringMap | undefined): TraceContext | undefined {
  const [, traceId, rootId, startedAt] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01\/(\d{1,15})$/.exec(annotations?.[TRACE_ANNOTATION] ?? '') ?? [];
  return traceId === undefined || rootId === undefined ? undefined : { traceId, rootId, startedAt: Number(startedAt) };
}

/** The body of an export (OTLP 1.x, `ExportTraceServiceRequest` in its JSON encoding) for spans of this process. */
export function toOtlp(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return { resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope: { name: 'isthmus' }, spans: spans.map(toOtlpSpan) }] }] };
}

const INTERNAL = 1;
const ERROR = 2;

function toOtlpSpan({ name, traceId, spanId, parentId, startMs, endMs, attributes, error }: Span): object {
  return {
    traceId, spanId, ...(parentId !== undefined && { parentSpanId: parentId }), name, kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)), attributes: attributesOf(attributes),
    ...(error !== undefined && { status: { code: ERROR, message: error } }),
  };
}

/** 64-bit integers are texts in the JSON of Protocol Buffers. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function attributesOf(values: Readonly<Record<string, string | number>>): readonly object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) } }));
}
