// Whether Admiralty is running in a cluster, by the Leases it renews and its webhook configuration. Its chart derives
// object names from the release, so only its Leases have fixed names. Pure.
import type { KubernetesObject, Lease } from '../../api/objects/core.ts';
import type { MutatingWebhookConfiguration } from '../../api/resource-types.ts';

/** Leases for the leader election of Admiralty 0.14 to 0.17, in the namespace of its release. */
export const ADMIRALTY_LEASES = [
  'admiralty-controller-manager', 'admiralty-proxy-scheduler', 'admiralty-candidate-scheduler', 'admiralty-restarter',
] as const;

/** Those of its processes that write to pods of a source. */
export const ADMIRALTY_SOURCE_LEASES: readonly string[] = ['admiralty-controller-manager', 'admiralty-proxy-scheduler'];

/** Suffix of the name of its webhook, after the release's name. */
const WEBHOOK_SUFFIX = '.multicluster.admiralty.io';
/** Suffix of the names of our webhooks. */
const OWN_WEBHOOK_SUFFIX = '.isthmus.multicluster.admiralty.io';
/** With this requirement a namespace selector matches no namespace of Admiralty's webhook: they have the label. */
export const NEVER_SELECTED = { key: 'multicluster-scheduler', operator: 'DoesNotExist' } as const;

/** The fields of a webhook that are read. */
export type AdmiraltyWebhook = NonNullable<MutatingWebhookConfiguration['webhooks']>[number] & {
  readonly namespaceSelector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly { readonly key: string; readonly operator: string }[]
  };
};

/** Admiralty's webhook in a configuration; undefined in other configurations. */
export function admiraltyWebhookOf({ webhooks = [] }: MutatingWebhookConfiguration): AdmiraltyWebhook | undefined {
  return webhooks.find(({ name }) => name.endsWith(WEBHOOK_SUFFIX) && !name.endsWith(OWN_WEBHOOK_SUFFIX));
}

/** Whether a webhook receives pods at all. */
export function receivesPods({ namespaceSelector }: AdmiraltyWebhook): boolean {
  return namespaceSelector?.matchExpressions?.some(
    ({ key, operator }) => key === NEVER_SELECTED.key && operator === NEVER_SELECTED.operator,
  ) !== true;
}

/** Whether a Lease is being renewed; `now` is in ms since the epoch. */
export function isHeld({ spec = {} }: Lease, now: number): boolean {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec;
  return holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1_000 > now;
}

/** Signs of a running Admiralty. */
export interface AdmiraltyEvidence {
  /** Names of webhook configurations that send it elected pods. */
  readonly webhooks: readonly string[];
  /** `namespace/name` of Leases that its processes renew. */
  readonly leases: readonly string[];
}

/** The objects of a cluster that are read. */
export interface AdmiraltyState {
  readonly configurations: readonly MutatingWebhookConfiguration[];
  /** Those with one of the names of {@link ADMIRALTY_LEASES}, of all namespaces. */
  readonly leases: readonly Lease[];
}

/** The signs; `now` is in ms since the epoch. */
export function evidenceOfAdmiralty({ configurations, leases }: AdmiraltyState, now: number): AdmiraltyEvidence {
  const asked = configurations.filter((configuration) => {
    const webhook = admiraltyWebhookOf(configuration);
    return webhook !== undefined && receivesPods(webhook);
  });
  return {
    webhooks: asked.map(nameOf),
    leases: leases.filter((lease) => isHeld(lease, now))
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
  };
}

/** Whether there are any. */
export function isLive({ webhooks, leases }: AdmiraltyEvidence): boolean {
  return webhooks.length + leases.length > 0;
}

/** The signs, for messages. */
export function signsText({ webhooks, leases }: AdmiraltyEvidence): string {
  const parts =
    [...webhooks.map((name) => `MutatingWebhookConfiguration ${name}`), ...leases.map((name) => `Lease ${name}`)];
  return parts.join(', ');
}

function nameOf({ metadata }: KubernetesObject): string {
  return metadata.name ?? '';
}

/** The Admiralty webhook that receives elected pods at an address other than ours; undefined when there is none. */
export function otherAdmiraltyWebhook(configurations: readonly MutatingWebhookConfiguration[]): string | undefined {
  const ours = new Set(configurations.flatMap(
    ({ webhooks = [] }) => webhooks.filter(({ name }) => name.endsWith(OWN_WEBHOOK_SUFFIX)).map(addressOf),
  ));
  const theirs = configurations.find((configuration) => {
    const webhook = admiraltyWebhookOf(configuration);
    return webhook !== undefined && receivesPods(webhook) && !ours.has(addressOf(webhook));
  });
  return theirs === undefined
    ? undefined
    : `Admiralty's webhook handles elected pods (MutatingWebhookConfiguration ${nameOf(theirs)})`;
}

/** The address of a webhook. */
export function addressOf({ clientConfig: { url, service } }: Pick<AdmiraltyWebhook, 'clientConfig'>): string {
  return url ?? `${service?.namespace}/${service?.name}:${service?.port ?? 443}${service?.path ?? '/'}`;
}
