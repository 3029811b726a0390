// The screens of policies, a card for each, of decisions, and of what is in progress between targets.
import { addressOf, type Filters } from '../wire/routes.ts';
import type {
  ComparedTarget, DecisionRow, Drain, ExcludedTarget, Failback, PodMove, PolicyRow, Rollout,
} from '../wire/placement-rows.ts';
import type { DecisionScreen, DecisionsScreen, MovesScreen, PoliciesScreen } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';
import {
  age, clock, count, emptyState, isNarrowed, link, pill, rest, row, table, unreadableNotices, type Tone,
} from './parts.ts';

const EXAMPLE = [
  'apiVersion: isthmus.dev/v1alpha1', 'kind: PlacementPolicy', 'metadata: { namespace: shop, name: in-europe }',
  'spec: { require: { matchLabels: { region: eu } } }',
].join('\n');
const DECISION_COLUMNS =
  ['Pod', 'Namespace', 'Workload', 'Target', { number: 'Score' }, 'Rejected targets by reason', 'Age'];
const COMPARED_COLUMNS = ['Target', 'When it was bound', 'Now', 'Changed'];
const ANSWERS: Readonly<Record<'chosen' | 'possible' | 'no', readonly [string, Tone]>> =
  { chosen: ['First choice', 'good'], possible: ['Feasible', 'calm'], no: ['Rejected', 'bad'] };
const MOVE_COLUMNS = ['Pods', 'Namespace', 'To', { number: 'There' }, { number: 'Elsewhere' }, 'Since'];
const DRAIN_COLUMNS = ['Target', 'State', { number: 'Pods left' }, { number: 'Terminating' }];
const FAILBACK_COLUMNS = ['Target', 'State', { number: 'Pods' }, 'Workloads'];
const ROLLOUT_COLUMNS = ['Workload', 'Namespace', 'Revisions, newest first'];

/** The screen of policies. */
export function policiesContent({ rows, total, unreadable }: PoliciesScreen, filters: Filters): readonly Child[] {
  const notices = unreadableNotices(unreadable);
  if (total === 0 && unreadable.length > 0) return notices;
  if (total === 0) return [isNarrowed(filters) ? emptyState(
    'No matching policies', 'Change or clear the filters above.',
  ) : emptyState('No policies yet', 'A placement policy says where pods may and should run. For example:', EXAMPLE)];
  return [
    ...notices, el('p', { class: 'summary' }, total === 1 ? '1 policy' : `${total} policies`), rows.map(policyCard),
    rest(rows.length, total),
  ];
}

function policyCard(policy: PolicyRow): HTMLElement {
  const { kind, namespace, name, state, isReady, message, selects, rules } = policy;
  const title = namespace === undefined ? name : `${namespace}/${name}`;
  return el(
    'section', { class: 'card', 'data-key': `${kind} ${title}` },
    el('h2', {}, title, ' ', pill(state, isReady ? 'good' : 'bad'), ' ', el('small', {}, kind)),
    isReady || message === undefined ? undefined : el('p', { class: 'message' }, message),
    el('p', {}, 'Selects ', selects, ': ', podsText(policy)),
    rules.length === 0 ? undefined : el('ul', {}, rules.map((rule) => el('li', {}, rule))), targetsPart(policy),
  );
}

function podsText({ pods, namespaces = 0, namespace }: PolicyRow): Child {
  if (pods === undefined) return 'how many pods that is now cannot be read.';
  const where = namespace === undefined ? ` in ${count(namespaces, 'namespace')}` : '';
  if (pods === 0 || namespace === undefined) return `${count(pods, 'elected pod')} now${where}.`;
  const all = link(addressOf({ screen: 'pods', filters: { namespace } }), `All pods of ${namespace}`);
  return [`${count(pods, 'elected pod')} now. `, all];
}

