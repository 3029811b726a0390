// A Helm release as stored in its Secret (base64 of gzip of JSON, base64-encoded again by the Secret). `helm uninstall`
// deletes the objects of the stored manifest, and honours `helm.sh/resource-policy` only there: the annotation on the
// live object alone protects nothing.
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';

/** Annotation that makes Helm keep an object on uninstall. */
export const RESOURCE_POLICY = 'helm.sh/resource-policy';
/** Its value. */
export const KEEP = 'keep';

/** The fields used here; all others stay unchanged. */
interface Release {
  readonly manifest: string;
  readonly hooks?: readonly unknown[] | null;
}

/** Decodes `data.release` of a release's Secret. Throws when it is malformed. */
export function readRelease(data: string): Release {
  return JSON.parse(
    gunzipSync(Buffer.from(Buffer.from(data, 'base64').toString('utf8'), 'base64')).toString('utf8'),
  ) as Release;
}

/** Encodes what {@link readRelease} decodes. */
export function writeRelease(release: object): string {
  return Buffer.from(gzipSync(JSON.stringify(release)).toString('base64'), 'utf8').toString('base64');
}

/** Whether a release holds Admiralty's CRDs, or roles of the given names. */
export function holdsAdmiralty(release: Release, roles: readonly string[]): boolean {
  return documentsOf(release).some(({ object }) => isToBeKept(object, roles));
}

/**
 * The release with a keep policy on Admiralty's CRDs and these ClusterRoles. Its hooks are removed: its post-delete Job
 * removes finalizers, including ours.
 */
export function withKeepPolicy(release: Release, roles: readonly string[]): Release {
  const manifest = documentsOf(release).map(({ text, object }) => (
    isToBeKept(object, roles) ? stringify(kept(object), { lineWidth: 0, aliasDuplicateObjects: false }) : text
  ));
  return { ...release, manifest: manifest.map((text) => `---\n${text.trim()}\n`).join(''), hooks: [] };
}

/** Objects that must stay but would be deleted by an uninstall. */
export function lacksKeepPolicy(release: Release, roles: readonly string[]): readonly string[] {
  const objects = documentsOf(release).map(({ object }) => object).filter((object) => isToBeKept(object, roles));
  return objects.filter((object) => object?.metadata.annotations?.[RESOURCE_POLICY] !== KEEP)
    .map((object) => `${object?.kind} ${object?.metadata.name}`);
}

interface Document {
  readonly text: string;
  readonly object: KubernetesObject | null;
}

function documentsOf({ manifest }: Release): readonly Document[] {
  return manifest.split(/^---.*\n/m).filter((text) => text.trim() !== '').map(
    (text) => ({ text, object: parse(text) as KubernetesObject | null }),
  );
}

function isToBeKept(object: KubernetesObject | null, roles: readonly string[]): object is KubernetesObject {
  if (object?.kind === 'CustomResourceDefinition') {
    return object.metadata.name?.endsWith(`.${ADMIRALTY_GROUP}`) === true;
  }
  return object?.kind === 'ClusterRole' && roles.includes(object.metadata.name ?? '');
}

function kept(object: KubernetesObject): KubernetesObject {
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [RESOURCE_POLICY]: KEEP } },
  };
}
