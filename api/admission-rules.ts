// The paths of our webhooks, and the rules that are not in the manifest: the webhook process writes those to its
// configurations after the API server has reached it (ADR 0029).

import { NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, TRUE } from './objects/keys.ts';

/** `admissionregistration.k8s.io/v1` RuleWithOperations of every webhook of elected pods. */
export const ELECTED_POD_RULES =
  [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }] as const;

/** Path of the request by which the API server checks whether it reaches the webhook. */
export const REACHED_PATH = '/mutate--reached';
/** Name of the webhook of {@link REACHED_PATH}; only its rules are in the manifest. */
export const REACHED_WEBHOOK = 'reached.isthmus.multicluster.admiralty.io';

const OF_WEBHOOKS = '.isthmus.multicluster.admiralty.io';
/** Path for elected pods, as Admiralty 0.17's. */
export const POD_PATH = '/mutate--v1-pod';
/** Path for pods of namespaces that elect all their pods. */
export const NAMESPACE_PATH = '/mutate--v1-pod--namespace';
/** Path for DaemonSets. */
export const DAEMON_SETS_PATH = '/mutate--daemonsets';
/** Path for (Cluster)Targets. */
export const TARGETS_PATH = '/validate--targets';
/** Path for ResourceShares. */
export const RESOURCE_SHARES_PATH = '/validate--resourceshares';

/** Paths of our webhooks, by name in the webhook configurations. */
export const WEBHOOK_PATHS: Readonly<Record<string, string>> = {
  [`pods${OF_WEBHOOKS}`]: POD_PATH,
  [`namespaces${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`liqo-enabled${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`liqo-scheduling-enabled${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`daemonsets${OF_WEBHOOKS}`]: DAEMON_SETS_PATH,
  [REACHED_WEBHOOK]: REACHED_PATH,
  [`targets${OF_WEBHOOKS}`]: TARGETS_PATH,
  [`resourceshares${OF_WEBHOOKS}`]: RESOURCE_SHARES_PATH,
};

/** Namespace labels that elect all pods, by the name of their webhook. The last two are Liqo's. */
export const ELECTING_LABELS = {
  namespaces: [NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE],
  'liqo-enabled': ['liqo.io/enabled', TRUE],
  'liqo-scheduling-enabled': ['liqo.io/scheduling-enabled', TRUE],
} as const;
