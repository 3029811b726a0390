// Followed logs. kwok would need an inotify instance for each, of which Linux allows a user 128, and other control
// planes may use them all; here one process polls a file's size and mtime once for all of its readers. Backpressure
// applies per reader.
import { once } from 'node:events';
import { unwatchFile, watchFile } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { showLog, showRecords, type LogView } from './container-log.ts';

/** Read at a time, in bytes. */
const CHUNK = 1 << 20;
/** How often is looked whether a log has grown, in ms. */
const POLL_INTERVAL_MS = 50;
/** How much of the end of a long log is read before it is followed, in bytes. */
const MAX_PAST = 16 << 20;

/** One log file and its readers. */
export class FollowedLog {
  readonly #path: string;
  readonly #wake = new Set<() => void>();
  readonly #onChange = () => {
    for (const reader of this.#wake) reader();
  };

  constructor(path: string) {
    this.#path = path;
  }

  /** Shows the log and what is added to it, until the reader goes. */
  async show(reply: ServerResponse, view: LogView): Promise<void> {
    const gone = once(reply, 'close');
    let news: () => void = () => undefined;
    const wake = () => news();
    const file = await open(this.#path);
    this.#begin(wake);
    try {
      reply.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
      const reader = new RecordReader(file, Math.max(0, (await file.stat()).size - MAX_PAST));
      let text = showLog(await reader.rest(), view);
      while (!reply.destroyed) {
        const changed = new Promise<void>((resolve) => (news = resolve)); // before the look, so that nothing is missed
        if (text !== '' && !reply.write(text, 'latin1')) await Promise.race([once(reply, 'drain'), gone]);
        const records = await reader.next();
        text = showRecords(records, view);
        if (records.length === 0 && !reader.isBehind) await Promise.race([changed, gone]);
      }
    } finally {
      this.#end(wake);
      await file.close();
    }
  }

  #begin(wake: () => void): void {
    this.#wake.add(wake);
    if (this.#wake.size === 1) watchFile(this.#path, { interval: POLL_INTERVAL_MS }, this.#onChange);
  }

  #end(wake: () => void): void {
    this.#wake.delete(wake);
    if (this.#wake.size === 0) unwatchFile(this.#path, this.#onChange);
  }
}

/** Reads whole records. */
class RecordReader {
  readonly #file: FileHandle;
  readonly #buffer = Buffer.alloc(CHUNK);
  #at: number;
  #begun = '';
  /** The last read filled its buffer, so there may be more. */
  isBehind = false;

  constructor(file: FileHandle, at: number) {
    this.#file = file;
    this.#at = at;
  }

  /** Records that are complete now; a chunk at most. */
  async next(): Promise<string[]> {
    const { bytesRead } = await this.#file.read(this.#buffer, 0, CHUNK, this.#at);
    this.#at += bytesRead;
    this.isBehind = bytesRead === CHUNK;
    const records = (this.#begun + this.#buffer.toString('latin1', 0, bytesRead)).split('\n'); // bytes as they are
    this.#begun = records.pop() ?? '';
    return records;
  }

  /** All that are there now. */
  async rest(): Promise<string[]> {
    const records: string[] = [];
    do records.push(...(await this.next()));
    while (this.isBehind);
    return records;
  }
}
