// What the viewer may do with a target: its buttons, the question before it is done, and what came of it.
import { actionPath, type ActionKind } from '../wire/actions.ts';
import type { TargetCard } from '../wire/screens.ts';
import { el, update, type Child } from './elements.ts';

const NAMES: Readonly<Record<ActionKind, string>> = { cordon: 'Cordon', uncordon: 'Uncordon', drain: 'Drain' };

/** A drain is of all namespaces, whichever the screen shows. */
const CONSEQUENCES: Readonly<Record<ActionKind, string>> = {
  cordon: 'No more pods go there. Those that are there stay.',
  uncordon: 'Pods can go there again.',
  drain: 'No more pods go there, and all its pods, in every namespace, are evicted as their PodDisruptionBudgets ' +
    'allow: their controllers create them elsewhere. If one has no controller, none is evicted.',
};

/** Buttons for what may be done with the target now. */
export function actionButtons(
  { name, isCordoned }: TargetCard, actions: readonly ActionKind[],
): readonly HTMLElement[] {
  const now = actions.filter((kind) => kind === 'drain' || isCordoned === (kind === 'uncordon'));
  return now.map((kind) => el('button', {
    type: 'button', 'data-key': kind, 'data-action': kind, 'data-target': name,
    'aria-label': `${NAMES[kind]} ${name}`,
  }, NAMES[kind]));
}

/** Where {@link confirmAction} says what came of an action. */
export function actionResult(): HTMLElement {
  return el('div', { id: 'action-result', role: 'status', 'data-key': 'action-result', 'data-kept': true });
}

/** Asks whether to do what a button says, and does it with the token. */
export function confirmAction(button: Element, token: string): void {
  const [kind, target] = [button.getAttribute('data-action') as ActionKind, button.getAttribute('data-target') ?? ''];
  const dialog = el(
    'dialog', { 'aria-labelledby': 'question' }, el('h2', { id: 'question' }, `${NAMES[kind]} ${target}?`),
    el('p', {}, CONSEQUENCES[kind]),
    el('p', {}, 'It is done with your rights, and recorded under your name.'),
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
    void act(kind, target, token);
  });
  document.body.append(dialog);
  dialog.showModal();
}

async function act(kind: ActionKind, target: string, token: string): Promise<void> {
  say(el('p', {}, `${NAMES[kind]} ${target}…`));
  try {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(actionPath(kind), { method: 'POST', body: target, headers });
    const { message } = (await answer.json()) as { readonly message: string };
    say(el('p', { class: answer.ok ? 'help' : 'notice' }, message));
  } catch {
    say(el('p', { class: 'notice' }, 'No connection to the server of this page. Whether it was done is not known.'));
  }
}

/** The screen may have changed meanwhile. */
function say(...content: readonly Child[]): void {
  const place = document.getElementById('action-result');
  if (place !== null) update(place, content);
}
