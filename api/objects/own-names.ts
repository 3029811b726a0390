// Names of the objects that the components and commands of Isthmus keep for themselves in a cluster.

/** Secret of the namespace of keys with the webhook's own CAs and certificate; its replicas write and read it. */
export const WEBHOOK_CERTIFICATES_SECRET = 'isthmus-webhook-certificates';
/**
 * Secret of the namespace of keys with the key that signs invitations; written by `isthmus invite`, read by it and by
 * peering.
 */
export const INVITATION_KEY_SECRET = 'isthmus-invitation-key';
/**
 * ConfigMap of the install namespace with the scheduler's weights and location; written by the scheduler, read by
 * `isthmus explain` and `isthmus plan`.
 */
export const SCHEDULER_SETTINGS_CONFIG_MAP = 'isthmus-scheduler';
/**
 * Secret of the install namespace for a serving certificate of another issuer, such as cert-manager; its role lets the
 * webhook read this name.
 */
export const GIVEN_CERTIFICATE_SECRET = 'isthmus-cert';
/** Name of a cluster's only ClusterSummary. */
export const CLUSTER_SUMMARY_NAME = 'singleton';
/** ConfigMap of the install namespace, written by `isthmus migrate`, read by all components: how far it is. */
export const MIGRATION_CONFIG_MAP = 'isthmus-migration';
/** Its key with the reason why components write nothing; they run normally if it is missing. */
export const MIGRATION_STANDBY_KEY = 'standby';
/** Its key with the reason why no elected pods are sent to our webhook. */
export const MIGRATION_WEBHOOK_KEY = 'webhook';
