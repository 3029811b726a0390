// Usage and limits of each source in this cluster: the decision of ResourceShares. A delegate counts from its request
// on, so that concurrent creates do not exceed a limit together; a terminated one no longer counts.
import { ANY_SOURCE, type ResourceShareSpec } from '../../api/kinds/resource-share.ts';
import type { PublishedResourceShare } from '../../api/kinds/cluster-summary.ts';
import type { Container, PodSpec, ResourceList, ResourceRequirements } from '../../api/objects/core.ts';
import { podRequests } from '../../model/pod/pod-requests.ts';
import {
  addAmounts, formatResourceAmount, formatResourceList, NO_AMOUNTS, parseResourceList, subtractAmounts,
  type ResourceAmounts,
} from '../../model/resources/resources.ts';

/** A ResourceShare as it is cached. */
export interface ResourceShareRecord {
  readonly name: string;
  readonly spec: ResourceShareSpec;
}

/** Whether a delegate may be created; if not, a message for the pod's author. */
export type ResourceShareAdmission = { readonly kind: 'fits' }
  | { readonly kind: 'rejected'; readonly message: string };

interface Usage {
  readonly requests: ResourceAmounts;
  readonly limits: ResourceAmounts;
}

const NOTHING_USED: Usage = { requests: NO_AMOUNTS, limits: NO_AMOUNTS };
const FITS: ResourceShareAdmission = { kind: 'fits' };

/** ResourceShares and their usage. */
export class ResourceShareLedger {
  readonly #shares = new Map<string, ResourceShareRecord>();
  readonly #used = new Map<string, Usage>();
  readonly #charges = new Map<string, { readonly source: string; readonly usage: Usage }>();
  #total: ResourceAmounts | undefined;

  /** Sets or removes a share. */
  set(name: string, share: ResourceShareRecord | undefined): void {
    if (share === undefined) this.#shares.delete(name);
    else this.#shares.set(name, share);
  }

  /** Sets the cluster's total allocatable. */
  setTotal(allocatable: ResourceList): void {
    this.#total = parseResourceList(allocatable).amounts;
  }

  /** Whether all inputs are known. */
  get isReady(): boolean {
    return this.#total !== undefined || [...this.#shares.values()].every(({ spec }) => spec.percentage === undefined);
  }

  /** Counts the delegate of this key. */
  charge(key: string, source: string, spec: PodSpec): void {
    if (this.#charges.has(key)) return;
    const usage: Usage = { requests: podRequests(spec), limits: podLimits(spec) };
    this.#charges.set(key, { source, usage });
    this.#add(source, usage, addAmounts);
  }

  /** No longer counts the delegate of this key. */
  release(key: string): void {
    const charge = this.#charges.get(key);
    if (charge === undefined) return;
    this.#charges.delete(key);
    this.#add(charge.source, charge.usage, subtractAmounts);
  }

  /** Counts the delegate of this key if the shares of its source allow it. */
  admit(key: string, source: string, spec: PodSpec): ResourceShareAdmission {
    if (this.#charges.has(key)) return FITS;
    for (const share of this.#sharesOf(source)) {
      const admission = this.#check(share, source, spec);
      if (admission.kind === 'rejected') return admission;
    }
    this.charge(key, source, spec);
    return FITS;
  }

  #add(source: string, { requests, limits }: Usage, operation: typeof addAmounts): void {
    const before = this.#used.get(source) ?? NOTHING_USED;
    const after = { requests: operation(before.requests, requests), limits: operation(before.limits, limits) };
    if ([...after.requests.values()].every((amount) => amount === 0)) this.#used.delete(source);
    else this.#used.set(source, after);
  }

  #sharesOf(source: string): readonly ResourceShareRecord[] {
    const all = [...this.#shares.values()];
    const own = all.filter(({ spec }) => spec.source === source);
    return own.length > 0 ? own : all.filter(({ spec }) => spec.source === ANY_SOURCE);
  }

  #check({ name, spec }: ResourceShareRecord, source: string, pod: PodSpec): ResourceShareAdmission {
    if (spec.cordoned === true) {
      return rejected(`ResourceShare ${name} is cordoned: the cluster accepts no new pods of this source`);
    }
    if (spec.enforcement === 'None') return FITS;
    const limits = this.#limitsOf(spec);
    const isHard = spec.enforcement === 'Hard';
    const unlimited = isHard ? [...limits.keys()].find((resource) => isUnlimited(pod, resource)) : undefined;
    if (unlimited !== undefined) {
      return rejected(`ResourceShare ${name} counts limits of ${unlimited}; set one on each container`);
    }
    const used = this.#used.get(source) ?? NOTHING_USED;
    const asked =
      isHard ? { inUse: used.limits, more: podLimits(pod) } : { inUse: used.requests, more: podRequests(pod) };
    const excess = excessOf(asked, limits);
    return excess === undefined ? FITS : rejected(`exceeded ResourceShare ${name}, ${excess}`);
  }

