// A source in three processes, as a user with two replicas has it: the webhook, and two of all else, of which one holds
// the Leases.
import { LEASES } from '../../../api/resource-types.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { leaseName } from '../../../cli/run/leadership.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { IsthmusWorld } from './isthmus-world.ts';

/** The processes; `stop` ends those that live, and starts the one that the world had. */
export interface SourceWithStandby {
  readonly leader: ComponentProcess;
  readonly standby: ComponentProcess;
  stop(): Promise<void>;
}

/**
 * Has the leader's name say that it runs on another machine: else the standby sees at once that its process has gone.
 */
const ELSEWHERE =
  "data:text/javascript,import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; " +
    "fs.readlinkSync = () => 'elsewhere'; syncBuiltinESMExports();";
/** What only one replica does at a time. */
export const ACTING = 'scheduler,delegate-controller,virtual-node,peering';
const POLLING = { forMs: 60_000, everyMs: 50 };

/** Stops the source's one process and starts the three; resolves once one leads and the other waits. */
export async function startSourceWithStandby(world: IsthmusWorld): Promise<SourceWithStandby> {
  const { isthmus, source, signal } = world;
  const name = source.cluster.name;
  await isthmus.processes.get(name)?.stop();
  const webhook = await startPart(world, { role: 'webhook', components: 'webhook' });
  const leader = await startPart(world, { role: 'leader', components: ACTING, nodeFlags: ['--import', ELSEWHERE] });
  await pollUntil(async () => await leaseHolder(world), POLLING, signal);
  const standby = await startPart(world, { role: 'standby', components: ACTING });
  const stop = async () => {
    await Promise.all([webhook, leader, standby].map((component) => component.stop()));
    await isthmus.restart(name);
  };
  return { leader, standby, stop };
}

/** A process of the source that runs some of its components. */
export interface Part {
  /** Unique among the parts; its log is named by it. */
  readonly role: string;
  readonly components: string;
  /** For Node.js. */
  readonly nodeFlags?: readonly string[];
  /** Options of `run` that replace those of the whole, with their values. */
  readonly options?: Readonly<Record<string, string>>;
}

/** Starts a part like the source's whole process, which may have ended by now. */
export function startPart(
  { isthmus, source }: IsthmusWorld, { role, components, nodeFlags = [], options = {} }: Part,
): Promise<ComponentProcess> {
  const { name } = source.cluster;
  const { spec } = isthmus.processes.get(name)!;
  const [node, ...whole] = spec.command;
  const health = whole.indexOf('--health-port'); // only one process can have it
  const args = health === -1 ? whole : whole.toSpliced(health, 2);
  const replaced =
    Object.entries({ '--components': components, ...options }).reduce<readonly string[]>((all, [option, value]) => {
    const at = all.indexOf(option);
    return at === -1 ? [...all, option, value] : all.with(at + 1, value);
  }, args);
  const logPath = spec.logPath.replace('.log', `-${role}.log`);
  return startComponent(
    { ...spec, name: `${name}/isthmus-${role}`, logPath, command: [node, ...nodeFlags, ...replaced] },
  );
}

/** Who leads the virtual nodes now, undefined when nobody does. */
export async function leaseHolder({ source, signal }: IsthmusWorld): Promise<string | undefined> {
  const { spec } =
    await source.client.get(LEASES, { namespace: DEFAULT_INSTALL_NAMESPACE, name: leaseName('virtual-node') }, signal);
  return spec?.holderIdentity || undefined;
}
