// What a viewer may do on the page, as it crosses from there to the server.

/** Kinds of action, each named as the command of `isthmus` that does the same. */
export const ACTIONS = ['cordon', 'uncordon', 'drain'] as const;
/** One of {@link ACTIONS}. */
export type ActionKind = (typeof ACTIONS)[number];

/** Something to do with a target. */
export interface Action {
  readonly kind: ActionKind;
  /** `NAME`, or `NAMESPACE/NAME` of a Target. */
  readonly target: string;
}

/** The path that an action is posted to; its body is the target. */
export function actionPath(kind: ActionKind): string {
  return `/api/actions/${kind}`;
}

/** The kind of action that is posted to a path. */
export function actionOf(path: string): ActionKind | undefined {
  return ACTIONS.find((kind) => actionPath(kind) === path);
}
