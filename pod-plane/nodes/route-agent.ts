// The pod plane on a node that is not the gateway: sends what is for pods of other clusters to the gateway node over VXLAN, and leaves no trace when
// it ends. It holds no key and sees packets only on their way from its own pods.
import type { Logger } from 'pino';
import { toWorkerRuleset } from '../plan/packet-rules.ts';
import type { LinkNames } from '../plan/gateway-network.ts';
import { NetworkKeeper, TABLE } from '../network/node-network.ts';

/** What a node needs to know. */
export interface RouteAgentFacts {
  /** Address of this node for the other nodes. */
  readonly nodeAddress: string;
  /** Address of the gateway node. */
  readonly gatewayAddress: string;
  /** Pod ranges of the other clusters, as this one sees them. */
  readonly remoteRanges: readonly string[];
  /** Pod ranges of this cluster. */
  readonly podRanges: readonly string[];
  /** Largest packet of the tunnel, in bytes. */
  readonly mtu: number;
}

const CHECK_MS = 5_000;

/** Keeps a node's routes to the gateway. */
export class RouteAgent {
  readonly #keeper: NetworkKeeper;
  readonly #names: LinkNames;
  readonly #timer: NodeJS.Timeout;

  constructor(names: LinkNames, logger: Logger) {
    this.#names = names;
    this.#keeper = new NetworkKeeper(names, logger);
    this.#timer = setInterval(() => void this.#keeper.check(), CHECK_MS);
  }

  /** What last went wrong; undefined when all is as it should be. */
  get failure(): string | undefined {
    return this.#keeper.failure;
  }

  /** Routes so from now on; a gateway that has moved to another node takes one change of the route. */
  async use({ nodeAddress, gatewayAddress, remoteRanges, podRanges, mtu }: RouteAgentFacts): Promise<void> {
    const device = this.#names.overlay;
    await this.#keeper.keep({
      network: {
        links: [{ kind: 'vxlan', name: device, mtu, local: nodeAddress }],
        routes: remoteRanges.map((range) => ({ device, range, via: gatewayAddress })),
        neighbours: [{ device, address: gatewayAddress }],
        rules: [],
      },
      ruleset: toWorkerRuleset({ table: TABLE, overlay: device, podRanges }),
    });
  }

  /** Ends, and leaves what is there to the gateway that this node becomes: it takes it over, and what it does not need goes. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeper.forget();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeper.close();
  }
}
