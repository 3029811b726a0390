// What a viewer may do on the page, as it crosses from there to the server.

/** Kinds of action on a target, each named as the command of `isthmus` that does the same. */
export const TARGET_ACTIONS = ['cordon', 'uncordon', 'drain'] as const;

/** Something to do with a target. */
export interface TargetAction {
  readonly kind: (typeof TARGET_ACTIONS)[number];
  /** `NAME`, or `NAMESPACE/NAME` of a Target. */
  readonly target: string;
}

/** A pod is evicted, and its replacement runs in a target: `isthmus move`. */
export interface MoveAction {
  readonly kind: 'move';
  readonly namespace: string;
  readonly name: string;
  /** As {@link TargetAction.target}. */
  readonly target: string;
}

/** A cluster that a TargetDiscovery proposes becomes a target. */
export interface ApproveAction {
  readonly kind: 'approve';
  /** Name of the TargetDiscovery. */
  readonly discovery: string;
  /** Name that the registry knows the cluster by. */
  readonly cluster: string;
  /** Kind, namespace and name of the registry's object that the viewer was shown. */
  readonly entry: string;
  /** UID of the kube-system Namespace that the viewer was shown; missing where it was not known. */
  readonly clusterId?: string | undefined;
}

/** Something to do. */
export type Action = TargetAction | MoveAction | ApproveAction;
/** What is done. */
export type ActionKind = Action['kind'];

/** Besides the kind, which the path names. */
const FIELDS: Readonly<Record<ActionKind, readonly string[]>> = {
  cordon: ['target'], uncordon: ['target'], drain: ['target'], move: ['namespace', 'name', 'target'],
  approve: ['discovery', 'cluster', 'entry'],
};
/** What may be missing. */
const OPTIONAL_FIELDS: Readonly<Partial<Record<ActionKind, readonly string[]>>> = { approve: ['clusterId'] };
const PATH = '/api/actions/';
/** Of an entry of a registry, in characters; names are shorter. */
const LONGEST = 800;

/** The path that an action is posted to. */
export function actionPath({ kind }: Action): string {
  return `${PATH}${kind}`;
}

/** The body that it is posted with. */
export function actionBody({ kind: _kind, ...fields }: Action): string {
  return JSON.stringify(fields);
}

/** The kind of action that is posted to a path. */
export function actionKindOf(path: string): ActionKind | undefined {
  const kind = path.slice(PATH.length);
  return path.startsWith(PATH) && Object.hasOwn(FIELDS, kind) ? (kind as ActionKind) : undefined;
}

/** The action of that kind; undefined for any other body. */
export function readAction(kind: ActionKind, body: string): Action | undefined {
  const fields = parsed(body);
  if (fields === undefined) return undefined;
  const given = OPTIONAL_FIELDS[kind]?.filter((name) => Object.hasOwn(fields, name)) ?? [];
  const texts = [...FIELDS[kind], ...given]
    .map((name) => [name, Object.hasOwn(fields, name) ? fields[name] : undefined] as const);
  const isWhole = Object.keys(fields).length === texts.length
    && texts.every(([, text]) => typeof text === 'string' && text !== '' && text.length <= LONGEST);
  return isWhole ? ({ kind, ...Object.fromEntries(texts) } as unknown as Action) : undefined;
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
