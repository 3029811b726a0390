// Reconciles a node's network: checks every few seconds and after each change, reverts changes made by others, and
// removes everything at the end. Operations are serialized.
import type { Logger } from 'pino';
import { messageOf } from '../../process/errors.ts';
import type { LinkNames } from '../plan/gateway-network.ts';
import { planNetwork, planRemoval, type Network } from '../plan/network-plan.ts';
import { applyRuleset, loosenReversePath, observeNetwork, readTable, runCommands } from './network-tools.ts';
import { removal } from '../plan/packet-rules.ts';

/** Links, and packet rules as a transaction of nft. */
export interface NodePlane {
  readonly network: Network;
  readonly ruleset: object;
}

/** Name of the nftables table on every node. */
export const TABLE = 'isthmus';
/** The names in a cluster; tests with several gateways on a machine use others. */
export const LINK_NAMES: LinkNames = { tunnel: 'isthmus-wg', vxlan: 'isthmus-vx' };

/** Reconciles a node's part of the pod plane. */
export class NetworkKeeper {
  readonly #names: readonly string[];
  readonly #logger: Logger;
  #wanted: NodePlane | undefined;
  #appliedRules = '';
  #listing: string | undefined;
  #turn: Promise<void> = Promise.resolve();
  #failure: string | undefined;

  constructor(names: LinkNames, logger: Logger) {
    this.#names = [names.tunnel, names.vxlan];
    this.#logger = logger;
  }

  /** The last failure; undefined when everything is in place. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Sets the desired network; resolves when it is in place or has failed: see {@link failure}. */
  keep(wanted: NodePlane): Promise<void> {
    this.#wanted = wanted;
    return this.check();
  }

  /** Repairs differences. */
  check(): Promise<void> {
    return this.#oneAtATime(() => this.#repair());
  }

  /** Stops without removing anything; resolves when pending operations are done. */
  forget(): Promise<void> {
    return this.#oneAtATime(async () => void (this.#wanted = undefined));
  }

  /** Removes everything. */
  async close(): Promise<void> {
    await this.#oneAtATime(async () => {
      this.#wanted = undefined;
      await this.#removeAll();
    });
  }

  async #repair(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    // rules name links, and may exist before them
    await Promise.all([this.#repairLinks(wanted.network), this.#repairRules(wanted.ruleset)]);
  }

  async #repairLinks(network: Network): Promise<void> {
    const commands = planNetwork(network, await observeNetwork(this.#names));
    await runCommands(commands);
    if (commands.some(([, ...args]) => args[0] === 'link')) {
      await Promise.all(network.links.map(({ name }) => loosenReversePath(name)));
    }
  }

  async #repairRules(ruleset: object): Promise<void> {
    const rules = JSON.stringify(ruleset);
    const isSame = rules === this.#appliedRules;
    if (isSame && this.#listing === (await readTable(TABLE))) return;
    if (isSame) this.#logger.warn({ table: TABLE }, 'the packet rules were changed by somebody else; restoring them');
    await applyRuleset(ruleset);
    this.#appliedRules = rules;
    this.#listing = await readTable(TABLE);
  }

  async #removeAll(): Promise<void> {
    await runCommands(planRemoval(this.#names, await observeNetwork(this.#names)));
    await applyRuleset({ nftables: removal(TABLE) });
    this.#appliedRules = '';
  }

  #oneAtATime(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(() => this.#attempt(work));
    return this.#turn;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    const failure = await work().then(() => undefined, messageOf);
    if (failure !== undefined && failure !== this.#failure) {
      this.#logger.warn({ error: failure }, 'the network of this node differs from its plan');
    }
    this.#failure = failure;
  }
}
