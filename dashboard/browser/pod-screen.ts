// The screen of one pod's journey: its stages, the evaluation of every target, and what source and target say.
import type {
  ConditionRow, ContainerRow, EventRow, PodSide, PodScreen, Stage, StageState, TargetEvaluation, Evaluation,
} from '../wire/screens.ts';
import type { PolicyChoice, RecordedDecision } from '../wire/placement-rows.ts';
import { addressOf, LONGEST_SPEC, type PodRoute, type Route } from '../wire/routes.ts';
import { moveForm } from './actions.ts';
import { el, type Child } from './elements.ts';
import {
  age, clock, count, emptyState, link, pill, row, table, toneOf, unreadableNotices, type Tone,
} from './parts.ts';

const STATES: Readonly<Record<StageState, string>> =
  { done: 'done', now: 'in progress', failed: 'stuck', unknown: 'unknown', later: 'not yet' };

const CHANGE = '  - ';

/** The screen; of its route, what is supposed. */
export function podContent(screen: PodScreen, route: Route): readonly Child[] {
  const { pod, unreadable, stages, evaluation, containers, source, target } = screen;
  const notices = unreadableNotices(unreadable);
  if (pod === undefined) return unreadable.length > 0 ? notices : [emptyState(
    'Pod not found', 'It may have been deleted, and its workload may have created another one: see the list of pods.',
  )];
  return [
    facts(screen), movePart(pod, screen), ...notices, el('h2', {}, 'Timeline'), timeline(stages), obstacle(stages),
    containers.length === 0 ? undefined : containerTable(pod, containers),
    screen.recorded === undefined ? undefined : recordedSection(screen.recorded, pod),
    evaluation === undefined || route.screen !== 'pod' ? undefined : evaluationSection(evaluation, screen, route),
    morePodsPart(screen.morePods),
    screen.choice === undefined || route.screen !== 'pod' ? undefined : policyForm(screen.choice, route),
    el('div', { class: 'sides' }, podSide('In the source', source), podSide('In the target', target)),
  ];
}

function facts({ pod }: PodScreen): HTMLElement | undefined {
  if (pod === undefined) return undefined;
  const { namespace, workload, status, target, createdAt, problem } = pod;
  return el(
    'p', { class: 'summary' }, pill(status, toneOf(status)), problem === undefined ? '' : ` ${problem}`, ' · ',
    target === undefined ? 'not placed yet' : [
      'in ', link(addressOf({ screen: 'pods', filters: { target } }), target),
    ],
    ' · ', link(addressOf({ screen: 'pods', filters: { namespace, workload } }), workload),
    ' · created ', age(createdAt), ' ago',
  );
}

/** The targets that could take it, as far as that is known. */
function movePart(pod: NonNullable<PodScreen['pod']>, { actions, evaluation }: PodScreen): Child {
  if (!actions.includes('move')) return undefined;
  const able = (evaluation?.targets ?? []).filter(({ answer, target }) => answer !== 'no' && target !== pod.target);
  return moveForm(pod, able.map(({ target }) => target));
}

function timeline(stages: readonly Stage[]): HTMLElement {
  return el('ol', { class: 'journey' }, stages.map((stage, index) => {
    const { title, where, state, at, note } = stage;
    return el(
      'li', { class: `stage ${state}`, 'data-key': title },
      el('span', { class: 'mark', 'aria-hidden': 'true' }),
      el('strong', {}, title), el('span', { class: 'where' }, where),
      el('span', { class: 'state' }, STATES[state], took(stage, stages[index - 1])),
      at === undefined ? undefined : clock(at),
      note === undefined || state !== 'done' ? undefined : el('span', { class: 'note' }, note),
    );
  }));
}

/** What the pod waits for, which may be long. */
function obstacle(stages: readonly Stage[]): HTMLElement | undefined {
  const current = stages.find(({ state, note }) => (state === 'now' || state === 'failed') && note !== undefined);
  if (current === undefined) return undefined;
  return el('p', { class: 'notice' }, el('strong', {}, `${current.title}, ${STATES[current.state]}: `), current.note);
}

/** Times of Kubernetes are whole seconds, and clocks of clusters differ. */
function took({ at, state }: Stage, before: Stage | undefined): string {
  if (state !== 'done' || at === undefined || before?.at === undefined) return '';
  const seconds = Math.round((Date.parse(at) - Date.parse(before.at)) / 1_000);
  return seconds > 0 ? ` after ${seconds} s` : '';
}

