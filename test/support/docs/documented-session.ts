// Pages whose commands are meant to be typed one after another: the blocks of a page as one shell session, and what
// each printed against what the page says that it prints.

/** A block of commands, and the lines that the page shows of their output; `…` stands for anything. */
export interface SessionStep {
  readonly commands: string;
  readonly shown: readonly string[];
}

/** The `sh` blocks of a page, each with the `text` block that follows it. */
export function stepsOf(page: string): readonly SessionStep[] {
  const steps: SessionStep[] = [];
  for (const [, language, text = ''] of page.matchAll(/^```(sh|text)\n([^]*?)^```/gm)) {
    const last = steps.at(-1);
    if (language === 'sh') steps.push({ commands: text, shown: [] });
    else if (last !== undefined) steps[steps.length - 1] = { ...last, shown: text.trimEnd().split('\n') };
  }
  return steps;
}

const MARK = '@@@ step ';

/** One script for bash that stops at the first command that fails. Aliases work as they do for people. */
export function sessionScript(steps: readonly SessionStep[]): string {
  return [
    'set -euo pipefail', 'shopt -s expand_aliases',
    ...steps.flatMap(({ commands }, index) => [`echo '${MARK}${index}'`, commands.trimEnd()]), '',
  ].join('\n');
}

/** Lines of the page that the output of their step has not, in the order in which they are shown. */
export function missingLines(steps: readonly SessionStep[], output: string): readonly string[] {
  const printed =
    new Map(output.split(MARK).slice(1).map((part) => [Number.parseInt(part, 10), part.split('\n').slice(1)] as const));
  return steps.flatMap(({ shown }, index) => {
    let from = 0;
    return shown.filter((line) => {
      const found = (printed.get(index) ?? []).findIndex((each, at) => at >= from && patternOf(line).test(each));
      if (found >= 0) from = found + 1;
      return found < 0;
    }).map((line) => `step ${index}: ${line}`);
  });
}

function patternOf(line: string): RegExp {
  const parts = line.trim().split('…').map(
    (part) => part.trim().split(/\s+/).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'),
  );
  return new RegExp(`^\\s*${parts.join('.*')}\\s*$`);
}
