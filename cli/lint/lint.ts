// `isthmus lint -f FILE`: what of manifests cannot work once their pods run in other clusters. Reads no cluster. Exits
// with 1 when something cannot.
import { Command, Option } from 'commander';
import { AppError } from '../../process/errors.ts';
import { exitWith } from '../../process/lifecycle.ts';
import { printable } from '../convert/converted-text.ts';
import { structured } from '../output/structured.ts';
import { readManifests, withFilenames } from '../plan/manifest-files.ts';
import { objectsIn } from '../plan/read-objects.ts';
import { lintObjects, type LintFinding } from './lint-objects.ts';

interface LintFlags {
  readonly filename: readonly string[];
  readonly namespace: string;
  readonly output?: 'json' | 'yaml';
}

/** The command for commander. */
export function lintCommand(): Command {
  return withFilenames(new Command('lint'))
    .description(
      'Check manifests for what does not work, or works in another way, when their pods run in other clusters. Reads ' +
        'no cluster. Exits with 1 if there is an error; warnings do not change the exit code.',
    )
    .option('-n, --namespace <name>', 'namespace of objects that name none', 'default')
    .addOption(new Option('-o, --output <format>', 'json, yaml: for programs').choices(['json', 'yaml']))
    .action(lint);
}

async function lint({ filename, namespace, output }: LintFlags): Promise<void> {
  if (filename.length === 0) throw new AppError('BadInput', 'lint needs -f FILE.');
  const files = await readManifests(filename);
  const objects = files.flatMap((file) => objectsIn(file).map((object) => ({ path: file.path, object })));
  if (objects.length === 0) throw new AppError('BadInput', `There is no object in ${filename.join(', ')}.`);
  const findings = lintObjects(objects, namespace);
  const text = structured(findings, output) ?? findings.map(lineOf).join('\n');
  if (text !== '') console.log(text);
  if (findings.some(({ level }) => level === 'error')) exitWith(1);
}

function lineOf({ path, line, level, object, field, message }: LintFinding): string {
  return printable(`${path}:${line}: ${level}: ${object}: ${field === '' ? '' : `${field}: `}${message}`);
}
