// A gateway's pod plane as a program of a namespace: it is asked by lines of JSON (see NamespaceProgram), and ends
// properly when its input ends.
import { createInterface } from 'node:readline';
import { LINK_NAMES } from '../../../pod-plane/network/node-network.ts';
import type { PodPeer } from '../../../pod-plane/plan/pod-plane-plan.ts';
import { RouteAgent, type RouteAgentFacts } from '../../../pod-plane/nodes/route-agent.ts';
import {
  startWireguardDriver, type WireguardDriver, type WireguardDriverOptions,
} from '../../../pod-plane/wireguard/wireguard-cable.ts';
import { createLogger } from '../../../process/logger.ts';

/** What a gateway program is asked. */
export type GatewayQuestion =
  | { readonly ask: 'start'; readonly options: Omit<WireguardDriverOptions, 'changed' | 'logger' | 'names'> }
  | { readonly ask: 'connect'; readonly peer: PodPeer }
  | { readonly ask: 'disconnect'; readonly clusterId: string }
  | { readonly ask: 'key'; readonly privateKey: string }
  | { readonly ask: 'connections' }
  | { readonly ask: 'route'; readonly facts: RouteAgentFacts };

// Standard output is for answers.
const logger = createLogger('silent');
let driver: WireguardDriver | undefined;
let agent: RouteAgent | undefined;

function started(): WireguardDriver {
  if (driver === undefined) throw new Error('not started');
  return driver;
}

async function answer(question: GatewayQuestion): Promise<object> {
  switch (question.ask) {
    case 'start':
      driver = await startWireguardDriver({ ...question.options, names: LINK_NAMES, changed: () => undefined, logger });
      await driver.settled();
      return { failure: driver.failure ?? '' };
    case 'connect':
      started().connect(question.peer);
      return {};
    case 'disconnect':
      started().disconnect(question.clusterId);
      await started().settled();
      return {};
    case 'key':
      started().useKey(question.privateKey);
      await started().settled();
      return {};
    case 'connections':
      return { connections: started().connections(), failure: started().failure ?? '' };
    case 'route':
      agent ??= new RouteAgent(LINK_NAMES, logger);
      await agent.use(question.facts);
      return { failure: agent.failure ?? '' };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = await answer(JSON.parse(line) as GatewayQuestion).catch(
    (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
  );
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await driver?.close();
await agent?.close();
