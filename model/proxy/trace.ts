// OpenTelemetry traces of placement: one trace for each elected pod, whose root lasts from admission until the proxy is
// Running. An annotation on the proxy contains trace ID, root span and start time, and each component exports its own
// spans. Pure.
import type { Pod, StringMap } from '../../api/objects/core.ts';
import { TRACE_ANNOTATION } from '../../api/objects/keys.ts';

/** Trace context of a pod. IDs are lower-case hex (W3C Trace Context): 32 and 16 digits. */
export interface TraceContext {
  readonly traceId: string;
  /** The root span, the parent of all others. */
  readonly rootId: string;
  /** Start of admission, in ms since the epoch. */
  readonly startedAt: number;
}

/** A span. Times are in ms since the epoch. */
export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Missing for the root. */
  readonly parentId?: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Error message; missing on success. */
  readonly error?: string;
}

/** Attributes of a span's pod, by OpenTelemetry's semantic conventions ("K8s"). */
export function podAttributes({ namespace = '', name = '', uid = '' }: {
  readonly namespace?: string; readonly name?: string; readonly uid?: string
}): Readonly<Record<string, string>> {
  return { 'k8s.namespace.name': namespace, 'k8s.pod.name': name, ...(uid !== '' && { 'k8s.pod.uid': uid }) };
}

/** A version 00 traceparent (W3C Trace Context §3.2), sampled, and the start time. */
export function printTrace({ traceId, rootId, startedAt }: TraceContext): string {
  return `00-${traceId}-${rootId}-01/${startedAt}`;
}

/** Parses {@link printTrace}; undefined for any other text. */
export function traceOf(annotations: StringMap | undefined): TraceContext | undefined {
  const [, traceId, rootId, startedAt] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-01\/(\d{1,15})$/.exec(annotations?.[TRACE_ANNOTATION] ?? '') ?? [];
  return traceId === undefined || rootId === undefined ? undefined : { traceId, rootId, startedAt: Number(startedAt) };
}

/** The body of an export (OTLP 1.x, `ExportTraceServiceRequest` in its JSON encoding) for spans of this process. */
export function toOtlp(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [{
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [{ scope: { name: 'isthmus' }, spans: spans.map(toOtlpSpan) }],
    }],
  };
}

const INTERNAL = 1;
const ERROR = 2;

function toOtlpSpan({ name, traceId, spanId, parentId, startMs, endMs, attributes, error }: Span): object {
  return {
    traceId, spanId, ...(parentId !== undefined && { parentSpanId: parentId }), name, kind: INTERNAL,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)), attributes: attributesOf(attributes),
    ...(error !== undefined && { status: { code: ERROR, message: error } }),
  };
}

/** 64-bit integers are strings in Protocol Buffers' JSON. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function attributesOf(values: Readonly<Record<string, string | number>>): readonly object[] {
  return Object.entries(values).map(([key, value]) => (
    { key, value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) } }
  ));
}

/**
 * The root span, once the written proxy is not Pending; undefined before that, and without tracing. `now` is in ms
 * since the epoch.
 */
export function rootSpan(written: Pod | undefined, now: number): Span | undefined {
  const trace = traceOf(written?.metadata.annotations);
  const phase = written?.status?.phase ?? 'Pending';
  if (written === undefined || trace === undefined || phase === 'Pending') return undefined;
  return {
    name: 'elected pod', traceId: trace.traceId, spanId: trace.rootId, startMs: trace.startedAt, endMs: now,
    attributes: { ...podAttributes(written.metadata), 'isthmus.phase': phase },
  };
}
