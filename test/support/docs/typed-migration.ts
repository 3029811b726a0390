// The commands of docs/from-admiralty.md as a second administrator types them, who has only that page: every line is
// taken from it. Only names of files are other ones, and where the webhook is: no API server of a sandbox reaches a
// Service.
import { blocksOf, textOf } from './documented-blocks.ts';
import { isthmus, type Ended } from '../processes/command-line.ts';
import { CHART, type Packaging } from '../peers/packaging.ts';

const PAGE = 'docs/from-admiralty.md';

/** A step of the page. */
export type PageStep = 'target' | 'source' | 'look' | 'upgrade-source' | 'uninstall' | 'source-back' | 'target-back';

/** Where it is typed. */
export interface Typist {
  readonly tools: Packaging;
  readonly kubeconfig: string;
  /** `NAME=FILE` of each of a source's targets. */
  readonly targets: readonly string[];
  /** URL of the webhook of Isthmus. */
  readonly webhookUrl: string;
}

/** The lines of a step, as the page has them. Throws where the page has none. */
export function linesOf(step: PageStep): readonly string[] {
  const text = textOf(PAGE);
  const lines = blocksOf(text).flatMap((block) => block.text.split('\n'))
    .filter((line) => /^(helm|isthmus|kubectl) /.test(line));
  const looks =
    [...(/^3\. .*$/m.exec(text)?.[0] ?? '').matchAll(/`((?:isthmus|kubectl) [^`]+)`/g)].map(([, line = '']) => line);
  const upgrades = lines.filter((line) => line.startsWith('helm upgrade'));
  const migrates = lines.filter((line) => line.startsWith('isthmus migrate'));
  const isOfSource = (line: string): boolean => line.includes('--target ');
  const found: Readonly<Record<PageStep, readonly string[]>> = {
    target: [...upgrades.filter((line) => line.includes('source.enabled=false')), ...migrates.filter(
      (line) => line.includes(' admiralty ') && !isOfSource(line),
    )],
    source: [...upgrades.filter((line) => !line.includes('source.enabled=false')), ...migrates.filter(
      (line) => line.includes(' admiralty ') && isOfSource(line),
    )],
    look: looks,
    'upgrade-source': upgrades.filter((line) => !line.includes('source.enabled=false')),
    uninstall: lines.filter((line) => line.startsWith('helm uninstall')),
    'source-back': migrates.filter((line) => line.includes(' rollback ') && isOfSource(line)),
    'target-back': migrates.filter((line) => line.includes(' rollback ') && !isOfSource(line)),
  };
  if (found[step].length === 0) throw new Error(`${PAGE} has no line for ${step}`);
  return found[step];
}

/** Types one line. */
export async function typeLine(line: string, { tools, kubeconfig, targets, webhookUrl }: Typist): Promise<Ended> {
  const words = line.trim().split(/\s+/).flatMap(
    (word) => (/^[^=]+=\w+\.yaml$/.test(word) ? targets : [
      /^(source|target)\.yaml$/.test(word) ? kubeconfig : word.replace('manifests/helm/isthmus', CHART),
    ]),
  );
  const [program, ...args] = words;
  if (program === 'isthmus') {
    return isthmus(...args, ...(args.includes('--kubeconfig') ? [] : ['--kubeconfig', kubeconfig]));
  }
  if (program === 'kubectl') return tools.kubectl(args, { kubeconfig });
  const isOfWebhook = args[0] === 'upgrade' && !args.includes('source.enabled=false');
  return tools.helm([...args, ...(isOfWebhook ? ['--set', `webhook.url=${webhookUrl}`] : [])], { kubeconfig });
}
