// `isthmus doctor`: looks at everything that has to work here, and says what to do about what does not. Ends with 1 when something does not work now.
import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { exitWith } from '../process/lifecycle.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from './cluster-flags.ts';
import { diagnose, findingLines, hasErrors } from './doctor-checks.ts';
import type { Finding } from './doctor-facts.ts';
import { gatherFacts } from './doctor-gather.ts';
import { toldWhenSlow } from './told-when-slow.ts';

interface DoctorFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly output?: 'wide' | 'json' | 'yaml' | 'name';
}

/** The command for commander. */
export function doctorCommand(): Command {
  const command = new Command('doctor').description('Look for what does not work, in a source or a target: kinds, rights, components, webhook, certificates, clocks, versions, targets, credentials, ranges, remains. Each finding has its remedy.');
  return withInstallNamespace(withClusterFlags(command))
    .addOption(new Option('-o, --output <format>', 'wide: what is well, too, one by one; json, yaml: for programs; name: what needs something, as CHECK/SUBJECT').choices(['wide', 'json', 'yaml', 'name']))
    .action(doctor);
}

async function doctor({ output, ...flags }: DoctorFlags): Promise<void> {
  const findings = diagnose(await withCluster(flags, 'doctor', (cluster, signal) => toldWhenSlow('looking at this cluster and its targets', gatherFacts(cluster, flags.installNamespace, signal))));
  console.log(printedFindings(findings, output));
  if (hasErrors(findings)) exitWith(1);
}

/** The findings in a format; as lines for people when none is given. */
export function printedFindings(findings: readonly Finding[], output: DoctorFlags['output']): string {
  if (output === 'json') return JSON.stringify({ findings }, undefined, 2);
  if (output === 'yaml') return stringify({ findings }, { lineWidth: 0 }).trimEnd();
  if (output === 'name') return findings.filter(({ severity }) => severity !== 'ok').map(({ check, subject }) => `${check}/${subject}`).join('\n');
  return findingLines(findings, output === 'wide');
}
