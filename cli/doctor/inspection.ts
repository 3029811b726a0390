// Shared by `isthmus doctor` and `isthmus status`: flags, gathering of facts, and output formats.
import { Option, type Command } from 'commander';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import type { DoctorFacts } from '../checks/doctor-facts.ts';
import { gatherFacts } from './doctor-gather.ts';
import { withProgressNotice } from '../output/progress-notice.ts';

const FORMATS = ['wide', 'json', 'yaml', 'name'] as const;

/** Output format: `wide` has more text; `json` and `yaml` are for programs; `name` prints names only. */
export type InspectionFormat = (typeof FORMATS)[number];

/** Options of a command that inspects; `Format`: what it can print. */
export interface InspectionFlags<Format extends string = InspectionFormat> extends ClusterFlags {
  readonly installNamespace: string;
  readonly output?: Format;
}

/** Adds the flags of {@link InspectionFlags}; `formats` says what each format shows, `more` names those of its own. */
export function withInspectionFlags(command: Command, formats: string, more: readonly string[] = []): Command {
  return withInstallNamespace(withClusterFlags(command)).addOption(
    new Option('-o, --output <format>', formats).choices([...FORMATS, ...more]),
  );
}

/** Prints a text, and no empty line where there is none, as of names. */
export function printLines(text: string): void {
  if (text !== '') console.log(text);
}

/** Gathers the facts, with a progress notice when that takes long. */
export function inspect(flags: InspectionFlags<string>, command: string): Promise<DoctorFacts> {
  return withCluster(flags, command, (cluster, signal) => withProgressNotice(
    'looking at this cluster and its targets', gatherFacts(cluster, flags.installNamespace, signal),
  ));
}
