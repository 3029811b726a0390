// `spec.target` of a TargetDiscovery: what the clusters of a registry become.
import type { StringMap } from '../objects/core.ts';
import { flag, listOf, objectOf, text, type Schema } from '../objects/schema.ts';
import type { DelegationSetting, RemovalPolicy } from '../kinds/cluster-target.ts';

/** What each cluster becomes. */
export interface TargetTemplate {
  /** Put before the cluster's name. */
  readonly namePrefix?: string;
  /** Labels of each target. */
  readonly labels?: StringMap;
  /** Keys of labels that each target gets from the registry's object. */
  readonly copyLabels?: readonly string[];
  /** As in a ClusterTarget, as are the following fields. */
  readonly prices?: StringMap;
  readonly delegation?: DelegationSetting;
  readonly excludedLabelsRegexp?: string;
  readonly removalPolicy?: RemovalPolicy;
  /** Whether targets are reached through the gateway, as the members of the clusterset that have their names. */
  readonly throughGateway?: boolean;
}

/** Schema of `spec.target`. */
export const TARGET_TEMPLATE: Schema = objectOf('What each cluster becomes.', {
  namePrefix: text('Put before the name of the cluster.', { maxLength: 30, pattern: '^[a-z0-9]([-a-z0-9]*)$' }),
  labels: {
    type: 'object',
    description: 'Labels of each target, which placement policies and pods select by.',
    additionalProperties: { type: 'string', maxLength: 63 },
    maxProperties: 32,
  },
  copyLabels: listOf("Keys of labels that each target gets from the registry's object. Labels above win.", {
    type: 'string',
    minLength: 1,
    maxLength: 317,
  }, { maxItems: 32, 'x-kubernetes-list-type': 'set' }),
  prices: {
    type: 'object',
    description: 'spec.prices of each ClusterTarget.',
    additionalProperties: { type: 'string', maxLength: 32, pattern: '^[0-9]+(\\.[0-9]+)?$' },
    maxProperties: 32,
  },
  delegation: text('spec.delegation of each ClusterTarget.', { enum: ['Auto', 'PodChaperon', 'Pod'] }),
  excludedLabelsRegexp: text('spec.excludedLabelsRegexp of each ClusterTarget.', { maxLength: 1024 }),
  removalPolicy: text(
    'spec.removalPolicy of each ClusterTarget: Drain evicts its pods when its cluster has left the registry, ' +
      'Orphan (the default) leaves them.',
    { enum: ['Drain', 'Orphan'] },
  ),
  throughGateway: flag(
    'Reach the clusters through the gateway: each is the member of the clusterset whose ID is the name of its ' +
      'target.',
  ),
});
