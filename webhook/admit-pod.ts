// Step 1 of a pod's way: is this pod elected, and may it be? Its answer is the proxy pod (design D10, D11; contract §2.1).
// Idempotent: a proxy pod that carries a manifest of ours is brought into the same form again, and its manifest stays.
import { SOURCE_MANIFEST_ANNOTATION } from '../api/keys.ts';
import type { Pod } from '../api/core.ts';
import { digestOfText } from '../model/manifest-signature.ts';
import { isElected } from '../model/pod.ts';
import { holderOf, openSourceManifest, sealedManifestOf, sealSourceManifest, type SealedManifest } from '../model/sealed-manifest.ts';
import { saveSourceManifest } from '../model/source-manifest.ts';
import { deny, type Admission, type AdmissionContext, type Denial } from './admission.ts';
import { checkElection, checkScheduler } from './election-checks.ts';
import { diffJson } from './json-patch.ts';
import { fitManifest } from './manifest-room.ts';
import { withoutInjectedSidecars } from './injected-sidecars.ts';
import { proxyPatch } from './proxy-patch.ts';
import { proxyFieldsOf, toProxyPod } from './proxy-pod.ts';
import { constraintsOf, type ConstraintsOfPod } from './scheduling-constraints.ts';

/** Decides about a pod as the API server sent it. */
export function admitPod(pod: Pod, context: AdmissionContext): Admission {
  if (!isElected(pod)) return { kind: 'pass' };
  const denial = checkElection(pod);
  if (denial !== undefined) return denial;
  const carried = sealedManifestOf(pod.metadata);
  return carried === undefined ? electPod(pod, context) : admitAgain(pod, carried, context);
}

/** The first time: what the user made becomes the manifest, without what other webhooks put in for this cluster. */
function electPod(pod: Pod, context: AdmissionContext): Admission {
  const denial = checkScheduler(pod);
  if (denial !== undefined) return denial;
  const sourcePod = withoutInjectedSidecars(pod);
  const constraints = constraintsOf(sourcePod);
  if (constraints.kind === 'deny') return constraints;
  const manifest = fitManifest(sourcePod, (sourcePod === pod ? context.text : undefined) ?? saveSourceManifest(sourcePod));
  if (manifest.kind === 'deny') return manifest;
  const sealed = sealSourceManifest(manifest.text, holderOf(pod.metadata, context.namespace), context.user, context.keys);
  return toProxy(pod, sourcePod, sealed, constraints);
}

/** Again: the API server calls us once more after other webhooks, or a user hands in a copy of a proxy pod. */
function admitAgain(pod: Pod, sealed: SealedManifest, context: AdmissionContext): Admission {
  const opened = openSourceManifest(sealed, holderOf(pod.metadata, context.namespace), context.keys);
  if (opened.kind === 'invalid') return deny('ForgedManifest', opened.message);
  if (opened.claims.user !== digestOfText(context.user)) return copied();
  const constraints = constraintsOf(opened.pod);
  if (constraints.kind === 'deny') return constraints;
  return toProxy(pod, withoutInjectedSidecars(pod), sealed, constraints);
}

/** The patch from the pod as it came to the proxy of `sourcePod`, which is the same pod unless sidecars were taken out of it. */
function toProxy(pod: Pod, sourcePod: Pod, sealed: SealedManifest, constraints: ConstraintsOfPod): Admission {
  const patch = sourcePod === pod
    ? proxyPatch(pod, proxyFieldsOf(pod, sealed, constraints))
    : diffJson({ ...pod }, { ...toProxyPod(sourcePod, sealed, constraints) });
  return { kind: 'mutate', patch, warnings: constraints.warnings };
}

/** Whoever may create a pod here must not run what somebody else was allowed to. */
function copied(): Denial {
  return deny('ForgedManifest', `annotation ${SOURCE_MANIFEST_ANNOTATION} was written for a pod of another user; create the pod without the annotations that Isthmus wrote`);
}
