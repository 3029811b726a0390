// Admiralty: its kinds and keys are those of Isthmus. Says what changes all the same.
import { ELECT_ANNOTATION, NO_RESERVATION_ANNOTATION, NOT_ELECTED } from '../../api/objects/keys.ts';
import type { Pod } from '../../api/objects/core.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { admitPod } from '../../webhook/admission/admit-pod.ts';
import { titleOf, type Conversion, type Fields, type Manifest } from '../translation/manifest.ts';
import { Report } from '../translation/report.ts';
import { mapAt, templateOf, withTemplate, workloadKind } from '../translation/workloads.ts';

const KEPT: ReadonlySet<string> = new Set(['ClusterTarget', 'Target', 'ClusterSource', 'Source']);
/** Kinds that components write. */
const WRITTEN: ReadonlySet<string> = new Set(['PodChaperon', 'ClusterSummary']);

/** Converts an object of Admiralty's group. */
export function convertAdmiralty(object: Manifest): Conversion {
  const report = new Report(titleOf(object));
  const { kind } = object;
  if (WRITTEN.has(kind)) {
    report.note('', 'components write it; it is not applied, and not printed');
    return { objects: [], findings: report.findings };
  }
  if (!KEPT.has(kind)) {
    report.lost('', 'Admiralty 0.17 does not have this kind, and neither does Isthmus');
    return { objects: [], findings: report.findings };
  }
  const secret = mapAt(mapAt(object.fields, 'spec'), 'kubeconfigSecret');
  if (kind === 'ClusterTarget' && Object.keys(secret).length > 0 && secret['namespace'] === undefined) {
    report.note('spec.kubeconfigSecret.namespace', 'it is missing: the Secret is the one in the install namespace');
  }
  const { status: _status, ...fields } = object.fields;
  return { objects: [fields], findings: report.findings };
}

/**
 * Looks at a workload whose template elects its pods. Admiralty elects whatever the annotation's value, and `false`
 * does not elect here.
 */
export function convertElected(workload: Manifest): Conversion {
  const report = new Report(titleOf(workload));
  const annotations = annotationsOf(templateOf(workload));
  if (Object.hasOwn(annotations, NO_RESERVATION_ANNOTATION)) {
    report.note(NO_RESERVATION_ANNOTATION, 'it has no effect: a pod has one delegate and no reservation anyway');
  }
  if (annotations[ELECT_ANNOTATION] !== NOT_ELECTED) return { objects: [workload.fields], findings: report.findings };
  report.note(
    ELECT_ANNOTATION, 'Admiralty elects with any value, and "false" does not elect here; the value is emptied',
  );
  const object = withTemplate(workload, (template) => ({
    ...template,
    metadata: {
      ...mapAt(template, 'metadata'), annotations: { ...annotations, [ELECT_ANNOTATION]: '' },
    },
  }));
  return { objects: [object], findings: report.findings };
}

/** Whether the template of a workload has the annotation that elects. */
export function hasElection(manifest: Manifest): boolean {
  return workloadKind(manifest) !== undefined && Object.hasOwn(annotationsOf(templateOf(manifest)), ELECT_ANNOTATION);
}

/** Why admission would deny the pods of an elected workload. */
export function admissionProblem(workload: Manifest): string | undefined {
  const template = templateOf(workload);
  const { kind, namespace = 'default', name } = workload;
  if (!isRecord(template['spec'])) return 'it has no pod template with a spec';
  const owner = kind === 'Pod' ? {} : {
    ownerReferences: [{ apiVersion: workload.version, kind, name, uid: 'converted', controller: true }],
  };
  const metadata = { ...mapAt(template, 'metadata'), ...owner, namespace, name };
  try {
    const answer = admitPod({ metadata, spec: template['spec'] } as unknown as Pod);
    return answer.kind === 'deny' ? `${answer.reason}: ${answer.message}` : undefined;
  } catch {
    return 'its pod template is not that of a pod';
  }
}

function annotationsOf(template: Fields): Fields {
  return mapAt(mapAt(template, 'metadata'), 'annotations');
}
