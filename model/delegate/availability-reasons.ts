// What the reason of an unavailable target tells of its API server. Its condition Reachable, and the health of the
// ClusterProfile that is published of it, both follow from this table.

/** What is known of a target's API server. */
export type ServerState =
  /** It answers this source. */
  | 'answers'
  /** A server answers, or did when it was last asked, which tells nothing of the cluster's health. */
  | 'reached'
  /** It does not answer, or only with errors. */
  | 'fails'
  /** No connection was attempted, or none is decided yet. */
  | 'not-tried'
  /** The reason is no state of the server, such as the code of an error. */
  | 'unknown';

const STATES: ReadonlyMap<string, ServerState> = new Map<string, ServerState>([
  ...['AdmiraltyActive', 'ControllerSilent', 'Forbidden', 'NotInstalled'].map((reason) => [reason, 'answers'] as const),
  ...['DuplicateCluster', 'LeftRegistry', 'LimitExceeded', 'LoopToSource', 'Removing', 'Unauthorized'].map(
    (reason) => [reason, 'reached'] as const,
  ),
  ...['ApiServerError', 'Unreachable'].map((reason) => [reason, 'fails'] as const),
  ...[
    'Connecting', 'CredentialsUnavailable', 'InvalidSpec', 'KubeconfigInvalid', 'KubeconfigRefused', 'SecretKeyMissing',
    'SecretMissing', 'SecretUnreadable', 'TooManyTargets',
  ].map((reason) => [reason, 'not-tried'] as const),
]);

/** What a reason tells of the target's API server. */
export function serverStateOf(reason: string): ServerState {
  return STATES.get(reason) ?? 'unknown';
}
