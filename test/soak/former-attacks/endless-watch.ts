// Finding 9: how much the source takes from the server of a tenant's Target.
import { readFile } from 'node:fs/promises';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import {
  certificatesOfLoopback,
  HostileServer,
  tenantKubeconfig,
  writeForEver,
  type Answer,
} from '../../support/attackers/hostile-api-server.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { follow, letReadSecrets, readyOf } from './tenants.ts';

const NEVER = new AbortController().signal;
const MiB = 1 << 20;
/** Where an endless line is ended in any case. */
const ENOUGH_MIB = 192;
async function memoryOf(pid: number): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
}

/**
 * A server that is an API server until it is asked for a watch, whose first line never ends; followed by the source's
 * own process.
 */
async function sendEndlessLine(attacked: Attacked): Promise<Outcome> {
  const namespace = 'tenant-endless';
  await attacked.namespace(namespace);
  await letReadSecrets(attacked.source, namespace);
  const certificates = await certificatesOfLoopback();
  const pid = await attacked.processOf(attacked.source);
  const before = await memoryOf(pid);
  const server = await HostileServer.http(certificates, endless);
  try {
    const tenant = await attacked.tenant(attacked.source, namespace);
    const following = follow(
      tenant,
      namespace,
      'endless',
      tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates),
    ).then(readyOf, (error: Error) => error.message);
    let peak = before;
    const isOver = async (): Promise<true | undefined> => {
      peak = Math.max(peak, await memoryOf(pid));
      return server.bytesTaken > ENOUGH_MIB * MiB ? true : undefined;
    };
    await pollUntil(isOver, { forMs: 15_000, everyMs: 50 }, NEVER);
    const taken = Math.round(server.bytesTaken / MiB);
    const growth = Math.round(peak - before);
    const told = (await following).slice(0, 90);
    const got = `in 15 s ${taken} MiB were taken, the process grew by ${growth} MiB; ${told}`;
    return taken > 64 ? through(got) : stopped(got);
  } finally {
    server.stop();
  }
}

const endless: Answer = ({ url }, response) => {
  if (url.includes('/namespaces/kube-system'))
    response.end(JSON.stringify({ metadata: { name: 'kube-system', uid: 'u' } }));
  else if (url.includes('watch=')) writeForEver(response, Buffer.alloc(65_536, 'x'));
  else response.end(JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }));
};

/** These attacks. */
export const ENDLESS_WATCH_ATTACKS: readonly Attack[] = [
  {
    finding: 9,
    what: "the server of a tenant's Target sends a line of a watch that does not end",
    make: sendEndlessLine,
  },
];
