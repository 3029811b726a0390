// `--gateway`, `--gateway-cluster` and `--pod-plane-cluster` of peering commands: the target's cluster ID, and whether
// it is reached through the gateway.
import type { Command } from 'commander';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { isClusterId } from '../../model/network/gateway-names.ts';
import { AppError } from '../../process/errors.ts';
import { parseGateways } from './run-flags.ts';

/** As commander gives them. */
export interface GatewayFlags {
  /** CONNECT endpoints of this cluster's gateways. */
  readonly gateway?: readonly URL[];
  /** ID of the target in the clusterset. */
  readonly gatewayCluster?: string;
  /** ID of the target in the clusterset, for its pods. */
  readonly podPlaneCluster?: string;
}

/** Adds the options. */
export function withGatewayRoute(command: Command): Command {
  return command
    .option(
      '--gateway <urls>',
      "CONNECT endpoints of the gateways of the source, http://HOST:PORT, comma separated: the target's server is " +
        "reached through them",
      parseGateways,
    )
    .option('--gateway-cluster <id>', 'ID of the target in the clusterset; set as spec.gateway in its (Cluster)Target')
    .option(
      '--pod-plane-cluster <id>',
      'ID of the target in the clusterset if the pod plane reaches its pods; set as spec.podPlane; "peer" detects ' +
        'it by default',
    );
}

/**
 * The route through the gateway; undefined for a direct connection. Throws AppError `BadInput` for one option without
 * the other.
 */
export function gatewayRoute({ gateway, gatewayCluster }: GatewayFlags): GatewayRoute | undefined {
  if (gateway === undefined && gatewayCluster === undefined) return undefined;
  if (gateway === undefined || gatewayCluster === undefined) {
    throw new AppError('BadInput', '--gateway and --gateway-cluster must be used together.');
  }
  requireClusterId('--gateway-cluster', gatewayCluster);
  return { clusterId: gatewayCluster, endpoints: gateway };
}

/** The pod-plane member of the target; undefined when not given. Throws AppError `BadInput` for an invalid ID. */
export function podPlaneCluster({ podPlaneCluster: id }: GatewayFlags): string | undefined {
  if (id !== undefined) requireClusterId('--pod-plane-cluster', id);
  return id;
}

function requireClusterId(flag: string, text: string): void {
  if (!isClusterId(text)) {
    throw new AppError('BadInput', `${flag} must be the ID of a cluster in the clusterset, not "${text}".`);
  }
}
