// The first process of a node, or of the switch of a cluster, as this machine sees it: it holds their namespaces.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxRecord } from '../../../sandbox/sandbox-record.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';

/** Its id; a component is `NODE/init` or `network`. */
export async function firstProcess({ dir }: Pick<Sandbox, 'dir'>, cluster: string, component: string): Promise<number> {
  const record = JSON.parse(await readFile(join(dir, 'sandbox.json'), 'utf8')) as SandboxRecord;
  const found = record.processes.find((one) => one.cluster === cluster && one.component === component);
  const children = await readFile(`/proc/${found?.pid}/task/${found?.pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}
