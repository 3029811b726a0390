// Resource requests of a pod: the rules of `k8s.io/component-helpers/resource`, PodRequests (v1.36), for pods that may
// not have passed an API server: missing requests default to limits as in `SetDefaults_Pod`. Container requests are
// rounded up one by one, so a sum may exceed kube-scheduler's by less than a unit per container.

import type {
  Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceList, ResourceRequirements,
} from '../../api/objects/core.ts';
import { findCondition } from '../objects/conditions.ts';
import { isRecord } from '../objects/json-values.ts';
import {
  addAmounts,
  CPU,
  formatResourceList,
  HUGE_PAGES_PREFIX,
  maxAmounts,
  NO_AMOUNTS,
  parseResourceList,
  PODS,
  type ResourceAmounts,
} from '../resources/resources.ts';

/**
 * The requests that must be free on a node for this pod, `pods: 1` included. Invalid quantities count 0: the API server
 * rejects a pod that has one.
 */
export function podRequests(spec: PodSpec): ResourceAmounts {
  const alike = soleResources(spec);
  if (alike === undefined) return computed(spec);
  let known = KNOWN.get(alike);
  if (known === undefined) KNOWN.set(alike, (known = computed(spec)));
  return known;
}

/**
 * What a pod with a node holds there: as {@link podRequests}, but while it is resized in place what it has, what its
 * node has granted or what it asks for, whichever is most. What its node can never grant does not count (PodRequests
 * with `UseStatusResources`, as kube-scheduler counts pods of nodes). Of a pod that was never changed only the spec is
 * read: `metadata.generation` counts changes from 1.
 */
export function heldRequests({ metadata, spec, status = {} }: Pod): ResourceAmounts {
  if ((metadata.generation ?? 0) <= 1) return podRequests(spec);
  const isInfeasible = findCondition(status.conditions, 'PodResizePending')?.reason === 'Infeasible';
  const { containers, initContainers = [], overhead = {}, resources } = spec;
  const { containerStatuses = [], initContainerStatuses = [] } = status;
  const states = new Map([...containerStatuses, ...initContainerStatuses].map((state) => [state.name, state]));
  const held = ({ name, resources: asked }: Container): Container =>
    ({ name, ...toHeld(asked, states.get(name) ?? {}, isInfeasible) });
  return podRequests({
    containers: containers.map(held), overhead,
    initContainers: initContainers.map(
      (one) => (one.restartPolicy === 'Always' ? { ...held(one), restartPolicy: 'Always' } : one),
    ),
    ...toHeld(resources, resources?.requests === undefined ? {} : status, isInfeasible),
  });
}

/** The resources of a container, or of a pod as a whole, with what it holds as its requests. */
function toHeld(
  asked: ResourceRequirements | undefined,
  { resources, allocatedResources }: Pick<ContainerStatus | PodStatus, 'resources' | 'allocatedResources'>,
  isInfeasible: boolean,
): { readonly resources?: ResourceRequirements } {
  if (resources === undefined) return asked === undefined ? {} : { resources: asked };
  const amountsOf = (list: ResourceList | undefined) => parseResourceList(list).amounts;
  const has = maxAmounts(amountsOf(resources.requests), amountsOf(allocatedResources));
  const requests = isInfeasible ? has : maxAmounts(amountsOf(asked?.requests), has);
  return { resources: { ...asked, requests: formatResourceList(requests) } };
}

/** Requests of single-container pods by their resources object, which many pods share. */
const KNOWN = new WeakMap<ResourceRequirements, ResourceAmounts>();

/** The one object that determines all requests of this pod, if there is one and it is immutable. */
function soleResources({ containers, initContainers, overhead, resources }: PodSpec): ResourceRequirements | undefined {
  if (containers.length !== 1 || initContainers !== undefined || overhead !== undefined || resources !== undefined) {
    return undefined;
  }
  const sole = containers[0]?.resources;
  const isFrozen = Object.isFrozen(sole) && Object.isFrozen(sole?.requests) && Object.isFrozen(sole?.limits);
  // null, too, as a template leaves it, or a text: no schema checks the spec of a chaperon
  return isFrozen && isRecord(sole) ? sole : undefined;
}

function computed(spec: PodSpec): ResourceAmounts {
  const aggregate = aggregateContainerRequests(spec);
  const overridden = new Map([...aggregate, ...podLevelRequests(spec.resources, aggregate)]);
  const withOverhead = addAmounts(overridden, parseResourceList(spec.overhead).amounts);
  return new Map([...withOverhead, [PODS, 1]]);
}

// The pod must fit at its start, when init containers run one by one next to the sidecars started before them, and
// later, when the containers run next to all sidecars.
function aggregateContainerRequests(spec: PodSpec): ResourceAmounts {
  let sidecars = NO_AMOUNTS;
  let starting = NO_AMOUNTS;
  for (const container of spec.initContainers ?? []) {
    const atThisStep = addAmounts(sidecars, containerRequests(container));
    starting = maxAmounts(starting, atThisStep);
    if (container.restartPolicy === 'Always') sidecars = atThisStep;
  }
  const running = spec.containers.map(containerRequests).reduce(addAmounts, sidecars);
  return maxAmounts(running, starting);
}

function containerRequests(container: Container): ResourceAmounts {
  const { requests, limits } = container.resources ?? {};
  return new Map([...parseResourceList(limits).amounts, ...parseResourceList(requests).amounts]);
}

// `spec.resources` overrides the aggregate for the resources that it may name. Its limits are the default of requests
// only where no container requests the resource; huge pages cannot be overcommitted, so there the limit always is.
function podLevelRequests(resources: ResourceRequirements | undefined, aggregate: ResourceAmounts): ResourceAmounts {
  const requests = parseResourceList(resources?.requests).amounts;
  const defaults = [...parseResourceList(resources?.limits).amounts].filter(
    ([resource]) => resource.startsWith(HUGE_PAGES_PREFIX) || !aggregate.has(resource),
  );
  return new Map([...defaults, ...requests].filter(([resource]) => isPodLevelResource(resource)));
}

function isPodLevelResource(resource: string): boolean {
  return resource === CPU || resource === 'memory' || resource.startsWith(HUGE_PAGES_PREFIX);
}
