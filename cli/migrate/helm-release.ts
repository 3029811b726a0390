// A release of Helm as its Secret holds it (base64 of gzip of JSON, in base64 once more for the Secret). `helm uninstall` deletes what the manifest in
// there names, and looks for its annotation `helm.sh/resource-policy` there alone: one that only the stored object has keeps nothing.
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';

/** The annotation by which Helm leaves an object where it is. */
export const RESOURCE_POLICY = 'helm.sh/resource-policy';
/** Its value. */
export const KEEP = 'keep';

/** What of a release is looked at; all other fields stay as they are. */
interface Release {
  readonly manifest: string;
  readonly hooks?: readonly unknown[] | null;
}

/** Reads the value of `data.release` of a release's Secret. Throws where it is none. */
export function readRelease(data: string): Release {
  return JSON.parse(gunzipSync(Buffer.from(Buffer.from(data, 'base64').toString('utf8'), 'base64')).toString('utf8')) as Release;
}

/** What {@link readRelease} reads. */
export function writeRelease(release: object): string {
  return Buffer.from(gzipSync(JSON.stringify(release)).toString('base64'), 'utf8').toString('base64');
}

/** Whether a release holds Admiralty's definitions, or roles of the given names. */
export function holdsAdmiralty(release: Release, roles: readonly string[]): boolean {
  return documentsOf(release).some(({ object }) => isToBeKept(object, roles));
}

/**
 * The release after whose uninstall Admiralty's definitions and these ClusterRoles are there still. Its hooks go: the Job that runs after an
 * uninstall takes finalizers off, also ours.
 */
export function withKeepPolicy(release: Release, roles: readonly string[]): Release {
  const manifest = documentsOf(release).map(({ text, object }) => (isToBeKept(object, roles) ? stringify(kept(object), { lineWidth: 0, aliasDuplicateObjects: false }) : text));
  return { ...release, manifest: manifest.map((text) => `---\n${text.trim()}\n`).join(''), hooks: [] };
}

/** Names of what an uninstall would delete although it must stay. */
export function lacksKeepPolicy(release: Release, roles: readonly string[]): readonly string[] {
  const objects = documentsOf(release).map(({ object }) => object).filter((object) => isToBeKept(object, roles));
  return objects.filter((object) => object?.metadata.annotations?.[RESOURCE_POLICY] !== KEEP).map((object) => `${object?.kind} ${object?.metadata.name}`);
}

interface Document {
  readonly text: string;
  readonly object: KubernetesObject | null;
}

function documentsOf({ manifest }: Release): readonly Document[] {
  return manifest.split(/^---.*\n/m).filter((text) => text.trim() !== '').map((text) => ({ text, object: parse(text) as KubernetesObject | null }));
}

function isToBeKept(object: KubernetesObject | null, roles: readonly string[]): object is KubernetesObject {
  if (object?.kind === 'CustomResourceDefinition') return object.metadata.name?.endsWith(`.${ADMIRALTY_GROUP}`) === true;
  return object?.kind === 'ClusterRole' && roles.includes(object.metadata.name ?? '');
}

function kept(object: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [RESOURCE_POLICY]: KEEP } } };
}
