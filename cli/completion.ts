// Shell completion: a script that calls `isthmus __complete`, and for kubectl the same program installed as
// `kubectl_complete-isthmus` (kubectl "plugin completion": one line per choice, then a directive).
import { basename } from 'node:path';
import { Argument, Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Hidden command for completions. */
const ASK = '__complete';
/** Under this name kubectl looks for the completion of its plugin `isthmus`. */
const KUBECTL_NAME = 'kubectl_complete-isthmus';
/** cobra's ShellCompDirectiveNoFileComp: there are no files to choose from. */
const DIRECTIVE = ':4';

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_isthmus() {
  local IFS=$'\\n'
  COMPREPLY=($(isthmus __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v '^:'))
}
complete -o default -F _isthmus isthmus`,
  zsh: `#compdef isthmus
_isthmus() {
  local -a choices
  choices=("\${(@f)$(isthmus __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | grep -v '^:')}")
  compadd -a choices
}
compdef _isthmus isthmus`,
  fish:
    `complete -c isthmus -a '(isthmus __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string ` +
      `match -v ":*")'`,
};

/** The command that prints a script for a shell. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a script that completes this command in a shell: source <(isthmus completion bash).')
    .addArgument(new Argument('<shell>', 'which one').choices(SHELLS))
    .action((shell: Shell) => console.log(SCRIPTS[shell]));
}

/**
 * The words to complete, where that is what this process was started for: `isthmus __complete WORDS...`, or
 * `kubectl_complete-isthmus WORDS...`.
 * `argv` is that of the process.
 */
export function wordsToComplete(argv: readonly string[]): readonly string[] | undefined {
  const [, path = '', first, ...rest] = argv;
  if (basename(path).startsWith(KUBECTL_NAME)) return argv.slice(2);
  return first === ASK ? rest : undefined;
}

/** The response for shells and kubectl. */
export function completionText(program: Command, words: readonly string[]): string {
  return [...completionsOf(program, words), DIRECTIVE].join('\n');
}

/** Choices for the last word, which may be empty or partial. */
export function completionsOf(program: Command, words: readonly string[]): readonly string[] {
  const begun = words.at(-1) ?? '';
  const { command, before, places } = walk(program, words.slice(0, -1));
  const option =
    command.options.find(({ short, long }) => before !== undefined && (before === short || before === long));
  if (option !== undefined && (option.required || option.optional)) return matching(option.argChoices ?? [], begun);
  if (begun.startsWith('-')) {
    return matching(command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []), begun);
  }
  const subcommands = command.commands.map((one) => one.name());
  return matching(
    [...(places === 0 ? subcommands : []), ...(command.registeredArguments[places]?.argChoices ?? [])], begun,
  );
}

/** The command that the words lead to, the word before the last, and how many arguments it has already. */
function walk(program: Command, words: readonly string[]): {
  readonly command: Command; readonly before: string | undefined; readonly places: number
} {
  let command = program;
  let places = 0;
  let isValue = false;
  for (const word of words) {
    const option = command.options.find(({ short, long }) => word === short || word === long);
    const next = isValue || word.startsWith('-') ? undefined : command.commands.find((one) => one.name() === word);
    if (next !== undefined) [command, places] = [next, 0];
    else if (!isValue && !word.startsWith('-')) places += 1;
    isValue = option !== undefined && (option.required || option.optional);
  }
  return { command, before: words.at(-1), places };
}

function matching(choices: readonly string[], begun: string): readonly string[] {
  return [...new Set(choices)].filter((choice) => choice.startsWith(begun)).toSorted();
}
