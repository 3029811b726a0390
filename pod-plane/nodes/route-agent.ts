// The pod plane on a non-gateway node: routes traffic for pods of other clusters to the gateway node over VXLAN, and
// removes everything when it ends. It holds no key and sees only packets of its own pods.
import type { Logger } from 'pino';
import { toWorkerRuleset } from '../plan/packet-rules.ts';
import type { LinkNames } from '../plan/gateway-network.ts';
import { NetworkKeeper, TABLE } from '../network/node-network.ts';

/** Inputs of a node. */
export interface RouteAgentFacts {
  /** Address of this node within the cluster. */
  readonly nodeAddress: string;
  /** Address of the gateway node. */
  readonly gatewayAddress: string;
  /** Pod CIDRs of the other clusters, as this one sees them. */
  readonly remoteRanges: readonly string[];
  /** Pod CIDRs of this cluster. */
  readonly podRanges: readonly string[];
  /** MTU of the tunnel, in bytes. */
  readonly mtu: number;
}

const CHECK_MS = 5_000;

/** Reconciles a node's routes to the gateway. */
export class RouteAgent {
  readonly #keeper: NetworkKeeper;
  readonly #names: LinkNames;
  readonly #timer: NodeJS.Timeout;

  constructor(names: LinkNames, logger: Logger) {
    this.#names = names;
    this.#keeper = new NetworkKeeper(names, logger);
    this.#timer = setInterval(() => void this.#keeper.check(), CHECK_MS);
  }

  /** The last failure; undefined when everything is in place. */
  get failure(): string | undefined {
    return this.#keeper.failure;
  }

  /** Sets the routes; a gateway that moved to another node costs one route change. */
  async use({ nodeAddress, gatewayAddress, remoteRanges, podRanges, mtu }: RouteAgentFacts): Promise<void> {
    const device = this.#names.vxlan;
    await this.#keeper.keep({
      network: {
        links: [{ kind: 'vxlan', name: device, mtu, local: nodeAddress }],
        routes: remoteRanges.map((range) => ({ device, range, via: gatewayAddress })),
        neighbours: [{ device, address: gatewayAddress }],
        rules: [],
      },
      ruleset: toWorkerRuleset({ table: TABLE, vxlan: device, podRanges }),
    });
  }

  /** Stops and leaves the network to the gateway that this node becomes, which removes what it does not need. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeper.forget();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeper.close();
  }
}