function containerTable(pod: NonNullable<PodScreen['pod']>, containers: readonly ContainerRow[]): Child {
  const rows = containers.map(({ name, image, state, message, restarts, isReady }) => row(
    name, name, [pill(state, isReady ? 'good' : state === 'Not started' ? 'calm' : 'warn'), ' ', message ?? ''],
    { number: String(restarts) }, image,
    el('button', { type: 'button', 'data-log': `${pod.namespace}/${pod.name}/${name}` }, `Log of ${name}`),
  ));
  return [
    el('h2', {}, 'Containers'),
    table('Containers', ['Container', 'State', { number: 'Restarts' }, 'Image', 'Log'], rows),
    el('div', { id: 'log', 'data-kept': true, 'data-key': 'log', 'aria-live': 'polite' }),
  ];
}

function recordedSection(
  { target, score, tier, isAfterScaleUp, rejected, more }: RecordedDecision, pod: NonNullable<PodScreen['pod']>,
): Child {
  const { namespace, name } = pod;
  const details = [
    `score ${score}`, ...(tier === undefined ? [] : [`tier ${tier}`]),
    ...(isAfterScaleUp ? ['after a scale-up'] : []),
  ];
  return [
    el('h2', {}, 'Decided when it was bound'),
    table('The decision that was recorded', ['Target', 'Answer', 'Why'], [
      row('chosen', target, pill('chosen', 'good'), details.join(', ')),
      ...rejected.map(({ target: other, reason }) => row(other, other, pill('no', 'calm'), reason)),
    ]),
    more > 0 ? el('p', { class: 'faint' }, `and ${more} more that were rejected`) : undefined,
    el('p', {}, link(addressOf({ screen: 'decision', namespace, name }), 'Compare with a decision now')),
  ];
}

function evaluationSection({ outcome, targets }: Evaluation, screen: PodScreen, route: PodRoute): Child {
  const { without, choice } = screen;
  const columns = ['Target', 'Result', { number: 'Score' }, 'Rejected because', 'All checks', 'What if'];
  const rows = targets.map((evaluated) => row(
    evaluated.target, evaluated.target, pill(...answerOf(evaluated)),
    { number: evaluated.score === undefined ? '' : evaluated.score.toFixed(3) }, reasons(evaluated), details(evaluated),
    link(addressOf({ ...route, without: evaluated.target }), `Without ${evaluated.target}`),
  ));
  return [
    el('h2', {}, evaluationTitle(screen)), choice?.whatIf === undefined ? undefined : whatIfPart(choice.whatIf),
    without === undefined ? undefined
      : el('p', {}, link(addressOf({ ...route, without: undefined }), 'Evaluate all targets')),
    choice?.whatIf === undefined ? undefined : el('p', {}, link(
      addressOf({ ...route, policy: undefined, spec: undefined }), 'Evaluate with the policies that apply now',
    )),
    outcomePart(outcome),
    rows.length === 0 ? undefined : table('Evaluation of targets', columns, rows), morePodsForm(route),
  ];
}

function evaluationTitle({ without, choice }: PodScreen): string {
  const { whatIf } = choice ?? {};
  const edited = whatIf?.isEdited === true ? ', as written below,' : '';
  const parts = [
    ...(without === undefined ? [] : [`there were no ${without}`]),
    ...(whatIf === undefined ? [] : [`${whatIf.title}${edited} applied`]),
  ];
  if (parts.length === 0) return 'Placement: every target evaluated now';
  return `What if ${parts.join(' and ')}: every ${without === undefined ? '' : 'other '}target evaluated now`;
}

function whatIfPart({ replaces, keeps }: NonNullable<PolicyChoice['whatIf']>): Child {
  const sentences = [
    ...(replaces.length === 0 ? [] : [`It applies instead of ${replaces.join(', ')}.`]),
    ...(keeps.length === 0 ? [] : [`${keeps.join(', ')} ${keeps.length === 1 ? 'applies' : 'apply'}, too.`]),
    'Nothing is created or changed.',
  ];
  return el('p', { class: 'faint' }, sentences.join(' '));
}

/** Asks how many more pods like this one there should be. */
function morePodsForm(route: PodRoute): HTMLElement {
  return el(
    'form', {
      class: 'filters more-pods', 'data-key': 'more pods form', 'aria-label': 'What if there were more',
      'data-what-if': addressOf({ ...route, replicas: undefined }),
    },
    el('label', {}, 'What if there were more pods like this? (1 to 100)', el('input', {
      name: 'replicas', type: 'text', autocomplete: 'off', spellcheck: 'false',
    })),
    el('button', { type: 'submit' }, 'Simulate'),
  );
}