  /** The effective limits of a share. */
  #limitsOf({ limits, percentage }: ResourceShareSpec): ResourceAmounts {
    const named = parseResourceList(limits).amounts;
    if (percentage === undefined) return named;
    const parts = [...(this.#total ?? NO_AMOUNTS)].map(
      ([resource, total]) => [resource, Math.floor((total * percentage) / 100)] as const,
    );
    return new Map([...parts, ...named]);
  }

  /** The status of a ResourceShare; one for any source does not name one. */
  statusOf({ spec }: ResourceShareRecord): { readonly limits: ResourceList; readonly used: ResourceList } {
    const used = this.#used.get(spec.source) ?? NOTHING_USED;
    const counted = spec.enforcement === 'Hard' ? used.limits : used.requests;
    return { limits: formatResourceList(this.#limitsOf(spec)), used: formatResourceList(counted) };
  }

  /** Published ResourceShares, one entry per source, sorted by source. */
  published(): readonly PublishedResourceShare[] {
    const sources =
      [...new Set([...this.#shares.values()].map(({ spec }) => spec.source))].toSorted((a, b) => (a < b ? -1 : 1));
    return sources.map((source) => {
      const shares = this.#sharesOf(source);
      const limits = shares.map(({ spec }) => this.#limitsOf(spec)).reduce(lesser);
      return {
        source, limits: formatResourceList(limits),
        ...(shares.some(({ spec }) => spec.cordoned === true) && { cordoned: true }),
      };
    });
  }
}

/** Requests beyond the limits, in the words of ResourceQuota. */
function excessOf(
  { inUse, more }: { readonly inUse: ResourceAmounts; readonly more: ResourceAmounts }, limits: ResourceAmounts,
): string | undefined {
  for (const [resource, limit] of limits) {
    const amounts = [inUse.get(resource) ?? 0, more.get(resource) ?? 0] as const;
    if (amounts[1] === 0 || amounts[0] + amounts[1] <= limit) continue;
    const [used, requested, limited] =
      [...amounts, limit].map((amount) => `${resource}=${formatResourceAmount(resource, amount)}`);
    return `requested: ${requested}, used: ${used}, limited: ${limited}`;
  }
  return undefined;
}

function rejected(message: string): ResourceShareAdmission {
  return { kind: 'rejected', message };
}

/** For each resource that either limits, the lower amount. */
function lesser(left: ResourceAmounts, right: ResourceAmounts): ResourceAmounts {
  const both = new Map(left);
  for (const [resource, amount] of right) both.set(resource, Math.min(amount, both.get(resource) ?? amount));
  return both;
}

/** A pod's limits, aggregated in the same way as requests. */
function podLimits(spec: PodSpec): ResourceAmounts {
  const limited = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) => ({ ...container, resources: { requests: container.resources?.limits ?? {} } }));
  return podRequests({
    ...spec,
    containers: limited(spec.containers),
    ...(spec.initContainers && { initContainers: limited(spec.initContainers) }),
    ...(spec.resources && { resources: { requests: spec.resources.limits ?? {} } }),
  });
}

/**
 * Whether some container, of either kind, may use as much CPU or memory as its node has: kubelets take 0 for no limit.
 * Other resources have requests equal to limits, or none.
 */
function isUnlimited({ containers, initContainers = [], resources }: PodSpec, resource: string): boolean {
  if (resource !== 'cpu' && resource !== 'memory') return false;
  const hasLimit = (of: ResourceRequirements | undefined): boolean =>
    (parseResourceList(of?.limits).amounts.get(resource) ?? 0) > 0;
  return !hasLimit(resources)
    && [...initContainers, ...containers].some((container) => !hasLimit(container.resources));
}
