// Delegates that this process created, or may have created when a request timed out, and that its watch has not
// delivered yet. While one is outstanding, a terminated pod in the watch may be an earlier delegate of the same
// chaperon: conclude nothing from it.

/** By the UID of the chaperon. */
export class CreateExpectations {
  /** UID of the delegate; undefined while the response is pending, and permanently if it was lost. */
  readonly #made = new Map<string, string | undefined>();

  /**
   * Call before a create is sent. The result takes the response: the delegate's UID, or that nothing was created. It is
   * not called when the response is lost.
   */
  begin(chaperonUid: string): { made(podUid: string, isObserved: boolean): void; rejected(): void } {
    const before = this.#made.has(chaperonUid) ? { podUid: this.#made.get(chaperonUid) } : undefined;
    this.#made.set(chaperonUid, undefined);
    return {
      made: (podUid, isObserved) =>
        (isObserved ? void this.#made.delete(chaperonUid) : void this.#made.set(chaperonUid, podUid)),
      rejected: () =>
        (before === undefined ? void this.#made.delete(chaperonUid) : void this.#made.set(chaperonUid, before.podUid)),
    };
  }

  /** The watch delivered this delegate of a chaperon. */
  observe(chaperonUid: string, podUid: string): void {
    if (this.#made.get(chaperonUid) === podUid) this.#made.delete(chaperonUid);
  }

  /** Whether a delegate of the chaperon may exist that the watch has not delivered. */
  has(chaperonUid: string): boolean {
    return this.#made.has(chaperonUid);
  }

  /** The chaperon is gone. */
  forget(chaperonUid: string): void {
    this.#made.delete(chaperonUid);
  }
}
