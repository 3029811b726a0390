// A cable driver whose every stream is an echo, but for those to the cluster `gone`, to which there is no cable.
import { PassThrough, type Duplex } from 'node:stream';
import type { StreamDriver, StreamRequest } from '../../../gateway/protocol/cable-driver.ts';
import { StreamRefusedError } from '../../../gateway/tunnel/tunnel-session.ts';

/** The driver, with what it was asked for and what it gave. */
export class EchoDriver implements StreamDriver {
  readonly name = 'echo';
  readonly asked: StreamRequest[] = [];
  readonly given: Duplex[] = [];
  connect(): void {}
  disconnect(): void {}
  connections() { return []; }
  async close(): Promise<void> {}
  async openStream(asked: StreamRequest): Promise<Duplex> {
    this.asked.push(asked);
    if (asked.clusterId === 'gone') throw new StreamRefusedError(
      'there is no gateway connection to "gone" (error): hub:443: nothing listens there', 503,
    );
    const stream = new PassThrough();
    this.given.push(stream);
    return stream;
  }
}
