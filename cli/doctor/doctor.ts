// `isthmus doctor`: checks everything that must work here, and says what to do about what does not. Exits with 1
// when something does not work now.
import { Command } from 'commander';
import { exitWith } from '../../process/lifecycle.ts';
import { diagnose, findingLines, hasErrors } from '../checks/doctor-checks.ts';
import type { Finding } from '../checks/doctor-facts.ts';
import { inspect, printLines, withInspectionFlags, type InspectionFlags, type InspectionFormat } from './inspection.ts';
import { structured } from '../output/structured.ts';

/** The command for commander. */
export function doctorCommand(): Command {
  const command = new Command('doctor').description(
    'Diagnose a source or a target: CRDs, RBAC, components, webhook, certificates, clocks, versions, targets, ' +
      'credentials, CIDRs, leftovers. Each finding says what to do.',
  );
  return withInspectionFlags(
    command,
    'wide: also list everything healthy; json, yaml: for programs; name: what needs attention, as CHECK/SUBJECT',
  ).action(doctor);
}

async function doctor(flags: InspectionFlags): Promise<void> {
  const findings = diagnose(await inspect(flags, 'doctor'));
  printLines(printedFindings(findings, flags.output));
  if (hasErrors(findings)) exitWith(1);
}

/** The findings in a format; as text when none is given. */
export function printedFindings(findings: readonly Finding[], output: InspectionFormat | undefined): string {
  if (output === 'name') return findings.filter(({ severity }) => severity !== 'ok')
    .map(({ check, subject }) => `${check}/${subject}`)
    .join('\n');
  return structured({ findings }, output) ?? findingLines(findings, output === 'wide');
}
