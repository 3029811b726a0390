// Why a target gives no log. A kubelet says it as text, which an API server makes part of its own message; the target's
// API server says it as a Status, of which users would see the JSON.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parsedRecord } from '../../model/objects/json-values.ts';

/** In bytes; an API server reads 50,000. */
const LONGEST = 1 << 16;

/** Relays an error of a target as a kubelet would say it. Rejects when it breaks off. */
export async function relayRefusedLog(from: IncomingMessage, to: ServerResponse): Promise<void> {
  to.once('close', () => from.destroy());
  const read: Buffer[] = [];
  let size = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    read.push(chunk);
    size += chunk.length;
    if (size >= LONGEST) break;
  }
  const text = Buffer.concat(read).toString('utf8');
  to.writeHead(from.statusCode ?? 502, { 'content-type': 'text/plain; charset=utf-8' }).end(messageIn(text) ?? text);
}

/** The message of a Status (`meta/v1`). */
function messageIn(text: string): string | undefined {
  const { kind, message } = parsedRecord(text);
  return kind === 'Status' && typeof message === 'string' ? message : undefined;
}
