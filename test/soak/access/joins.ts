// `npm run soak -- joins [rounds] [seed]` (0 rounds: the times alone; --only-rounds: without them): from two bare
// clusters to the first remote pod both ways, timed; then joined and left again and again, commands and processes
// killed after a random one of their steps, in every fourth round joined again with another token, until both sides
// have exactly the objects that they had before. Prints a table; fails when a way takes more than four commands or 30
// s, or when an object is left or missing.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_SUMMARIES, CLUSTER_TARGETS, CONFIG_MAPS,
  INVITATIONS, JOIN_REQUESTS, LEASES, NAMESPACES, NODES, POD_CHAPERONS, PODS, ROLE_BINDINGS, ROLES, SECRETS,
  SERVICE_ACCOUNTS, SOURCES, TARGETS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { isNotFound, unless, UnreachableError } from '../../../kubernetes/flow/api-error.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import { isthmus, RunningCommand } from '../../support/processes/command-line.ts';
import { firstPodByPeer, firstPodByToken, HALF_WAY } from '../../support/docs/first-pod.ts';
import { seededRandom } from '../../support/objects/seeded-random.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const [roundsText = '20', seedText = '20261121'] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const rounds = Number(roundsText);
const seed = Number(seedText);
const random = seededRandom(seed);
const signal = untilStopped();
const NAME = 'joined';
/** Lines that commands print that are not killed: from the first that says something was written to the last. */
const LINES = { peer: [1, 22], token: [2, 9], leave: [1, 6] } as const;
type Lines = readonly [first: number, last: number];
/** From the line to the kill, at most, in ms. */
const MOMENT_MS = 100;
/** In which a process is killed while a command runs, in ms. */
const TYPICAL_MS = 3_000;
const MAX_COMMANDS = 4;
const MAX_SECONDS = 30;
const TYPES: readonly ResourceType[] = [
  CLUSTER_SOURCES, SOURCES, CLUSTER_TARGETS,
  TARGETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
  SECRETS, CONFIG_MAPS, NAMESPACES, NODES, LEASES, CLUSTER_SUMMARIES, POD_CHAPERONS, PODS, INVITATIONS, JOIN_REQUESTS,
];

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const dir = await mkdtemp(join(tmpdir(), 'isthmus-joins-'));
try {
  if (!process.argv.includes('--only-rounds')) await firstPods();
  if (rounds > 0) await joinAndLeave();
} finally {
  await rmdir(dir);
}

async function firstPods(): Promise<void> {
  for (const [way, by] of [['peer', firstPodByPeer], ['invite and join', firstPodByToken]] as const) {
    await firstPod(way, by);
    await firstPod(`${way}, each killed half-way at first`, (bare, ended) =>
      by({ ...bare, killedAfter: HALF_WAY }, ended));
  }
}

async function firstPod(way: string, by: typeof firstPodByPeer): Promise<void> {
  const sandbox =
    await startTestSandbox({ dir: join(dir, 'bare'), targets: 1, nodes: 1, gpus: 0, audit: false }, signal);
  const [source, target] = sandbox.clusters;
  try {
    const first = await by({ source: source!.kubeconfigPath, target: target!.kubeconfigPath, name: 'first' }, signal);
    await first.stop();
    const steps = first.steps.map(({ what, seconds }) => `${what} ${seconds.toFixed(1)}`).join(', ');
    print(`${way}: ${first.commands.length} commands, ${first.seconds.toFixed(1)} s (${steps})`);
    assert.ok(first.commands.length <= MAX_COMMANDS && first.seconds <= MAX_SECONDS, `${way} takes too much`);
  } finally {
    await sandbox.stop();
  }
}

