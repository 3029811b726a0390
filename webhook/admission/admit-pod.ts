// Step 1 of a pod's way: is this pod elected, and may it be? The answer is the patch that makes it a proxy pod.
// Idempotent: a proxy pod comes out as it went in. What a user writes into an admission record is read like anything else that a user
// writes into a pod: it can ask for nothing that the user could not ask for without it.
import type { Pod } from '../../api/objects/core.ts';
import { hasAdmissionRecord, restoreSourcePod, writeAdmissionRecord } from '../../model/proxy/admission-record.ts';
import { isElected } from '../../model/pod/pod.ts';
import { deny, type Admission, type AdmissionContext, type Denial } from '../review/admission-answer.ts';
import { checkElection, checkFirstAdmission } from './election-checks.ts';
import { withoutInjectedSidecars } from '../proxy/injected-sidecars.ts';
import { diffJson } from '../review/json-patch.ts';
import { storedManifest } from '../proxy/manifest-annotation.ts';
import { proxyPatch } from '../proxy/proxy-patch.ts';
import { proxyFieldsOf, toProxyPod } from '../proxy/make-proxy-pod.ts';
import { constraintsOf } from '../proxy/scheduling-constraints.ts';

type SourcePod = { readonly kind: 'pod'; readonly pod: Pod } | Denial;

/** Decides about a pod as the API server sent it. */
export function admitPod(pod: Pod, { writesManifest = false }: AdmissionContext = {}): Admission {
  if (!isElected(pod)) return { kind: 'pass' };
  const denial = checkElection(pod);
  if (denial !== undefined) return denial;
  const clean = withoutInjectedSidecars(pod);
  const source = sourcePodOf(clean);
  if (source.kind === 'deny') return source;
  const constraints = constraintsOf(source.pod);
  if (constraints.kind === 'deny') return constraints;
  const manifest = writesManifest ? storedManifest(clean, source.pod) : undefined;
  const fields = proxyFieldsOf(source.pod, { record: writeAdmissionRecord(source.pod), manifest: manifest?.text, constraints });
  const patch = clean === pod ? proxyPatch(pod, fields) : diffJson({ ...pod }, { ...toProxyPod(clean, fields) });
  return { kind: 'mutate', patch, warnings: [...constraints.warnings, ...(manifest?.warnings ?? [])] };
}

/** What the user made: the pod itself, or, where it is a proxy pod already, the one that its record tells of. */
function sourcePodOf(pod: Pod): SourcePod {
  if (!hasAdmissionRecord(pod.metadata)) return checkFirstAdmission(pod) ?? { kind: 'pod', pod };
  const restored = restoreSourcePod(pod);
  return restored.kind === 'restored' ? { kind: 'pod', pod: restored.pod } : deny('BadAdmissionRecord', restored.message);
}
