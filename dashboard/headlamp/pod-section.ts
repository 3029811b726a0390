// The section on a pod's page: its target, its delegate, its stages, and the decision that was recorded.
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { RecordedDecision } from '../wire/placement-rows.ts';
import type { UnreadablePart, Stage, StageState } from '../wire/screens.ts';
import type { Elements, Tone } from './elements.ts';
import { unreadableOf } from './listings.ts';
import { isDelegateOf, podFacts, STATE_TEXTS, type PodFacts } from './pod-facts.ts';
import type { Child, Component, HeadlampObject, PluginLib } from './plugin-lib.ts';

const TITLE = 'Isthmus';
const TONES: Readonly<Record<StageState, Tone>> = { done: 'success', now: '', failed: 'error', unknown: '', later: '' };
const MISSED = 'This pod is elected, and it is not a proxy pod: it is not sent to a target. Its namespace has not ' +
  'opted in, or it was created while admission did not run. "isthmus doctor" checks both.';
const BROKEN_RECORD = 'The decision that was recorded on this pod cannot be read: its annotation has been changed.';

/** What the sections of a pod are given. */
interface PodProps {
  readonly pod: HeadlampObject;
}

/** A proxy pod, with the clusters in which its delegate is looked up. */
interface SearchedPod extends PodProps {
  readonly others: readonly string[];
}

/** What is known of a delegate in other clusters of Headlamp. */
interface FoundDelegate {
  readonly delegate?: HeadlampObject | undefined;
  readonly unreadable: readonly UnreadablePart[];
}

/** The section, which is empty for pods that Isthmus has nothing to do with. */
export function podSection(lib: PluginLib, elements: Elements): Component<PodProps> {
  const { component, section, text } = elements;
  const searching = withDelegate(lib, elements);
  return function PodSection({ pod }) {
    const selected = lib.K8s.useSelectedClusters();
    const facts = podFacts(pod.jsonData as Pod);
    switch (facts.kind) {
      case 'other': return null;
      case 'missed': return section(TITLE, text(MISSED));
      case 'delegate': return section(TITLE, elements.facts([['Delegate of', `${facts.source}, in its source`]]));
      case 'proxy': {
        const others = selected.filter((cluster) => cluster !== pod.cluster);
        return others.length > 0 && facts.node !== undefined ? component(searching, { pod, others })
          : proxyContent(elements, pod, facts, { unreadable: [] });
      }
    }
  };
}

/** The delegate is looked up where the viewer has selected other clusters beside this one, and only there. */
function withDelegate({ K8s }: PluginLib, elements: Elements): Component<SearchedPod> {
  return function ProxyPodSection({ pod, others }) {
    const { metadata } = pod.jsonData;
    const listing = K8s.ResourceClasses.Pod.useList({
      clusters: others, namespace: [metadata.namespace ?? ''],
      labelSelector: `${PARENT_UID_LABEL}=${metadata.uid ?? ''}`,
    });
    const delegate = (listing.items ?? []).find((one) => isDelegateOf(one.jsonData as Pod, pod.jsonData as Pod));
    const facts = podFacts(pod.jsonData as Pod, delegate?.jsonData as Pod | undefined);
    return facts.kind === 'proxy'
      ? proxyContent(elements, pod, facts, { delegate, unreadable: unreadableOf('pods', listing) }) : null;
  };
}

function proxyContent(
  elements: Elements, { cluster, jsonData }: HeadlampObject, facts: Extract<PodFacts, { readonly kind: 'proxy' }>,
  { delegate, unreadable }: FoundDelegate,
): Child {
  const { link, section, notices, text, facts: list } = elements;
  const { target, node, delegate: name, waits, stages, decision, isRecordBroken } = facts;
  const { namespace = '' } = jsonData.metadata;
  const page = delegate && link({ route: 'pod', params: { namespace, name: name ?? '' }, cluster: delegate.cluster },
    `${name ?? ''} in cluster ${delegate.cluster}`);
  const known: readonly (readonly [string, Child])[] = [
    ['Target', target ?? 'not chosen yet'],
    ['Virtual node', node && link({ route: 'node', params: { name: node }, cluster }, node)],
    ['Delegate pod', page ?? (name && `${name}, in its target`)],
    ['Waits', waits],
  ];
  return section(
    TITLE, ...notices(unreadable), list(known.filter(([, value]) => value !== undefined)),
    stageTable(elements, stages), isRecordBroken ? text(BROKEN_RECORD) : undefined,
    decision && decisionTable(elements, decision),
  );
}

function stageTable({ table, label }: Elements, stages: readonly Stage[]): Child {
  return table(['Stage', 'In', 'State', 'Time', 'Note'], stages.map(({ title, where, state, at, note }) => (
    [title, where, label(STATE_TEXTS[state], TONES[state]), at, note]
  )), 'No stages are known.');
}

function decisionTable({ table, label, text }: Elements, decision: RecordedDecision): Child {
  const { target, score, tier, isAfterScaleUp, rejected, more } = decision;
  const why = [
    `score ${score}`, ...(tier === undefined ? [] : [`tier ${tier}`]), ...(isAfterScaleUp ? ['after a scale-up'] : []),
  ].join(', ');
  return [
    text('Decided when it was bound:'),
    table(['Target', 'Answer', 'Why'], [
      [target, label('chosen', 'success'), why],
      ...rejected.map(({ target: other, reason }) => [other, label('rejected', ''), reason]),
    ], 'Nothing was recorded.'),
    more > 0 ? text(`and ${more} more that were rejected`) : undefined,
  ];
}
