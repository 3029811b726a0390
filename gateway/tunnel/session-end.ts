// Ends HTTP/2 sessions and their streams only while no frame is being read. Node 20 sends at once when a stream is
// reset or a session is destroyed, also from within nghttp2's callbacks. What is sent may free a stream that nghttp2
// goes on with, and then memory is corrupted (nodejs/node#64113). Any peer could bring that about: a session that was
// closed by its GOAWAY resets streams that it opens in the same segment, and sends its own GOAWAY with the first reset,
// which frees that stream. A session that is not closed does not.
import { constants, type Http2Session, type Http2Stream } from 'node:http2';

/** The end of one session, for any cause: Node itself reacts to the peer's GOAWAY and to errors. */
export class SessionEnd {
  readonly #session: Http2Session;
  readonly #closeNow: () => void;
  readonly #destroyNow: () => void;
  #streams = 0;
  #isFinishing = false;

  /** Takes over `close` and `destroy` of the session. */
  constructor(session: Http2Session) {
    this.#session = session;
    const destroy = session.destroy.bind(session);
    this.#closeNow = session.close.bind(session);
    this.#destroyNow = () => destroy();
    session.destroy = (error, code) => void setImmediate(() => destroy(error, code));
    session.close = () => this.finish();
  }

  /** Whether it ends with its last stream. */
  get isFinishing(): boolean {
    return this.#isFinishing;
  }

  /** Every stream must be counted when it opens. */
  count(stream: Http2Stream): void {
    this.#streams += 1;
    stream.once('close', () => {
      this.#streams -= 1;
      this.#endIfIdle();
    });
  }

  /** Asks the peer for no more streams, and ends with the last one, as Node's `close`. */
  finish(): void {
    if (this.#isFinishing || this.#session.destroyed) return;
    this.#isFinishing = true;
    this.#session.goaway();
    this.#endIfIdle();
  }

  /** Destroys the session with its streams; the peer gets these words. Calls `done` unless another was first. */
  destroy(words: Uint8Array, done: () => void): void {
    setImmediate(() => {
      if (this.#session.destroyed) return;
      this.#session.goaway(constants.NGHTTP2_NO_ERROR, 0, words);
      this.#destroyNow();
      done();
    });
  }

  #endIfIdle(): void {
    if (!this.#isFinishing || this.#streams > 0) return;
    setImmediate(() => {
      if (this.#streams > 0 || this.#session.destroyed) return;
      this.#closeNow(); // Node leaves the connection of a closed session open until the peer has read everything
      this.#destroyNow();
    });
  }
}

/** Destroys a stream once no frame is being read. */
export function destroyOutsideFrames(stream: { destroy(): unknown }): void {
  setImmediate(() => stream.destroy());
}
