// Formats progress for a terminal or a log. Pure; the command writes it.

/** What was last shown. */
export interface ProgressState {
  /** The part before ` … N s` of the last line if it counts seconds; the terminal's cursor is still in that line. */
  readonly counting: string | undefined;
}

/** Before the first line. */
export const noProgress: ProgressState = { counting: undefined };

/** In a log, a counting line is repeated only so often, in seconds. */
const logEverySeconds = 30;

const countingLine = /^(.*) … (\d+) s$/s;

/**
 * The characters to write for a text. A text that ends in ` … N s` overwrites its predecessor on a terminal, and
 * appears every 30 s in a log.
 */
export function showProgress(state: ProgressState, text: string, isTerminal: boolean): {
  readonly state: ProgressState; readonly output: string
} {
  const found = countingLine.exec(text);
  const counting = found?.[1];
  const isRepeated = counting !== undefined && counting === state.counting;
  if (!isTerminal) {
    const isDue = !isRepeated || Number(found?.[2]) % logEverySeconds === 0;
    return { state: { counting }, output: isDue ? `${text}\n` : '' };
  }
  const lead = isRepeated ? '\r\u001B[K' : state.counting === undefined ? '' : '\n';
  return { state: { counting }, output: `${lead}${text}${counting === undefined ? '\n' : ''}` };
}

/** What can be drawn on. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Lines of the terminal. */
  readonly rows: number;
}

/**
 * The characters to write for a picture that takes the place of the one before, of `drawnLines` lines. In a log, and
 * where a picture is higher than the screen, only the last one is written.
 */
export function drawInPlace(
  drawnLines: number, picture: string, { isTerminal, rows }: Screen, isLast: boolean,
): { readonly drawnLines: number; readonly output: string } {
  const lines = picture.split('\n').length;
  const back = drawnLines === 0 ? '' : `\u001B[${drawnLines}A\u001B[J`;
  if (!isLast && (!isTerminal || lines >= rows)) return { drawnLines: 0, output: back };
  return { drawnLines: lines, output: `${back}${picture}\n` };
}
