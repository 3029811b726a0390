// What elected pods need in a target, and what a target rejects by default.
import { securityProblems } from '../../model/pod/pod-security.ts';
import { namedNodes } from '../../model/pod/node-selector.ts';
import { admissionProblem } from '../foreign/admiralty.ts';
import type { Fields } from '../translation/manifest.ts';
import { elected, mapAt } from '../translation/workloads.ts';
import type { LintedPods } from './linted-pods.ts';
import { choosesByOwnConstraints } from './constraint-rules.ts';
import { error, listIn, textIn, warning, type Remark } from './remark.ts';

/** What holds whatever else there is. */
export function podRemarks(pods: LintedPods): readonly Remark[] {
  const problem = admissionProblem({ ...pods.workload, fields: elected(pods.workload, {}) });
  if (problem !== undefined) return [error('', `admission would deny its pods: ${problem}`)];
  return [...securityRemarks(pods), ...namedNodeRemarks(pods), ...claimRemarks(pods), ...needRemarks(pods.spec)];
}

function securityRemarks({ annotations, spec }: LintedPods): readonly Remark[] {
  return securityProblems({ annotations, spec }, 'baseline').map((problem) => warning(
    'spec', `${problem}: a target rejects it, unless it grants this source "privileged" (isthmus peer --pod-security)`,
  ));
}

function namedNodeRemarks(pods: LintedPods): readonly Remark[] {
  if (choosesByOwnConstraints(pods)) return [];
  return [...namedNodes(pods.spec)].map((node) => warning(
    'spec', `it names node ${node}, which targets do not have; select a label that nodes of targets have`,
  ));
}

function claimRemarks({ workload, spec }: LintedPods): readonly Remark[] {
  const claims = listIn(spec, 'volumes').flatMap(
    (volume) => textIn(mapAt(volume, 'persistentVolumeClaim'), 'claimName') ?? [],
  );
  const named = listIn(mapAt(workload.fields, 'spec'), 'volumeClaimTemplates').flatMap((template) => {
    const name = textIn(mapAt(template, 'metadata'), 'name');
    return name === undefined ? [] : [`${name}-${workload.name}-0`];
  });
  return [...claims, ...named].map((claim) => warning(
    'spec.volumes',
    `claim ${claim} does not follow its pod, nor does its data: create a claim of that name in a target, which then ` +
      'gets the pod',
  ));
}

const NEEDS: readonly (readonly [field: string, kind: string, own: RegExp])[] = [
  ['serviceAccountName', 'ServiceAccount', /^default$/], ['priorityClassName', 'PriorityClass', /^system-/],
  ['runtimeClassName', 'RuntimeClass', /^$/], ['serviceAccount', 'ServiceAccount', /^default$/],
];
/** Deprecated fields, which API servers read where the other one is missing. */
const SUPERSEDED: ReadonlyMap<string, string> = new Map([['serviceAccount', 'serviceAccountName']]);

/** Objects that do not follow. */
function needRemarks(spec: Fields): readonly Remark[] {
  const named = NEEDS.flatMap(([field, kind, own]) => {
    const name = textIn(spec, field);
    const isSuperseded = textIn(spec, SUPERSEDED.get(field) ?? '') !== undefined;
    if (name === undefined || own.test(name) || isSuperseded) return [];
    const what = `${kind} ${name} does not follow: create it in each target, which otherwise rejects the pod`;
    return [warning(`spec.${field}`, what)];
  });
  const claimed = listIn(spec, 'resourceClaims').flatMap((claim) => {
    const [template, name] = [textIn(claim, 'resourceClaimTemplateName'), textIn(claim, 'resourceClaimName')];
    const what = template === undefined ? `ResourceClaim ${name ?? ''}` : `ResourceClaimTemplate ${template}`;
    const message = `${what} does not follow: create it in each target, which otherwise never schedules the pod`;
    return [warning('spec.resourceClaims', message)];
  });
  return [...named, ...claimed];
}
