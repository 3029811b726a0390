// The files of the Headlamp plugin in a release: its package, which Headlamp unpacks into its folder of plugins, and
// the metadata by which a catalogue of Artifact Hub finds it (artifacthub.io/docs/topics/annotations/headlamp).
import { parseDocument } from 'yaml';
import { oneScript } from './one-script.ts';

/** Name of the plugin, of its folder in the archive, and the beginning of the archive's name. */
export const HEADLAMP_PLUGIN = 'isthmus';
/** The module that the script runs, below the folder of compiled files. */
const ENTRY = 'dashboard/headlamp/main.js';
/** Headlamp reads here which interface a plugin was made for. It is not installed: the plugin does not import it. */
const INTERFACE = { '@kinvolk/headlamp-plugin': '^0.14.0' };
/** The oldest that the plugin was run with (ADR 0120). */
const HEADLAMP_VERSIONS = '>=0.45.0';

/** Name of the archive of a version. */
export function headlampArchiveName(version: string): string {
  return `${HEADLAMP_PLUGIN}-headlamp-${version}.tar.gz`;
}

/** The script that Headlamp runs. `read` gives the text of a compiled module by its path. */
export function headlampScript(version: string, read: (path: string) => string): string {
  return `// Isthmus ${version} for Headlamp. Apache License 2.0.\n${oneScript(ENTRY, read)}`;
}

/** package.json beside the script. */
export function headlampPackage(version: string): string {
  return `${JSON.stringify({
    name: HEADLAMP_PLUGIN, version, description: 'Where elected pods run and why: targets, delegates, decisions.',
    license: 'Apache-2.0', main: 'main.js', keywords: ['headlamp', 'headlamp-plugin', 'kubernetes', 'multi-cluster'],
    engines: { headlamp: HEADLAMP_VERSIONS }, devDependencies: INTERFACE,
  }, undefined, 2)}\n`;
}

/** What a release adds to the template of the catalogue's file. */
export interface HeadlampRelease {
  readonly version: string;
  /** Where the archive will be. Headlamp's catalogue installs from GitHub, GitLab and Bitbucket alone. */
  readonly url: string;
  /** SHA-256 sum of the archive, 64 hexadecimal digits. */
  readonly sha256: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** The template with the release in it. */
export function artifactHubPackage(template: string, { version, url, sha256, createdAt }: HeadlampRelease): string {
  const file = parseDocument(template);
  file.commentBefore = null;
  file.set('version', version);
  file.set('createdAt', createdAt);
  file.setIn(['annotations', 'headlamp/plugin/archive-url'], url);
  file.setIn(['annotations', 'headlamp/plugin/archive-checksum'], `SHA256:${sha256}`);
  file.setIn(['annotations', 'headlamp/plugin/version-compat'], HEADLAMP_VERSIONS);
  return file.toString({ lineWidth: 0 });
}
