// Finds sleeps of a set length, and assertions by the clock, in tests: they are slow where the machine is quick, and
// wrong where it is slow. A pause between two looks of a loop is none, and neither is a stated part of a scenario.

/** One sleep or assertion, with its line. */
export interface ByTheClock {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** `await sleep(100)`, `await delay(PAUSE_MS)`, and a promise that a timer resolves. */
const SLEEP = /\bawait (?:sleep|delay|setTimeout|pause)\((?:[\d_]+|[A-Z][A-Z_\d]+(?:\.\w+)?)[,)]/;
const TIMER = /setTimeout\((?:resolve|done), (?:[\d_]+|[A-Z][A-Z_\d]+)\)/;
const ABORTED = /AbortSignal\.(?:abort|any)/;
/** `assert.ok(performance.now() - since < 4_000)`, and what took less than so many milliseconds. */
const TIMED = /\bassert(?:\.ok)?\(.*(?:performance\.now\(\) - \w+|\btook\b|\bwaited\b) <=? [\d_]+/;
const LOOP = /^\s*(?:\} )?(?:while|for|do)\b/;
const FUNCTION = /(?:=>|\bfunction\b.*) \{$|^\s*(?:async |static |#)*[\w#]+\([^)]*\)[^;]*\{$/;

/** The sleeps of a file that are in no loop. */
export function fixedSleepsIn(text: string): readonly ByTheClock[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const isSleep = (SLEEP.test(line) && !ABORTED.test(line)) || TIMER.test(line);
    return isSleep && !isInLoop(lines, index) ? [{ line: index + 1, text: line.trim() }] : [];
  });
}

/** Assertions that something took less than a time by the clock of the machine. */
export function timedAssertionsIn(text: string): readonly ByTheClock[] {
  return text.split('\n').flatMap((line, index) => (TIMED.test(line) ? [{ line: index + 1, text: line.trim() }] : []));
}

/** Whether a loop of the same function is around the line, or on it. */
function isInLoop(lines: readonly string[], index: number): boolean {
  let indent = indentOf(lines[index] ?? '');
  if (/\b(?:while|for) \(/.test(lines[index] ?? '')) return true;
  for (const line of lines.slice(0, index).toReversed()) {
    if (line.trim() === '' || indentOf(line) >= indent) continue;
    indent = indentOf(line);
    if (LOOP.test(line)) return true;
    if (FUNCTION.test(line) && !/new Promise|Promise\.all/.test(line)) return false;
  }
  return false;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
