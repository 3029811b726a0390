// Shell completion: a script that calls `isthmus __complete`, and for kubectl the same program installed as
// `kubectl_complete-isthmus` (kubectl "plugin completion": one line per choice, then a directive).
import { basename } from 'node:path';
import { Argument, Command, type Option } from 'commander';

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
    .description('Print a shell completion script: source <(isthmus completion bash).')
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

/** The response for shells and kubectl; `live` are names from the cluster. */
export function completionText(program: Command, words: readonly string[], live: readonly string[] = []): string {
  const begun = words.at(-1) ?? '';
  return [
    ...completionsOf(program, words), ...matching(live.flatMap((name) => prefixed(name, begun)), begun), DIRECTIVE,
  ].join('\n');
}

/** `pod/web` where the user has begun with `pod/`. */
function prefixed(name: string, begun: string): readonly string[] {
  const kind = /^[a-z]+\//.exec(begun)?.[0];
  return kind === undefined || name.startsWith(begun) ? [name] : [`${kind}${name}`];
}

/** Names that only the cluster knows. */
export interface CompletionQuestion {
  readonly what: 'targets' | 'pods' | 'nodes' | 'sources' | 'namespaces' | 'contexts' | 'invitations';
  readonly flags: { readonly kubeconfig?: string; readonly context?: string; readonly namespace?: string };
}

/** Arguments and options whose values are names of objects. */
const NAMED: Readonly<Record<string, CompletionQuestion['what']>> = {
  target: 'targets', targets: 'targets', pod: 'pods', invitation: 'invitations',
  '--to': 'targets', '--without': 'targets', '--namespace': 'namespaces', '--install-namespace': 'namespaces',
  '--allow-namespace': 'namespaces', '--source': 'sources', '--context': 'contexts',
};

/** What to ask the cluster for the last word; undefined when there is nothing to ask. */
export function questionOf(program: Command, words: readonly string[]): CompletionQuestion | undefined {
  const { command, before, places, given, flags } = walk(program, words.slice(0, -1));
  const option = valueOption(command, before);
  if (option === undefined && (words.at(-1) ?? '').startsWith('-')) return undefined;
  const argument = command.registeredArguments[places]
    ?? command.registeredArguments.findLast(({ variadic }) => variadic);
  const what = option === undefined ? namesFor(argument?.name(), given) : NAMED[option.long ?? ''];
  return what === undefined ? undefined : { what, flags };
}

/** The names after `get KIND` are of that kind, after `allow namespace` of namespaces. */
function namesFor(argument: string | undefined, given: readonly string[]): CompletionQuestion['what'] | undefined {
  const kind = given[0] ?? '';
  if (argument === 'names') return (['targets', 'pods', 'nodes', 'sources'] as const).find(
    (known) => known === kind || known.slice(0, -1) === kind,
  );
  if (argument === 'name' && kind === 'namespace') return 'namespaces';
  return NAMED[argument ?? ''];
}

function valueOption(command: Command, before: string | undefined): Option | undefined {
  const option =
    command.options.find(({ short, long }) => before !== undefined && (before === short || before === long));
  return option !== undefined && (option.required || option.optional) ? option : undefined;
}

/** Choices for the last word, which may be empty or partial. */
export function completionsOf(program: Command, words: readonly string[]): readonly string[] {
  const begun = words.at(-1) ?? '';
  const { command, before, places } = walk(program, words.slice(0, -1));
  const option = valueOption(command, before);
  if (option !== undefined) return matching(option.argChoices ?? [], begun);
  if (begun.startsWith('-')) {
    return matching(command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []), begun);
  }
  const subcommands = command.commands.map((one) => one.name());
  return matching(
    [...(places === 0 ? subcommands : []), ...(command.registeredArguments[places]?.argChoices ?? [])], begun,
  );
}

interface Walk {
  readonly command: Command;
  /** The word before the last. */
  readonly before: string | undefined;
  /** How many arguments the command has already, and which. */
  readonly places: number;
  readonly given: readonly string[];
  /** Options that say which cluster is meant. */
  readonly flags: CompletionQuestion['flags'];
}

/** The command that the words lead to, and what was given to it. */
function walk(program: Command, words: readonly string[]): Walk {
  let command = program;
  let given: string[] = [];
  let option: Option | undefined;
  const flags: Record<string, string> = {};
  for (const word of words) {
    if (option !== undefined) {
      flags[option.long?.slice(2) ?? ''] = word;
      option = undefined;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (word.startsWith('-')) option = valueOption(command, word);
    else if (next === undefined) given.push(word);
    else [command, given] = [next, []];
  }
  return { command, before: words.at(-1), places: given.length, given, flags };
}

function matching(choices: readonly string[], begun: string): readonly string[] {
  return [...new Set(choices)].filter((choice) => choice.startsWith(begun)).toSorted();
}
