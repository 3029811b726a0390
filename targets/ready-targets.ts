// Which targets are ready, so that only a change of that is reported: a target is reported several times a minute, and
// handling its return means visiting each of its pods.
import type { TargetObject } from './target-object.ts';

/** Ready targets, by key. */
export class ReadyTargets {
  /** What each was set to when it was last reported. */
  readonly #settings = new Map<string, string>();

  /**
   * Records whether a target is ready, and its object. Returns whether it has just become ready, or is ready with other
   * settings: another spec, other labels, back in its registry.
   */
  note(key: string, isReady: boolean, object: Pick<TargetObject, 'spec' | 'labels' | 'hasLeft'> | undefined): boolean {
    if (!isReady || object === undefined) {
      this.#settings.delete(key);
      return false;
    }
    const settings = JSON.stringify([object.spec, object.labels, object.hasLeft]);
    if (this.#settings.get(key) === settings) return false;
    this.#settings.set(key, settings);
    return true;
  }

  /** The target was deleted. */
  remove(key: string): void {
    this.#settings.delete(key);
  }
}
