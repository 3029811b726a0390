// The parts of EndpointSlices that Isthmus uses.
import type { KubernetesObject } from './core.ts';
import type { ResourceType } from './group-version.ts';

/** A port of endpoints (`discovery.k8s.io/v1` EndpointPort). */
export interface EndpointPort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  readonly appProtocol?: string;
}

/** `discovery.k8s.io/v1` EndpointSlice. */
export interface EndpointSlice extends KubernetesObject {
  readonly addressType: string;
  readonly ports?: readonly EndpointPort[] | null;
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly hostname?: string;
    readonly zone?: string;
    /**
     * An absent `ready` counts as true, an absent `serving` as `ready` (`discovery.k8s.io/v1` EndpointConditions).
     */
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  }[] | null;
}

export const ENDPOINT_SLICES: ResourceType<EndpointSlice> =
  { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices', kind: 'EndpointSlice', namespaced: true };
