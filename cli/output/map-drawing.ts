// A map of one cluster in the middle, the clusters that use it on one side and those that it uses on the other: what is
// drawn, whatever it is drawn with.

/** How a box stands out. `lost`: it does not work now. */
export type BoxState = 'plain' | 'ready' | 'cordoned' | 'lost';

/** A cluster. Texts are as they came from clusters. */
export interface MapBox {
  /** Unique on the map. */
  readonly id: string;
  readonly name: string;
  /** At most {@link MOST_LINES}. */
  readonly lines: readonly string[];
  readonly state: BoxState;
}

/** A cluster with its line to or from the middle. */
export interface MapNeighbour extends MapBox {
  /** What is written at the line; `''` for nothing. */
  readonly link: string;
}

/** A map. */
export interface MapDrawing {
  readonly title: string;
  readonly middle: MapBox;
  /** Clusters that send pods to the one in the middle. */
  readonly from: readonly MapNeighbour[];
  /** Clusters that it sends pods to. */
  readonly to: readonly MapNeighbour[];
  /** What must be known to read the map, below it. */
  readonly notes: readonly string[];
}

/** Lines of a box below its name. */
export const MOST_LINES = 3;

/**
 * A text on one line, without what is not a character to read: controls, marks that turn the direction of writing,
 * halves of surrogate pairs.
 */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, '\u{FFFD}');
}
