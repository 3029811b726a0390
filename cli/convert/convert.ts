// `isthmus convert -f FILE`: what manifests of KubeFed, Karmada, Liqo and Admiralty are in Isthmus, and what has no
// counterpart. Reads no cluster. Exits with 1 when something has none.
import { Command, Option } from 'commander';
import { AppError } from '../../process/errors.ts';
import { exitWith } from '../../process/lifecycle.ts';
import { structured } from '../output/structured.ts';
import { readManifests, withFilenames } from '../plan/manifest-files.ts';
import { objectsIn } from '../plan/read-objects.ts';
import type { Fields } from '../translation/manifest.ts';
import { convertObjects } from './convert-objects.ts';
import { findingLines } from './converted-text.ts';

interface ConvertFlags {
  readonly filename: readonly string[];
  readonly namespace?: string;
  readonly keepGoing: boolean;
  readonly output: 'yaml' | 'json';
}

/** The command for commander. */
export function convertCommand(): Command {
  return withFilenames(new Command('convert'))
    .description(
      'Convert manifests of KubeFed, Karmada, Liqo and Admiralty to Isthmus, and say what has no counterpart. ' +
        'Reads no cluster. If something has none, prints no manifests and exits with 1.',
    )
    .option('-n, --namespace <name>', 'namespace of objects that name none')
    .option('--keep-going', 'print the rest although something has no counterpart, and exit with 0', false)
    .addOption(new Option('-o, --output <format>', 'how to print them').choices(['yaml', 'json']).default('yaml'))
    .action(convert);
}

async function convert({ filename, namespace, keepGoing, output }: ConvertFlags): Promise<void> {
  if (filename.length === 0) throw new AppError('BadInput', 'convert needs -f FILE.');
  const objects = (await readManifests(filename)).flatMap(objectsIn);
  if (objects.length === 0) throw new AppError('BadInput', `There is no object in ${filename.join(', ')}.`);
  const converted = convertObjects(objects, namespace);
  for (const line of findingLines(converted.findings)) console.error(line);
  const lost = converted.findings.filter(({ kind }) => kind === 'lost').length;
  if (lost > 0 && !keepGoing) {
    console.error(`${lost} lost: no manifests are printed. --keep-going prints the rest.`);
    return exitWith(1);
  }
  if (converted.objects.length > 0) console.log(textOf(converted.objects, output));
}

function textOf(objects: readonly Fields[], output: ConvertFlags['output']): string {
  if (output === 'json') return structured({ apiVersion: 'v1', kind: 'List', items: objects }, output) ?? '';
  return objects.map((object) => structured(object, output)).join('\n---\n');
}
