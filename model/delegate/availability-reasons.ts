// What the reason of an unavailable target says about its API server. The target's condition Reachable, and the health
// in its ClusterProfile, both follow from this table.

/** What is known about a target's API server. */
export type ServerState =
  /** It answers this source. */
  | 'answers'
  /** A server answered last time, which says nothing about the cluster's health. */
  | 'reached'
  /** It does not answer, or only with errors. */
  | 'fails'
  /** No connection was attempted, or its outcome is not known yet. */
  | 'not-tried'
  /** The reason does not describe the server: the code of an error, for example. */
  | 'unknown';

const STATES: ReadonlyMap<string, ServerState> = new Map<string, ServerState>([
  ...['AdmiraltyActive', 'ControllerSilent', 'Forbidden', 'NotInstalled'].map((reason) => [reason, 'answers'] as const),
  ...[
    'AnotherCluster', 'DuplicateCluster', 'LeftRegistry', 'LimitExceeded', 'LoopToSource', 'NameTooLong', 'Removing',
    'Unauthorized',
  ].map((reason) => [reason, 'reached'] as const),
  ...['ApiServerError', 'Unreachable'].map((reason) => [reason, 'fails'] as const),
  ...[
    'Connecting', 'CredentialsUnavailable', 'InvalidSpec', 'KubeconfigInvalid', 'KubeconfigRefused', 'SecretKeyMissing',
    'SecretMissing', 'SecretUnreadable', 'TooManyTargets',
  ].map((reason) => [reason, 'not-tried'] as const),
]);

/** What a reason says about the target's API server. */
export function serverStateOf(reason: string): ServerState {
  return STATES.get(reason) ?? 'unknown';
}
