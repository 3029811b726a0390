// Whether an Admiralty works in a cluster, by what it writes and what its webhook is asked. Its chart gives objects the release's name, so that nothing
// is known by a name alone but its Leases. Pure.
import type { KubernetesObject, Lease } from '../../api/objects/core.ts';
import type { MutatingWebhookConfiguration } from '../../api/resource-types.ts';

/** Leases by which Admiralty 0.14 to 0.17 elects the replica that acts, in the namespace of its release. */
export const ADMIRALTY_LEASES = ['admiralty-controller-manager', 'admiralty-proxy-scheduler', 'admiralty-candidate-scheduler', 'admiralty-restarter'] as const;

/** Those of its processes that write to pods of a source. */
export const ADMIRALTY_SOURCE_LEASES: readonly string[] = ['admiralty-controller-manager', 'admiralty-proxy-scheduler'];

/** How the name of its one webhook ends; the release's name stands before it. */
const WEBHOOK_SUFFIX = '.multicluster.admiralty.io';
/** How the names of ours end. */
const OWN_WEBHOOK_SUFFIX = '.isthmus.multicluster.admiralty.io';
/** A namespace selector with this requirement selects none that Admiralty's webhook is asked about: they have the label. */
export const NEVER_SELECTED = { key: 'multicluster-scheduler', operator: 'DoesNotExist' } as const;

/** What of a webhook is looked at. */
export type AdmiraltyWebhook = NonNullable<MutatingWebhookConfiguration['webhooks']>[number] & {
  readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>>; readonly matchExpressions?: readonly { readonly key: string; readonly operator: string }[] };
};

/** Admiralty's webhook in a configuration; undefined where the configuration is somebody else's. */
export function admiraltyWebhookOf({ webhooks = [] }: MutatingWebhookConfiguration): AdmiraltyWebhook | undefined {
  return webhooks.find(({ name }) => name.endsWith(WEBHOOK_SUFFIX) && !name.endsWith(OWN_WEBHOOK_SUFFIX));
}

/** Whether a webhook is asked about pods at all. */
export function isAsked({ namespaceSelector }: AdmiraltyWebhook): boolean {
  return namespaceSelector?.matchExpressions?.some(({ key, operator }) => key === NEVER_SELECTED.key && operator === NEVER_SELECTED.operator) !== true;
}

/** Whether a Lease is held by somebody who renews it; `now` is in ms since the epoch. */
export function isHeld({ spec = {} }: Lease, now: number): boolean {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec;
  return holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1_000 > now;
}

/** Signs of a live Admiralty. */
export interface AdmiraltySigns {
  /** Names of webhook configurations by which it is asked about elected pods. */
  readonly webhooks: readonly string[];
  /** `namespace/name` of Leases that its processes renew. */
  readonly leases: readonly string[];
}

/** What is read of a cluster. */
export interface AdmiraltyState {
  readonly configurations: readonly MutatingWebhookConfiguration[];
  /** Those with one of the names of {@link ADMIRALTY_LEASES}, of all namespaces. */
  readonly leases: readonly Lease[];
}

/** The signs; `now` is in ms since the epoch. */
export function signsOfAdmiralty({ configurations, leases }: AdmiraltyState, now: number): AdmiraltySigns {
  const asked = configurations.filter((configuration) => {
    const webhook = admiraltyWebhookOf(configuration);
    return webhook !== undefined && isAsked(webhook);
  });
  return { webhooks: asked.map(nameOf), leases: leases.filter((lease) => isHeld(lease, now)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`) };
}

/** Whether there is any. */
export function isLive({ webhooks, leases }: AdmiraltySigns): boolean {
  return webhooks.length + leases.length > 0;
}

/** The signs, for people. */
export function signsText({ webhooks, leases }: AdmiraltySigns): string {
  const parts = [...webhooks.map((name) => `MutatingWebhookConfiguration ${name}`), ...leases.map((name) => `Lease ${name}`)];
  return parts.join(', ');
}

function nameOf({ metadata }: KubernetesObject): string {
  return metadata.name ?? '';
}

/** Says which Admiralty's webhook is asked about elected pods at an address that is not ours; undefined when none is. */
export function askedElsewhere(configurations: readonly MutatingWebhookConfiguration[]): string | undefined {
  const ours = new Set(configurations.flatMap(({ webhooks = [] }) => webhooks.filter(({ name }) => name.endsWith(OWN_WEBHOOK_SUFFIX)).map(addressOf)));
  const theirs = configurations.find((configuration) => {
    const webhook = admiraltyWebhookOf(configuration);
    return webhook !== undefined && isAsked(webhook) && !ours.has(addressOf(webhook));
  });
  return theirs === undefined ? undefined : `Admiralty's webhook is asked about elected pods (MutatingWebhookConfiguration ${nameOf(theirs)})`;
}

/** Where a webhook is reached. */
export function addressOf({ clientConfig: { url, service } }: Pick<AdmiraltyWebhook, 'clientConfig'>): string {
  return url ?? `${service?.namespace}/${service?.name}:${service?.port ?? 443}${service?.path ?? '/'}`;
}
