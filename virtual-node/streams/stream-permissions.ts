// Opens a stream in a target. A source has no permanent permission for logs, exec, attach and port-forward there: after
// a denial it requests the permission by an annotation on its own PodChaperon, and the target grants it for that pod.
// The first stream takes a moment longer.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { STREAMS_REQUESTED_ANNOTATION } from '../../api/objects/keys.ts';
import { POD_CHAPERONS } from '../../api/resource-types.ts';
import { openExchange, type StreamAnswer, type StreamRequest } from '../../kubernetes/stream/stream-exchange.ts';
import type { Transport } from '../../kubernetes/http/transport.ts';
import type { Chaperon } from '../../model/delegate/cached-delegate.ts';

/**
 * Delays between retries after a request, in ms: the target's controller writes a Role, and its API servers must
 * observe it.
 */
const WAITS_MS = [30, 60, 120, 250, 500, 1_000, 1_000, 2_000, 2_000, 2_000, 2_000, 2_000];

/** The target of a stream. */
export interface StreamTarget {
  readonly transport: Transport;
  /** The source's object there for the pod. */
  readonly chaperon: Pick<Chaperon, 'mode' | 'namespace' | 'name' | 'uid'> | undefined;
}

/** Opens it, as {@link openExchange} does; responds with the denial when the target does not grant the permission. */
export async function openStream(
  { transport, chaperon }: StreamTarget, asked: StreamRequest, signal: AbortSignal,
): Promise<StreamAnswer> {
  let answer = await openExchange(transport, asked, signal);
  if (chaperon?.mode !== 'PodChaperon' || !(await lacksPermission(answer, signal))) return answer;
  if (!(await requestPermission(transport, chaperon, signal))) return answer;
  for (const ms of WAITS_MS) {
    await delay(ms, undefined, { signal });
    answer.response.destroy();
    answer = await openExchange(transport, asked, signal);
    if (!(await lacksPermission(answer, signal))) return answer;
  }
  return answer;
}

/** How an API server says that a permission is missing (apiserver `forbiddenMessage`); admission says other things. */
const MISSING_PERMISSION = / cannot (get|create) resource /;

/** Whether it is denied for want of a permission, and not by admission, which a permission does not change. */
async function lacksPermission({ kind, response }: StreamAnswer, signal: AbortSignal): Promise<boolean> {
  if (kind !== 'answer' || response.statusCode !== 403) return false;
  await once(response, 'readable', { signal });
  const beginning = response.read() as Buffer | null;
  if (beginning !== null) response.unshift(beginning);
  return MISSING_PERMISSION.test(String(beginning));
}

/** Every replica serves streams, so this write is not limited to the leader; returns whether it was done. */
async function requestPermission(
  transport: Transport, { namespace, name, uid }: NonNullable<StreamTarget['chaperon']>, signal: AbortSignal,
): Promise<boolean> {
  const { group, version, plural } = POD_CHAPERONS;
  const body = { metadata: { uid, annotations: { [STREAMS_REQUESTED_ANNOTATION]: new Date().toISOString() } } };
  const path =
    `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  return transport.call({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' }, signal)
    .then(() => true, () => false);
}
