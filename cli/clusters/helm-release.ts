// A Helm release as it is stored: base64 of gzip of JSON, in a Secret, which encodes it again, or in a ConfigMap
// (HELM_DRIVER=configmap). `helm uninstall` deletes the objects of the stored manifest, and honours
// `helm.sh/resource-policy` only there: the annotation on the live object alone protects nothing.
import { gunzipSync, gzipSync } from 'node:zlib';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import { CONFIG_MAPS, SECRETS } from '../../api/resource-types.ts';

/** Annotation that makes Helm keep an object on uninstall. */
export const RESOURCE_POLICY = 'helm.sh/resource-policy';
/** Its value. */
export const KEEP = 'keep';

/** The fields used here; all others stay unchanged. */
interface Release {
  readonly manifest: string;
  readonly hooks?: readonly unknown[] | null;
}

/** Kinds of objects that releases are stored in. */
export const RELEASE_STORES = [SECRETS, CONFIG_MAPS] as const;
/** One of them. */
export type ReleaseStore = (typeof RELEASE_STORES)[number];

/** Decodes `data.release`; undefined where it is malformed: Helm does not know such a release either. */
export function readRelease(data: string, store: ReleaseStore = SECRETS): Release | undefined {
  const text = store === SECRETS ? Buffer.from(data, 'base64').toString('utf8') : data;
  try {
    const release = JSON.parse(gunzipSync(Buffer.from(text, 'base64')).toString('utf8')) as Partial<Release>;
    return { ...release, manifest: release.manifest ?? '' };
  } catch {
    return undefined;
  }
}

/** Encodes what {@link readRelease} decodes. */
export function writeRelease(release: object, store: ReleaseStore = SECRETS): string {
  const text = gzipSync(JSON.stringify(release)).toString('base64');
  return store === SECRETS ? Buffer.from(text, 'utf8').toString('base64') : text;
}

/** Whether a release holds Admiralty's CRDs, or roles of the given names. */
export function holdsAdmiralty(release: Release, roles: readonly string[]): boolean {
  return documentsOf(release, roles).some(({ object }) => isToBeKept(object, roles));
}

/**
 * The release with a keep policy on Admiralty's CRDs and these ClusterRoles. Its hooks are removed: its post-delete Job
 * removes finalizers, including ours.
 */
export function withKeepPolicy(release: Release, roles: readonly string[]): Release {
  const manifest = documentsOf(release, roles).map(({ text, object }) => (
    isToBeKept(object, roles) ? stringify(kept(object), { lineWidth: 0, aliasDuplicateObjects: false }) : text
  ));
  return { ...release, manifest: manifest.map((text) => `---\n${text.trim()}\n`).join(''), hooks: [] };
}

/** Objects that must stay but would be deleted by an uninstall. */
export function lacksKeepPolicy(release: Release, roles: readonly string[]): readonly string[] {
  const objects = documentsOf(release, roles).map(({ object }) => object).filter((object) => isToBeKept(object, roles));
  return objects.filter((object) => object?.metadata.annotations?.[RESOURCE_POLICY] !== KEEP)
    .map((object) => `${object?.kind} ${object?.metadata.name}`);
}

interface Document {
  readonly text: string;
  readonly object: KubernetesObject | null;
}

/** Only what may have to be kept is parsed: Helm reads more than YAML allows, such as the same key twice. */
function documentsOf({ manifest }: Release, roles: readonly string[]): readonly Document[] {
  const names = [ADMIRALTY_GROUP, ...roles];
  const mayBeKept = (text: string): boolean =>
    /CustomResourceDefinition|ClusterRole/.test(text) && names.some((name) => text.includes(name));
  return manifest.split(/^---.*\n/m).filter((text) => text.trim() !== '').map((text) => ({
    text, object: mayBeKept(text) ? parse(text, { uniqueKeys: false }) as KubernetesObject | null : null,
  }));
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