async function joinAndLeave(): Promise<void> {
  const sandbox =
    await startTestSandbox({ dir: join(dir, 'joined'), targets: 1, nodes: 1, gpus: 0, audit: false }, signal);
  const world = await startIsthmus(sandbox, signal);
  const opened = await Promise.all(
    sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
  );
  const [source, target] = opened;
  const [sourceFile = '', targetFile = ''] = sandbox.clusters.map(({ kubeconfigPath }) => kubeconfigPath);

  /**
   * What there is, without what comes and goes by itself: leases of others, and roots that a control plane makes late.
   */
  const all = async (): Promise<readonly string[]> => {
    const lists = [source!, target!].flatMap(({ client }, side) => TYPES.map(async (type) =>
      (await client.list(type, {}, signal)).map(
        ({ metadata }) =>
          `${side === 0 ? 'source' : 'target'} ${type.kind} ${metadata.namespace ?? ''}/${metadata.name}`,
      )));
    return (await Promise.all(lists)).flat().filter(
      (one) => !/ (kube-[a-z-]+\/(?!admiralty)|\/system:)/.test(one),
    ).toSorted();
  };
  const untilEqual = async (before: readonly string[]): Promise<number> => {
    const startedAt = performance.now();
    let now: readonly string[] = [];
    const look = async () => ((now = await all().catch(unlessUnreachable)).join() === before.join() ? true : undefined);
    const isEqual = await pollUntil(look, { forMs: 120_000, everyMs: 200 }, signal);
    assert.ok(
      isEqual,
      `left: ${now.filter((one) => !before.includes(one)).join(', ')}; missing: ` +
        before.filter((one) => !now.includes(one)).join(', '),
    );
    return performance.now() - startedAt;
  };
  /**
   * Kills after a random line of what the command says, and a moment: each line is a step done, however slow the
   * machine is.
   */
  const killed = async ([first, last]: Lines, ...args: readonly string[]): Promise<number> => {
    const command = new RunningCommand(...args);
    const after = first + Math.floor(random() * (last - first + 1));
    await command.untilLines(after);
    await sleep(random() * MOMENT_MS, undefined, { signal });
    await command.stop('SIGKILL');
    return after;
  };
  /** One of the two `isthmus run`, or none; it comes back as a Deployment would bring it back. */
  const killProcess = async (): Promise<string> => {
    const victim = [undefined, 'source', 'target-1'][Math.floor(random() * 3)];
    if (victim === undefined) return '';
    await sleep(random() * TYPICAL_MS, undefined, { signal });
    await world.processes.get(victim)?.kill();
    await world.restart(victim);
    return victim;
  };
  const leave = ['unpeer', NAME, '--kubeconfig', sourceFile];

  try {
    const left = await isthmus('unpeer', 'target-1', '--kubeconfig', sourceFile);
    assert.equal(left.code, 0, left.stderr);
    await invite(targetFile); // makes the key that all invitations share
    await forgetInvitations();
    const isBare = async () =>
      ((await all()).some((one) => /target-1(?!-node)|isthmus-invitation-(?!key)/.test(one)) ? undefined : true);
    assert.ok(await pollUntil(isBare, { forMs: 60_000, everyMs: 200 }, signal), 'what was joined first has not gone');
    const before = await all();
    print(
      `seed ${seed}, ${before.length} objects on both sides\n| round | way | killed after line | process killed | ` +
        'joined again | objects then | leaving killed after line | left by | s until as before ' +
        '|\n|---|---|---|---|---|---|---|---|---|',
    );
    for (let round = 1; round <= rounds; round += 1) {
      const way = round % 2 === 1 ? 'peer' : 'token';
      const isResumed = round % 4 === 0;
      const joining = way === 'peer'
        ? ['peer', '--source-kubeconfig', sourceFile, '--target-kubeconfig', targetFile, '--name', NAME]
        : ['join', await invite(targetFile), '--kubeconfig', sourceFile];
      const [joined, victim] = await Promise.all([killed(LINES[way], ...joining), killProcess()]);
      const resumed = isResumed ? await joinAgain() : '';
      const objects = (await all()).length;
      const left = await killed(LINES.leave, ...leave);
      const by = await untilLeft(leave, targetFile);
      await forgetInvitations();
      const ms = await untilEqual(before);
      print(
        `| ${round} | ${way} | ${joined} | ${victim} | ${resumed} | ${objects} | ${left} | ${by} | ` +
          `${(ms / 1_000).toFixed(1)} |`,
      );
    }
    print(`${rounds} rounds, ${before.length} objects before and after`);
  } finally {
    await Promise.all(opened.map(({ client }) => client.transport.close()));
    await world.stop();
    await sandbox.stop();
  }

  /**
   * With another invitation, to the end: what the killed command was granted is its own still. One that had done all
   * but wait has nothing left to do.
   */
  async function joinAgain(): Promise<string> {
    const { code, stderr } = await isthmus('join', await invite(targetFile), '--kubeconfig', sourceFile);
    if (code === 0) return 'to the end';
    assert.match(stderr, /AlreadyASource/);
    const isReady = async () => (
      (await source!.client.get(CLUSTER_TARGETS, { name: NAME }, signal)).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) ? true : undefined
    );
    assert.ok(
      await pollUntil(isReady, { forMs: 60_000, everyMs: 200 }, signal), 'the command that was killed had joined',
    );
    return 'was joined';
  }

  /**
   * What remains of invitations goes by itself ten minutes after their end; here an administrator does not wait for
   * that.
   */
  async function forgetInvitations(): Promise<void> {
    for (const type of [INVITATIONS, JOIN_REQUESTS] as readonly ResourceType[]) {
      for (const { metadata } of await target!.client.list(type, {}, signal)) {
        await target!.client.delete(type, { namespace: metadata.namespace, name: metadata.name ?? '' }, {}, signal)
          .catch(unless(isNotFound));
      }
    }
  }
}

async function invite(targetFile: string): Promise<string> {
  const { stdout, stderr, code } = await isthmus('invite', '--kubeconfig', targetFile, '--name', NAME);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** On a machine that is too busy an API server does not answer in time; it is asked again. */
function unlessUnreachable(error: unknown): readonly string[] {
  if (error instanceof UnreachableError) return ['unreachable'];
  throw error;
}

/**
 * First as a source can by itself; where joining was broken off before it had anything, the target's administrator
 * helps.
 */
async function untilLeft(leave: readonly string[], targetFile: string): Promise<string> {
  const alone = await isthmus(...leave);
  const helped = await isthmus(...leave, '--target-kubeconfig', targetFile);
  // the killed command, or the source by itself, may have left nothing to do
  assert.ok(helped.code === 0 || helped.stderr.includes('There is no ClusterTarget'), helped.stderr);
  return alone.code === 0 ? 'source' : 'administrator';
}