function targetsPart({ excluded, left, isReady }: PolicyRow): Child {
  if (excluded === undefined || left === undefined) {
    return isReady ? el('p', { class: 'faint' }, 'Which targets it excludes cannot be read.') : undefined;
  }
  if (excluded.length === 0) return el('p', {}, 'Excludes no target.');
  return [
    el('p', {}, `Leaves ${left.length === 0 ? 'no target' : left.join(', ')}, excludes:`),
    el('ul', {}, excluded.map(({ target, reason, message }: ExcludedTarget) => (
      el('li', { 'data-key': target }, el('strong', {}, target), ` ${reason}: ${message}`)
    ))),
  ];
}

/** The screen of decisions. */
export function decisionsContent({ rows, total, unreadable }: DecisionsScreen, filters: Filters): readonly Child[] {
  const notices = unreadableNotices(unreadable);
  if (total === 0 && unreadable.length > 0) return notices;
  if (total === 0) return [isNarrowed(filters) ? emptyState(
    'No matching decisions', 'Change or clear the filters above.',
  ) : emptyState('No decisions yet', 'The scheduler records its decision on each pod that it binds.')];
  return [
    ...notices, el('p', { class: 'summary' }, count(total, 'decision')),
    table('Decisions, newest first', DECISION_COLUMNS, rows.map(decisionRow)),
    rest(rows.length, total),
  ];
}

function decisionRow({ namespace, name, workload, at, decision }: DecisionRow): HTMLElement {
  const pod = link(addressOf({ screen: 'decision', namespace, name }), name);
  const where = link(addressOf({ screen: 'decisions', filters: { namespace, workload } }), workload);
  if (decision === undefined) {
    return row(`${namespace}/${name}`, pod, namespace, where, 'The record on the pod cannot be read.', '', '', age(at));
  }
  const { target, score, tier, isAfterScaleUp, reasons } = decision;
  const notes = [...(tier === undefined ? [] : [`tier ${tier}`]), ...(isAfterScaleUp ? ['after a scale-up'] : [])];
  return row(
    `${namespace}/${name}`, pod, namespace, where, [target, ' ', el('small', {}, notes.join(', '))],
    { number: String(score) }, reasons.map(({ reason, targets }) => `${reason}: ${targets}`).join(', '), age(at),
  );
}

/** The screen of one decision. */
export function decisionContent(screen: DecisionScreen): readonly Child[] {
  const { pod, recorded, outcome, isSame, targets, unreadable } = screen;
  const notices = unreadableNotices(unreadable);
  if (pod === undefined) return unreadable.length > 0 ? notices : [emptyState(
    'Pod not found', 'The decision was recorded on the pod, and has gone with it: see the list of decisions.',
  )];
  const { namespace, name, workload } = pod;
  return [
    el(
      'p', { class: 'summary' },
      link(addressOf({ screen: 'pod', namespace, name }), `Pod ${namespace}/${name}`), ' · ',
      link(addressOf({ screen: 'decisions', filters: { namespace, workload } }), `All decisions of ${workload}`),
    ),
    ...notices, el('h2', {}, 'Decided when it was bound'), recordedPart(screen),
    outcome === undefined ? undefined : [
      el('h2', {}, 'Decided now'), el('p', {}, isSame === undefined ? undefined : pill(...samePill(isSame)), ' ',
        outcome.join(' ')),
      el('p', { class: 'faint' }, 'The pod itself takes capacity of the target that it runs in.'),
    ],
    targets.length === 0 ? undefined : table('Targets then and now', COMPARED_COLUMNS, targets.map(comparedRow)),
    recorded === undefined || recorded.more === 0 ? undefined
      : el('p', { class: 'faint' }, `The record leaves out ${recorded.more} more that were rejected.`),
  ];
}

function recordedPart({ at, recorded }: Pick<DecisionScreen, 'at' | 'recorded'>): HTMLElement {
  if (recorded === undefined) return el('p', { class: 'faint' }, 'The pod has no record that can be read.');
  const { target, score, tier, isAfterScaleUp, rejected, more } = recorded;
  const notes = [
    `score ${score}`, ...(tier === undefined ? [] : [`tier ${tier}`]), ...(isAfterScaleUp ? ['after a scale-up'] : []),
    `${count(rejected.length + more, 'target')} rejected`,
  ];
  return el('p', {}, el('strong', {}, target), `: ${notes.join(', ')}, `, age(at), ' ago');
}