/** Asks which policy should apply, and how it should be written. */
function policyForm({ policies, spec = '' }: PolicyChoice, route: PodRoute): HTMLElement {
  return el(
    'form', {
      class: 'filters policy', 'data-key': 'policy form', 'aria-label': 'What if another policy applied',
      'data-what-if': addressOf({ ...route, policy: undefined, spec: undefined }),
    },
    el('label', {}, 'What if this policy applied? (PlacementPolicy/NAME)', el('input', {
      name: 'policy', type: 'text', autocomplete: 'off', spellcheck: 'false', list: 'policies', value: route.policy,
    })),
    el('datalist', { id: 'policies' }, policies.map((value) => el('option', { value }))),
    el('button', { type: 'submit' }, 'Evaluate'),
    el(
      'details', { open: spec !== '' }, el('summary', {}, 'Write its spec'),
      el(
        'label', {}, `Spec of the policy as YAML or JSON, at most ${LONGEST_SPEC} bytes in the address`,
        el('textarea', {
          name: 'spec', autocomplete: 'off', spellcheck: 'false', 'data-written': route.spec !== undefined,
        }, spec),
      ),
    ),
  );
}

function morePodsPart(morePods: PodScreen['morePods']): Child {
  if (morePods === undefined) return undefined;
  const { pods, placed, waiting, why } = morePods;
  const rows = placed.map(({ target, pods: number }) => row(target, target, { number: String(number) }));
  if (waiting > 0) rows.push(row('waiting', 'none: they would wait', { number: String(waiting) }));
  return el(
    'section', { 'data-key': 'more pods' },
    el('h2', {}, `With ${count(pods, 'more pod')} like this, placed one after the other`),
    table('Where more pods would go', ['Target', { number: 'Pods' }], rows), outcomePart(why),
  );
}

/** Changes are the lines that begin with a dash. */
function outcomePart(outcome: readonly string[]): Child {
  const changes = outcome.filter((line) => line.startsWith(CHANGE)).map((line) => line.slice(CHANGE.length));
  return [
    outcome.filter((line) => !line.startsWith(CHANGE)).map((line) => el('p', {}, line)),
    changes.length === 0 ? undefined : el('ul', {}, changes.map((change) => el('li', {}, change))),
  ];
}

function answerOf({ answer }: TargetEvaluation): readonly [string, Tone] {
  if (answer === 'no') return ['Rejected', 'bad'];
  return answer === 'chosen' ? ['First choice', 'good'] : ['Feasible', 'calm'];
}

function reasons({ rejections }: TargetEvaluation): Child {
  return rejections.map(({ reason, message }) => el('div', {}, el('strong', {}, reason), `: ${message}`));
}

function details({ passed, rejections, scores }: TargetEvaluation): Child {
  return el(
    'details', {}, el('summary', {}, `${passed.length} passed, ${rejections.length} failed`),
    el('ul', {}, passed.map((filter) => el('li', {}, `${filter}: passes`)),
      rejections.map(({ filter, reason }) => el('li', {}, `${filter}: ${reason}`)),
      scores.map(({ name, weight, score }) => el('li', {}, `${name}: ${score.toFixed(3)} × ${weight}`))),
  );
}

function podSide(title: string, found: PodSide | undefined): HTMLElement {
  if (found === undefined) return el(
    'section', { 'data-key': title }, el('h2', {}, title), el('p', { class: 'faint' }, 'Unknown, or not there.'),
  );
  const { name, node, conditions, events } = found;
  return el(
    'section', { 'data-key': title }, el('h2', {}, title),
    el('p', { class: 'faint' }, name, node === undefined ? ', no node yet' : ` on ${node}`),
    table(`Conditions, ${title.toLowerCase()}`, ['Condition', 'Status', 'Reason', 'Age'], conditions.map(conditionRow)),
    eventPart(title, events),
  );
}

function conditionRow({ type, status, reason, message, at }: ConditionRow): HTMLElement {
  return row(
    type, type, pill(status, status === 'True' ? 'good' : 'warn'),
    [reason, message].filter((part) => part !== undefined && part !== '').join(': '), age(at),
  );
}

function eventPart(title: string, events: readonly EventRow[] | undefined): Child {
  if (events === undefined) return el('p', { class: 'faint' }, 'Its Events cannot be read.');
  if (events.length === 0) {
    return el('p', { class: 'faint' }, 'No Events. API servers keep them for one hour by default.');
  }
  return table(`Events, ${title.toLowerCase()}`, ['Event', 'Message', { number: 'Count' }, 'Age'], events.map(
    ({ type, reason, message, count, at }, index) => row(
      `${index}`, pill(reason, type === 'Warning' ? 'warn' : 'calm'), message, { number: String(count) }, age(at),
    ),
  ));
}
