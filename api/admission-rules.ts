// What the API server is to send to our webhooks where it is not written in a manifest: the webhook process puts it there once it is reached (ADR 0029).

/** `admissionregistration.k8s.io/v1` RuleWithOperations of every webhook of elected pods. */
export const ELECTED_POD_RULES = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }] as const;

/** Path by which the API server asks whether it reaches the webhook at all. */
export const REACHED_PATH = '/mutate--reached';
/** Name of the webhook of {@link REACHED_PATH}; it alone has its rules in the manifest. */
export const REACHED_WEBHOOK = 'reached.isthmus.multicluster.admiralty.io';

const OF_WEBHOOKS = '.isthmus.multicluster.admiralty.io';
/** Path of pods of namespaces that elect all of theirs. */
const NAMESPACE_PATH = '/mutate--v1-pod--namespace';

/** Paths of our webhooks, by their names in the webhook configurations. */
export const WEBHOOK_PATHS: Readonly<Record<string, string>> = {
  [`pods${OF_WEBHOOKS}`]: '/mutate--v1-pod',
  [`namespaces${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`liqo-enabled${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`liqo-scheduling-enabled${OF_WEBHOOKS}`]: NAMESPACE_PATH,
  [`daemonsets${OF_WEBHOOKS}`]: '/mutate--daemonsets',
  [REACHED_WEBHOOK]: REACHED_PATH,
  [`targets${OF_WEBHOOKS}`]: '/validate--targets',
  [`resourceshares${OF_WEBHOOKS}`]: '/validate--resourceshares',
};
