// What the viewer may do: buttons and a form that offer it, the confirmation, and the outcome.
import { actionBody, actionPath, TARGET_ACTIONS, type Action, type ActionKind } from '../wire/actions.ts';
import type { PodScreen, ProposedCluster, TargetCard } from '../wire/screens.ts';
import { el, type Child } from './elements.ts';

const NAMES: Readonly<Record<ActionKind, string>> =
  { cordon: 'Cordon', uncordon: 'Uncordon', drain: 'Drain', move: 'Move', approve: 'Approve' };

/** A drain is of all namespaces, whichever the screen shows. */
const CONSEQUENCES: Readonly<Record<ActionKind, string>> = {
  cordon: 'No more pods go there. Those that are there stay.',
  uncordon: 'Pods can go there again.',
  drain: 'No more pods go there, and all its pods, in every namespace, are evicted as their PodDisruptionBudgets ' +
    'allow: their controllers create them elsewhere. If one has no controller, none is evicted.',
  move: 'The pod is evicted as its PodDisruptionBudget allows, and its controller creates another one. Until that ' +
    'one runs there, a temporary PlacementPolicy sends all new pods with the same labels there.',
  approve: 'The cluster becomes a ClusterTarget, with the credentials that its registry has, or if DNS announces it ' +
    'with those in a Secret that an administrator wrote. Elected pods can then go there with their Secrets.',
};
/** Of a field of {@link moveForm}. */
const DESTINATION = 'to';

/** A button for an action; the question before it is done has `detail` in it. */
function actionButton(action: Action, detail?: string): HTMLElement {
  return el('button', {
    type: 'button', 'data-key': action.kind, 'data-action': JSON.stringify(action), 'data-detail': detail,
    'aria-label': titleOf(action),
  }, NAMES[action.kind]);
}

/** Buttons for what may be done with the target now. */
export function targetButtons(
  { name, isCordoned }: TargetCard, actions: readonly ActionKind[],
): readonly HTMLElement[] {
  const now = TARGET_ACTIONS.filter((kind) => kind === 'drain' || isCordoned === (kind === 'uncordon'));
  return now.filter((kind) => actions.includes(kind)).map((kind) => actionButton({ kind, target: name }));
}

/** A button that approves the cluster. */
export function approveButton({ discovery, cluster, entry, clusterId, message }: ProposedCluster): HTMLElement {
  const detail = [entry, clusterId && `cluster ${clusterId}`, message].filter((one) => one !== undefined).join('; ');
  return actionButton({ kind: 'approve', discovery, cluster, entry, clusterId }, `${detail}.`);
}

/** Asks where to move a pod; the targets are suggestions. */
export function moveForm(
  { namespace, name }: NonNullable<PodScreen['pod']>, targets: readonly string[],
): HTMLElement {
  return el(
    'form', { class: 'filters', 'data-key': 'move', 'data-move': `${namespace}/${name}`, 'aria-label': 'Move' },
    el(
      'label', {}, 'Move to target',
      el('input', { name: DESTINATION, type: 'text', autocomplete: 'off', spellcheck: 'false', list: 'destinations' }),
    ),
    el('datalist', { id: 'destinations' }, targets.map((value) => el('option', { value }))),
    el('button', { type: 'submit' }, 'Move…'),
  );
}

/** The action that a button or a form stands for; undefined for any other, and while no target was entered. */
function actionOf(element: Element): Action | undefined {
  const given = element.getAttribute('data-action');
  if (given !== null) return JSON.parse(given) as Action;
  const [namespace, name] = element.getAttribute('data-move')?.split('/') ?? [];
  const target = element.querySelector<HTMLInputElement>(`input[name="${DESTINATION}"]`)?.value.trim() ?? '';
  return namespace === undefined || name === undefined || target === '' ? undefined
    : { kind: 'move', namespace, name, target };
}

/**
 * Asks whether to do what a button or a form stands for, and does it with the token; `say` is told what is being done,
 * and what came of it. Nothing happens where the element stands for nothing.
 */
export function confirmAction(element: Element, token: string, say: (...content: readonly Child[]) => void): void {
  const action = actionOf(element);
  if (action === undefined) return;
  const { kind } = action;
  const detail = element.getAttribute('data-detail');
  const dialog = el(
    'dialog', { 'aria-labelledby': 'question' }, el('h2', { id: 'question' }, `${titleOf(action)}?`),
    ...(detail === null ? [] : [el('p', {}, detail)]),
    el('p', {}, CONSEQUENCES[kind]),
    el('p', {}, 'It is done with your permissions, and recorded under your name.'),
    el(
      'form', { class: 'filters' }, el('button', { type: 'submit' }, NAMES[kind]),
      el('button', { type: 'button', 'data-cancel': true }, 'Cancel'),
    ),
  ) as HTMLDialogElement;
  dialog.addEventListener('close', () => dialog.remove());
  dialog.querySelector('[data-cancel]')?.addEventListener('click', () => dialog.close());
  dialog.addEventListener('submit', (event) => {
    event.preventDefault();
    dialog.close();
    void act(action, token, say);
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Closes the question that is open, as when its viewer has signed out. */
export function closeQuestion(): void {
  document.querySelector('dialog')?.close();
}

async function act(action: Action, token: string, say: (...content: readonly Child[]) => void): Promise<void> {
  say(el('p', {}, `${titleOf(action)}…`));
  try {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(actionPath(action), { method: 'POST', body: actionBody(action), headers });
    const { message } = (await answer.json()) as { readonly message: string };
    say(el('p', { class: answer.ok ? 'help' : 'notice' }, message));
  } catch {
    say(el('p', { class: 'notice' }, 'No connection to the server of this page. Whether it was done is not known.'));
  }
}

function titleOf(action: Action): string {
  switch (action.kind) {
    case 'move':
      return `Move ${action.namespace}/${action.name} to ${action.target}`;
    case 'approve':
      return `Approve ${action.cluster}`;
    case 'cordon':
    case 'uncordon':
    case 'drain':
      return `${NAMES[action.kind]} ${action.target}`;
  }
}
