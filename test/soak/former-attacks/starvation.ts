// Finding 5: whom somebody keeps waiting who reaches the webhook over the network, or may create pods.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHostileProcess } from '../../support/attackers/hostile-process.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { INSTALLED, path, said, type Thing } from './clusters.ts';
import { elected, harmless } from './pods.ts';
import { webhookUrl } from './webhook.ts';

/** An honest create takes no longer, in ms, also beside the other work of a machine. */
const TIMEOUT_MS = 3_000;
const LARGE = 5;

/** What a time of creates came to. */
interface Creates {
  readonly times: number[];
  readonly failures: string[];
}

/** Creates elected pods, ten a second and as dry runs, until it is told to end; gives ms for each, and refusals. */
async function createHonestly(attacked: Attacked, namespace: string, until: AbortSignal): Promise<Creates> {
  const creates: Creates = { times: [], failures: [] };
  const under: Promise<void>[] = [];
  for (let index = 0; !until.aborted; index += 1) {
    under.push(createOne(attacked, namespace, `honest-${index}`, creates));
    await sleep(100);
  }
  await Promise.all(under);
  return creates;
}

async function createOne(
  { source }: Attacked,
  namespace: string,
  name: string,
  { times, failures }: Creates,
): Promise<void> {
  const startedAt = performance.now();
  const body = elected({ name }, harmless());
  const answer = await source.admin.call({
    method: 'POST',
    path: `${path('api/v1', 'pods', namespace)}?dryRun=All`,
    body,
  });
  times.push(performance.now() - startedAt);
  if (answer.status !== 201) failures.push(said(answer));
  else if (!answer.text.includes('"schedulerName":"admiralty-proxy"')) failures.push('it was not elected');
}

/** Twelve connections that send what takes the webhook long, while something is done. */
async function underLoad<T>(attacked: Attacked, act: () => Promise<T>): Promise<T> {
  const { port } = await webhookUrl(attacked);
  // From a process that has the processor when nobody else wants it.
  const hostile = startHostileProcess(
    {
      port: Number(port), from: '127.0.0.66', attacks: ['reviews of 600,000 annotations'], connections: 12, pauseMs: 5,
    },
    19,
  );
  try {
    return await act();
  } finally {
    await hostile.stop();
  }
}

const slowestOf = ({ times }: Creates): number => Math.round(Math.max(...times));

/** What becomes of creates in eight seconds; what the slowest takes without that load is told beside. */
async function starve(attacked: Attacked): Promise<Outcome> {
  const namespace = 'starved';
  await attacked.namespace(namespace);
  const create = (): Promise<Creates> => createHonestly(attacked, namespace, AbortSignal.timeout(8_000));
  const before = slowestOf(await create());
  const creates = await underLoad(attacked, create);
  const { times, failures } = creates;
  const slowest = slowestOf(creates);
  const first = failures[0] === undefined ? '' : `: ${failures[0].slice(0, 120)}`;
  const failed = `${failures.length} of ${times.length} honest creates failed`;
  const got = `${failed}, the slowest took ${slowest} ms (${before} ms before)${first}`;
  return failures.length > 0 || slowest > TIMEOUT_MS ? through(got) : stopped(got);
}

/** The longest time between two renewals of one of the Leases by which components lead, in ms, over 30 s. */
async function longestRenewal({ source: { admin } }: Attacked): Promise<number> {
  const renewals = new Map<string, readonly [at: number, longest: number]>();
  const over = AbortSignal.timeout(30_000);
  for (let isLast = false; !isLast; await sleep(200)) {
    isLast = over.aborted;
    const leases = { method: 'GET', path: path('apis/coordination.k8s.io/v1', 'leases', INSTALLED) };
    for (const { metadata, spec } of (await admin.json<{ readonly items: readonly Thing[] }>(leases)).items) {
      const { renewTime } = spec as { readonly renewTime: string };
      const now = Date.parse(renewTime);
      const [at, longest] = renewals.get(metadata.name) ?? [now, 0];
      renewals.set(metadata.name, [now, Math.max(longest, (isLast ? Date.now() : now) - at)]);
    }
  }
  return Math.max(...[...renewals.values()].map(([, longest]) => longest));
}

/** How long the Leases of the same process go without a renewal, beside what they do without that load. */
async function stallLeases(attacked: Attacked): Promise<Outcome> {
  const before = await longestRenewal(attacked);
  const under = await underLoad(attacked, () => longestRenewal(attacked));
  const got = `a Lease was renewed after ${under} ms (${before} ms before)`;
  return under > before + TIMEOUT_MS ? through(got) : stopped(got);
}

/** CPU that a process has taken so far, in ms. */
async function cpuOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Creates pods of 2.5 MB, which no API server stores, as fast as they are refused; what each costs the process, beside
 * what that takes by itself.
 */
async function sendLargePods(attacked: Attacked): Promise<Outcome> {
  const namespace = 'large';
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const env = Array.from({ length: 2_500 }, (_, index) => ({
    name: `V${index}`,
    value: [...randomBytes(960)].map((byte) => 'ACGT'[byte % 4]).join(''),
  })); // takes longest to compress
  const pod = elected({ name: 'large' }, { containers: [{ name: 'main', image: 'example/large:1', env }] });
  const pid = await attacked.processOf(attacked.source);
  const measure = async (act: () => Promise<unknown>): Promise<number> => {
    const before = await cpuOf(pid);
    await act();
    return (await cpuOf(pid)) - before;
  };
  const startedAt = performance.now();
  let refusal = '';
  const cost = await measure(async () => {
    for (let index = 0; index < LARGE; index += 1)
      refusal = said(await tenant.call({ method: 'POST', path: path('api/v1', 'pods', namespace), body: pod }));
  });
  const took = performance.now() - startedAt;
  if (refusal.includes('failed calling webhook')) throw new Error(refusal);
  const idle = await measure(() => sleep(took));
  const each = Math.round((cost - idle) / LARGE);
  const got = `${each} ms of CPU for each; ${refusal}`;
  return each > 300 ? through(got) : stopped(got);
}

/** These attacks. */
export const STARVATION_ATTACKS: readonly Attack[] = [
  // First: it looks how the process fares without any load.
  {
    finding: 5,
    what: '12 connections send reviews of 7.7 MB for 30 s: how late Leases of the same process are renewed',
    make: stallLeases,
  },
  { finding: 5, what: `a user creates ${LARGE} pods of 2.5 MB, one after the other`, make: sendLargePods },
  { finding: 5, what: '12 connections send reviews of 7.7 MB with 600,000 annotations for 8 s', make: starve },
];
