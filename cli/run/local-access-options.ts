// Flags of `isthmus run` that name what kubeconfigs of ClusterTargets may use of this process; docs/targets.md explains
// them.
import { basename, isAbsolute, normalize } from 'node:path';
import type { Command } from 'commander';
import type { LocalAccess } from '../../kubernetes/credentials/local-access.ts';
import { environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';

/** The options, as they were given. */
export interface AccessFlags {
  readonly execPlugins: readonly string[];
  readonly execEnvironment: readonly string[];
  readonly tokenFolders: readonly string[];
}

/** Programs that run whatever their arguments say: naming one would let each writer of a Secret run anything. */
const RUNS_ANYTHING = new RegExp(
  '^(?:(?:ba|da|z|k|a|c|tc|fi)?sh|busybox|env|xargs|find|sudo|su|nsenter|unshare|[gm]?awk' +
    '|node|deno|bun|perl|ruby|php|python[\\d.]*)$',
);
/** Variables that make any program load or run something else. */
const LOADS_CODE = /^(?:LD_|DYLD_|NODE_|PYTHON|PERL|RUBY|BASH_|ENV$|PATH$|HOME$|SHELL)/;

/** Adds the options to a command. */
export function withAccessOptions(command: Command): Command {
  return command
    .option(
      '--exec-plugins <list>',
      'programs, comma separated, that kubeconfigs of ClusterTargets may run to get credentials: names on PATH or ' +
        'absolute paths, such as aws,gke-gcloud-auth-plugin,kubelogin; see docs/targets.md',
      parseList(toPlugin), [],
    )
    .option(
      '--exec-environment <list>',
      'environment variables, comma separated, that these programs get besides those of clouds', parseList(toVariable),
      [],
    )
    .option(
      '--token-folders <list>',
      'folders, comma separated, with the files that kubeconfigs of ClusterTargets may name as tokenFile',
      parseList(toFolder), [],
    );
}

/** What was named, with the environment of this process. */
export function localAccess({ execPlugins, execEnvironment, tokenFolders }: AccessFlags): LocalAccess {
  return { execPlugins, execEnvironment, tokenFolders, environment: environment().inherited };
}

function parseList(toEntry: (text: string) => string): (text: string) => readonly string[] {
  return (text) => text.split(',').map((one) => one.trim()).filter((one) => one !== '').map(toEntry);
}

function toPlugin(text: string): string {
  if (/\s/.test(text) || (text.includes('/') && !isAbsolute(text))) {
    throw new AppError('BadInput', `--exec-plugins takes names of programs or absolute paths, not "${text}".`);
  }
  if (RUNS_ANYTHING.test(basename(text))) throw new AppError(
    'BadInput',
    `--exec-plugins must not name "${text}", which runs whatever its arguments say; name the plugin itself.`,
  );
  return text;
}

function toVariable(text: string): string {
  if (!/^[A-Za-z_]\w*$/.test(text)) {
    throw new AppError('BadInput', `--exec-environment takes names of variables, not "${text}".`);
  }
  if (LOADS_CODE.test(text)) throw new AppError(
    'BadInput', `--exec-environment must not name ${text}, which makes programs run something else.`,
  );
  return text;
}

function toFolder(text: string): string {
  const folder = normalize(text).replace(/(?<=.)\/$/, '');
  if (isAbsolute(text) && folder !== '/') return folder;
  throw new AppError('BadInput', `--token-folders takes absolute paths of folders other than /, not "${text}".`);
}
