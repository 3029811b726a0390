// A source in three processes, as a user with two replicas has it: the webhook, and two of all else, of which one holds the Leases.
import { LEASES } from '../../api/resource-types.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/keys.ts';
import { leaseName } from '../../cli/leadership.ts';
import { lookFor } from '../../cli/apply-objects.ts';
import { startComponent, type ComponentProcess } from '../../sandbox/component-process.ts';
import type { IsthmusWorld } from './isthmus-world.ts';

/** The processes; `stop` ends those that live, and starts the one that the world had. */
export interface SourceWithStandby {
  readonly leader: ComponentProcess;
  readonly standby: ComponentProcess;
  stop(): Promise<void>;
}

/** Has the leader's name say that it runs on another machine: else the standby sees at once that its process has gone. */
const ELSEWHERE = "data:text/javascript,import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; fs.readlinkSync = () => 'elsewhere'; syncBuiltinESMExports();";
const ACTING = 'scheduler,delegate-controller,virtual-node,peering';
const PATIENCE = { forMs: 60_000, everyMs: 50 };

/** Stops the source's one process and starts the three; resolves once one leads and the other waits. */
export async function startSourceWithStandby({ isthmus, source, signal }: IsthmusWorld): Promise<SourceWithStandby> {
  const name = source.cluster.name;
  const whole = isthmus.processes.get(name)!;
  await whole.stop();
  const start = (role: string, components: string, ...flags: string[]) => {
    const [node, ...args] = whole.spec.command;
    const at = args.indexOf('--components') + 1;
    const logPath = whole.spec.logPath.replace('.log', `-${role}.log`);
    return startComponent({ ...whole.spec, name: `${name}/isthmus-${role}`, logPath, command: [node, ...flags, ...args.with(at, components)] });
  };
  const holder = async () => (await source.client.get(LEASES, { namespace: DEFAULT_INSTALL_NAMESPACE, name: leaseName('virtual-node') }, signal)).spec?.holderIdentity;
  const webhook = await start('webhook', 'webhook');
  const leader = await start('leader', ACTING, '--import', ELSEWHERE);
  await lookFor(async () => ((await holder()) ? true : undefined), PATIENCE, signal);
  const standby = await start('standby', ACTING);
  const stop = async () => {
    await Promise.all([webhook, leader, standby].map((component) => component.stop()));
    await isthmus.restart(name);
  };
  return { leader, standby, stop };
}
