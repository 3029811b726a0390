// Builds the krew manifest of the kubectl plugin (krew.sigs.k8s.io/docs/developer-guide/plugin-manifest) from its
// template and a release.
import { parseDocument } from 'yaml';

/** What a release adds to the template. */
export interface PluginRelease {
  /** As in package.json, without the `v` that krew requires. */
  readonly version: string;
  /** Where the archive will be. */
  readonly uri: string;
  /** SHA-256 sum of the archive, 64 hexadecimal digits. */
  readonly sha256: string;
}

/** Name of the archive of a version. */
export function archiveName(version: string): string {
  return `isthmus-v${version}.tar.gz`;
}

/** The template with the release in it: version, and address and sum of the archive for each platform. */
export function krewManifest(template: string, { version, uri, sha256 }: PluginRelease): string {
  const manifest = parseDocument(template);
  manifest.commentBefore = null;
  manifest.setIn(['spec', 'version'], `v${version}`);
  const { spec } = manifest.toJS() as { readonly spec: { readonly platforms: readonly unknown[] } };
  for (const index of spec.platforms.keys()) {
    manifest.setIn(['spec', 'platforms', index, 'uri'], uri);
    manifest.setIn(['spec', 'platforms', index, 'sha256'], sha256);
  }
  return manifest.toString({ lineWidth: 0 });
}
