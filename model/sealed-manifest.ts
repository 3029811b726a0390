// A source manifest with its signature, as a proxy pod carries both. The webhook seals; webhook and scheduler open (design D10, docs/adr/0003).
// Nothing of a manifest is looked at before its signature was found to be the webhook's, over this text and for this pod.
import type { ObjectMeta, Pod } from '../api/core.ts';
import { SOURCE_MANIFEST_ANNOTATION, SOURCE_SIGNATURE_ANNOTATION } from '../api/keys.ts';
import { digestOfText, signClaims, verifyClaims, type ManifestClaims, type SigningKeys } from './manifest-signature.ts';
import { controllerOf } from './pod.ts';
import { restoreSourcePod } from './source-manifest.ts';

/** The API server cuts a longer `generateName` to this before it appends its characters (apiserver `names.SimpleNameGenerator`). */
const MAX_GENERATED_PREFIX = 58;

/** A manifest as a proxy pod carries it. */
export interface SealedManifest {
  readonly manifest: string;
  readonly signature: string;
}

/** The pod that carries a manifest; `name` is empty before the API server has made one up. */
export interface ManifestHolder {
  readonly namespace: string;
  readonly name: string;
  readonly generateName: string;
  /** UID of the controlling owner; empty when there is none. */
  readonly owner: string;
}

/** A restored source pod with the claims of its signature, or why the annotation cannot be used. */
export type OpenedManifest =
  | { readonly kind: 'restored'; readonly pod: Pod; readonly claims: ManifestClaims }
  | { readonly kind: 'invalid'; readonly message: string };

/** Who holds a manifest. `namespace` is the request's during admission, where the pod's own may be missing. */
export function holderOf(metadata: ObjectMeta, namespace = metadata.namespace ?? ''): ManifestHolder {
  return { namespace, name: metadata.name ?? '', generateName: metadata.generateName ?? '', owner: controllerOf(metadata)?.uid ?? '' };
}

/** The manifest that a pod carries, verified or not; undefined when it has neither part. */
export function sealedManifestOf({ annotations = {} }: ObjectMeta): SealedManifest | undefined {
  const manifest = annotations[SOURCE_MANIFEST_ANNOTATION];
  const signature = annotations[SOURCE_SIGNATURE_ANNOTATION];
  return manifest === undefined && signature === undefined ? undefined : { manifest: manifest ?? '', signature: signature ?? '' };
}

/** Signs a manifest for the pod that will hold it and the user who creates that. */
export function sealSourceManifest(manifest: string, holder: ManifestHolder, user: string, keys: SigningKeys): SealedManifest {
  return { manifest, signature: signClaims({ manifest: digestOfText(manifest), ...holder, user: digestOfText(user) }, keys.signer) };
}

/** The source pod from what `holder` carries, if the webhook signed just that for this pod. */
export function openSourceManifest(sealed: SealedManifest, holder: ManifestHolder, keys: SigningKeys): OpenedManifest {
  const verified = verifyClaims(sealed.signature, keys);
  if (verified.kind === 'refused') return invalid(`cannot be trusted: ${SOURCE_SIGNATURE_ANNOTATION} says nothing about it, for ${verified.why}`);
  const { claims } = verified;
  if (claims.manifest !== digestOfText(sealed.manifest)) return invalid('was changed after the webhook wrote it');
  const mismatch = mismatchOf(claims, holder);
  if (mismatch !== undefined) return invalid(`was written for another pod, ${mismatch}`);
  const restored = restoreSourcePod(sealed.manifest);
  return restored.kind === 'invalid' ? restored : { kind: 'restored', pod: restored.pod, claims };
}

/** How the pod that was signed for differs from the one at hand. An owner may leave or adopt a pod later, but not be exchanged. */
function mismatchOf(claims: ManifestClaims, holder: ManifestHolder): string | undefined {
  if (claims.namespace !== holder.namespace) return `in namespace ${claims.namespace}`;
  if (claims.name !== '' && claims.name !== holder.name) return `named ${claims.name}`;
  if (claims.name === '' && !isGeneratedFrom(claims.generateName, holder)) return `with a name generated from ${claims.generateName}`;
  if (claims.owner !== '' && holder.owner !== '' && claims.owner !== holder.owner) return `controlled by the owner with UID ${claims.owner}`;
  return undefined;
}

function isGeneratedFrom(generateName: string, holder: ManifestHolder): boolean {
  return holder.generateName === generateName && (holder.name === '' || holder.name.startsWith(generateName.slice(0, MAX_GENERATED_PREFIX)));
}

function invalid(what: string): OpenedManifest {
  return { kind: 'invalid', message: `annotation ${SOURCE_MANIFEST_ANNOTATION} ${what}; delete the pod, and create it again without the annotations that Isthmus wrote` };
}
