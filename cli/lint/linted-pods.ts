// The pods that a workload makes, and whether they are elected: by their annotation, or by their namespace where its
// Namespace is among the manifests.
import { ELECTING_LABELS } from '../../api/admission-rules.ts';
import {
  ELECTION_LABELS, LABEL_ELECTS_NOTHING, meaninglessLabel, misplacedElection, neverElected, notOptedIn,
} from '../../api/election-hints.ts';
import type { StringMap } from '../../api/objects/core.ts';
import {
  ADMIRALTY_PREFIX,
  DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, NOT_ELECTED,
} from '../../api/objects/keys.ts';
import { neverElectedNamespaces } from '../../model/access/system-namespaces.ts';
import { declinesElection, isElected } from '../../model/pod/pod.ts';
import { USER_POD_ANNOTATIONS } from '../../model/pod/pod-annotations.ts';
import type { Fields, Manifest } from '../translation/manifest.ts';
import { mapAt, templateOf, workloadKind } from '../translation/workloads.ts';
import { error, textsIn, warning, type Remark } from './remark.ts';

/** The pods of a workload. */
export interface LintedPods {
  readonly workload: Manifest;
  readonly namespace: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly spec: Fields;
  /** Whether they go to targets; `annotation`: they say so themselves. */
  readonly elected: 'annotation' | 'namespace' | undefined;
}

/** Labels of the Namespaces among the manifests. */
export type Namespaces = ReadonlyMap<string, StringMap>;

const NEVER_ELECTED: ReadonlySet<string> = new Set(neverElectedNamespaces(DEFAULT_INSTALL_NAMESPACE));

/** Labels of the Namespaces among the manifests, by name. */
export function namespacesIn(objects: readonly Manifest[]): Namespaces {
  return new Map(objects.filter(isNamespace).map(({ name, fields }) => [name, labelsOf(fields)]));
}

function isNamespace({ group, kind }: Manifest): boolean {
  return group === '' && kind === 'Namespace';
}

function labelsOf(fields: Fields): StringMap {
  return textsIn(mapAt(mapAt(fields, 'metadata'), 'labels'));
}

/** The pods of an object; undefined where it makes none. */
export function lintedPods(workload: Manifest, namespaces: Namespaces, fallback: string): LintedPods | undefined {
  if (workloadKind(workload) === undefined) return undefined;
  const template = templateOf(workload);
  const annotations = textsIn(mapAt(mapAt(template, 'metadata'), 'annotations'));
  const { namespace = fallback } = workload;
  const pod = { metadata: { annotations } };
  const elected = NEVER_ELECTED.has(namespace) || declinesElection(pod) ? undefined
    : isElected(pod) ? 'annotation' as const
    : workload.kind !== 'DaemonSet' && electsAll(namespaces.get(namespace)) ? 'namespace' as const : undefined;
  return { workload, namespace, labels: labelsOf(template), annotations, spec: mapAt(template, 'spec'), elected };
}

function electsAll(labels: StringMap = {}): boolean {
  return Object.values(ELECTING_LABELS).some(([key, value]) => labels[key] === value);
}

/** Elections of a workload that have no effect. */
export function electionRemarks(
  { workload, namespace, labels, annotations, elected }: LintedPods, namespaces: Namespaces,
): readonly Remark[] {
  const own = textsIn(mapAt(mapAt(workload.fields, 'metadata'), 'annotations'));
  const isMentioned = Object.hasOwn(annotations, ELECT_ANNOTATION);
  if (isMentioned && annotations[ELECT_ANNOTATION] === NOT_ELECTED) {
    return [warning(
      ELECT_ANNOTATION,
      `"${NOT_ELECTED}" does not elect, although it does in Admiralty; to elect, leave the value empty`,
    )];
  }
  if (isMentioned && NEVER_ELECTED.has(namespace)) return [error(ELECT_ANNOTATION, neverElected(namespace))];
  const known = namespaces.get(namespace);
  const isOptedIn = known === undefined || electsAll(known)
    || known[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE;
  if (elected !== undefined) return isOptedIn ? [] : [error(ELECT_ANNOTATION, notOptedIn(namespace))];
  return [
    ...(Object.hasOwn(own, ELECT_ANNOTATION) ? [error('metadata.annotations', misplacedElection(workload.kind))] : []),
    ...(Object.hasOwn(labels, ELECT_ANNOTATION) ? [error('metadata.labels', LABEL_ELECTS_NOTHING)] : []),
    ...[...Object.keys(annotations), ...Object.keys(own)].flatMap(misspelt),
  ];
}

/** A key that was meant to elect. Pods that are elected have theirs checked by admission. */
function misspelt(key: string): readonly Remark[] {
  if (USER_POD_ANNOTATIONS.has(key)) return [];
  const isMeant = key.startsWith(ADMIRALTY_PREFIX) || isAlmost(key, ELECT_ANNOTATION);
  return isMeant ? [error(key, `no annotation of pods has this name; did you mean ${ELECT_ANNOTATION}?`)] : [];
}

const MOST_TYPOS = 3;

/** Whether so few characters were added, left out or replaced. */
function isAlmost(text: string, wanted: string): boolean {
  if (Math.abs(text.length - wanted.length) > MOST_TYPOS) return false;
  let row = Array.from({ length: wanted.length + 1 }, (_, index) => index);
  for (let index = 0; index < text.length; index += 1) {
    const next = [index + 1];
    for (let at = 0; at < wanted.length; at += 1) {
      const replaced = (row[at] ?? 0) + (text[index] === wanted[at] ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? Infinity) <= MOST_TYPOS;
}

/** Labels of a Namespace that have no effect. */
export function namespaceRemarks(object: Manifest): readonly Remark[] {
  if (!isNamespace(object)) return [];
  const labels = labelsOf(object.fields);
  return ELECTION_LABELS.flatMap((label) => {
    const given = labels[label.key];
    const isMeaningless = given !== undefined && given !== label.value && !label.refusals.includes(given);
    return isMeaningless ? [error('metadata.labels', meaninglessLabel(label, given))] : [];
  });
}
