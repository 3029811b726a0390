// Why a target gives no log. A kubelet says it as text, which an API server makes part of its own message; the target's
// API server says it as a Status, of which users would see the JSON.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parsedRecord } from '../../model/objects/json-values.ts';

/** In bytes; an API server reads 50,000. */
const LONGEST = 1 << 16;
/** How long the target may take to say it, in ms: nothing is relayed before. */
const READ_MS = 5_000;

/** Relays an error of a target as a kubelet would say it. Rejects when it breaks off, or takes too long. */
export async function relayRefusedLog(from: IncomingMessage, to: ServerResponse, readMs = READ_MS): Promise<void> {
  to.once('close', () => from.destroy());
  const timer = setTimeout(() => from.destroy(new Error('the target does not say why it gives no log')), readMs);
  const text = await beginningOf(from).finally(() => clearTimeout(timer));
  to.writeHead(from.statusCode ?? 502, { 'content-type': 'text/plain; charset=utf-8' }).end(messageIn(text) ?? text);
}

async function beginningOf(from: IncomingMessage): Promise<string> {
  const read: Buffer[] = [];
  let size = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    read.push(chunk);
    size += chunk.length;
    if (size >= LONGEST) break;
  }
  return Buffer.concat(read).toString('utf8');
}

/** The message of a Status (`meta/v1`). */
function messageIn(text: string): string | undefined {
  const { kind, message } = parsedRecord(text);
  return kind === 'Status' && typeof message === 'string' ? message : undefined;
}