function samePill(isSame: boolean): readonly [string, Tone] {
  return isSame ? ['Same target', 'good'] : ['Another outcome', 'warn'];
}

function comparedRow({ target, before, now, isSame }: ComparedTarget): HTMLElement {
  return row(
    target, target,
    before === undefined ? el('span', { class: 'faint' }, 'Not in the record: feasible, or not there yet')
      : [pill(...ANSWERS[before.answer]), ' ', before.why],
    now === undefined ? undefined : [pill(...ANSWERS[now.answer]), ' ', now.why],
    isSame === undefined ? undefined : isSame ? 'No' : el('strong', {}, 'Yes'),
  );
}

/** The screen of what is in progress. */
export function movesContent({ rollouts, moves, drains, failbacks, total, unreadable }: MovesScreen): readonly Child[] {
  const notices = unreadableNotices(unreadable);
  if (total === 0 && unreadable.length > 0) return notices;
  if (total === 0) return [emptyState(
    'Nothing in progress', 'Rollouts, moves, drains and pods that can return to a target appear here. Start one with:',
    'isthmus move pod/NAME -n NAMESPACE --to TARGET\nisthmus drain TARGET\nisthmus failback TARGET',
  )];
  return [
    ...notices,
    part('Moves', MOVE_COLUMNS, moves.map(moveRow)), part('Drains', DRAIN_COLUMNS, drains.map(drainRow)),
    part('Away from a lost target', FAILBACK_COLUMNS, failbacks.map(failbackRow)),
    part('Rollouts', ROLLOUT_COLUMNS, rollouts.map(rolloutRow)),
  ];
}

function part(title: string, columns: Parameters<typeof table>[1], rows: readonly HTMLElement[]): Child {
  if (rows.length === 0) return undefined;
  return el('section', { 'data-key': title }, el('h2', {}, title), table(title, columns, rows));
}

function moveRow(move: PodMove): HTMLElement {
  const { namespace, policy, selects, target, onTarget, elsewhere, since, expiresAt } = move;
  const left = `If no "isthmus move" is running: kubectl delete placementpolicy ${policy} -n ${namespace}`;
  const end = expiresAt === undefined ? left : ['Ends by ', clock(expiresAt), ' in any case'];
  return row(
    `${namespace}/${policy}`, [selects, ' ', el('small', {}, end)], namespace, target, { number: known(onTarget) },
    { number: known(elsewhere) }, age(since),
  );
}

function drainRow({ target, isRemoved, pods, terminating }: Drain): HTMLElement {
  const state = isRemoved ? 'Being removed' : pods === 0 ? 'Cordoned, empty' : 'Cordoned';
  return row(
    target, link(addressOf({ screen: 'pods', filters: { target } }), target), pill(state, 'warn'),
    { number: known(pods) }, { number: known(terminating) },
  );
}

function failbackRow({ target, isReady, pods, workloads }: Failback): HTMLElement {
  const state = isReady === undefined ? pill('Unknown', 'calm')
    : isReady ? [pill('Ready', 'good'), ' ', el('small', {}, `isthmus failback ${target}`)] : pill('Lost', 'bad');
  return row(target, target, state, { number: String(pods) }, workloads.join(', '));
}

function rolloutRow({ namespace, workload, revisions }: Rollout): HTMLElement {
  const parts = revisions.map(({ hash, pods, ready, createdAt }) => el(
    'li', { 'data-key': hash },
    `${hash}: ${ready}/${count(pods, 'pod')} ready, newest created `, age(createdAt), ' ago',
  ));
  return row(
    `${namespace}/${workload}`, link(addressOf({ screen: 'pods', filters: { namespace, workload } }), workload),
    namespace, el('ul', {}, parts),
  );
}

function known(number: number | undefined): string {
  return number === undefined ? 'unknown' : String(number);
}
