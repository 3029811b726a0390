// Delegates that this process has made, or may have made, and that its watch has not shown yet. While there is one, an end that the watch shows
// may be that of an earlier delegate of the same chaperon: it says nothing about the last one.

/** By the UID of the chaperon. */
export class CreateExpectations {
  /** UID of the delegate; undefined while the answer is out, and for good when it was lost. */
  readonly #made = new Map<string, string | undefined>();

  /** A create is about to be sent. What is given back is told its answer: the delegate's UID, or that nothing was made. It is not called when the answer is lost. */
  begin(chaperonUid: string): { made(podUid: string, isHeard: boolean): void; refused(): void } {
    const before = this.#made.has(chaperonUid) ? { podUid: this.#made.get(chaperonUid) } : undefined;
    this.#made.set(chaperonUid, undefined);
    return {
      made: (podUid, isHeard) => (isHeard ? void this.#made.delete(chaperonUid) : void this.#made.set(chaperonUid, podUid)),
      refused: () => (before === undefined ? void this.#made.delete(chaperonUid) : void this.#made.set(chaperonUid, before.podUid)),
    };
  }

  /** The watch shows this delegate of a chaperon. */
  hear(chaperonUid: string, podUid: string): void {
    if (this.#made.get(chaperonUid) === podUid) this.#made.delete(chaperonUid);
  }

  /** Whether there may be a delegate of the chaperon that was not shown yet. */
  has(chaperonUid: string): boolean {
    return this.#made.has(chaperonUid);
  }

  /** The chaperon has gone. */
  forget(chaperonUid: string): void {
    this.#made.delete(chaperonUid);
  }
}
