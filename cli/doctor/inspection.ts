// What `isthmus doctor` and `isthmus status` have in common: they look at all there is of one cluster and its targets, and print what they make of it.
import { Option, type Command } from 'commander';
import { stringify } from 'yaml';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import type { DoctorFacts } from '../checks/doctor-facts.ts';
import { gatherFacts } from './doctor-gather.ts';
import { withProgressNotice } from '../output/progress-notice.ts';

const FORMATS = ['wide', 'json', 'yaml', 'name'] as const;

/** How it is printed: `wide` for people, with more; `json` and `yaml` for programs; `name` by names only. */
export type InspectionFormat = (typeof FORMATS)[number];

/** What a command that inspects is told. */
export interface InspectionFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly output?: InspectionFormat;
}

/** Adds the flags of {@link InspectionFlags}; `formats` says what each format shows. */
export function withInspectionFlags(command: Command, formats: string): Command {
  return withInstallNamespace(withClusterFlags(command)).addOption(new Option('-o, --output <format>', formats).choices(FORMATS));
}

/** Gathers everything, and says so when that takes long. */
export function inspect(flags: InspectionFlags, command: string): Promise<DoctorFacts> {
  return withCluster(flags, command, (cluster, signal) => withProgressNotice('looking at this cluster and its targets', gatherFacts(cluster, flags.installNamespace, signal)));
}

/** A value for programs; undefined where the format is for people. */
export function structured(value: unknown, output: InspectionFormat | undefined): string | undefined {
  if (output === 'json') return JSON.stringify(value, undefined, 2);
  return output === 'yaml' ? stringify(value, { lineWidth: 0 }).trimEnd() : undefined;
}
