// `npm run soak -- upgrade [-- COMMIT]`: installs the chart of the commit before this one (or of COMMIT) with an image
// of that commit, upgrades to this checkout under load, uninstalls and installs again. No elected pod may be refused at
// any time, none may be lost or run twice, and during the upgrade none may pass the webhook by.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pod } from '../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, ELECT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { messageOf } from '../../../process/errors.ts';
import { ChartInstallation } from '../../support/worlds/chart-world.ts';
import { makeImageFiles } from '../../support/real-nodes/image-files.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../../support/worlds/isthmus-world.ts';
import { CHART } from '../../support/peers/packaging.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));
const NAMESPACE = 'load';
const EVERY_MS = 250;
const LIVES = 40; // pods that are there at a time; older ones are deleted

const git = (...args: string[]): string => execFileSync('git', args, { cwd: CHECKOUT, encoding: 'utf8' }).trim();
const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * The commit that `name` stands for. Fails with what to do where the history does not reach so far back, as in a
 * shallow clone.
 */
function commitOf(name: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
  } catch (error) {
    throw new Error(
      `${name} is not in the history of this clone, so there is nothing to upgrade from. In a shallow clone: git ` +
        'fetch --deepen=1. Or name a commit: npm run soak -- upgrade -- COMMIT',
      { cause: error },
    );
  }
}

/** An older commit, compiled with the packages of this checkout. */
async function checkOut(commit: string, folder: string): Promise<void> {
  git('worktree', 'add', '--detach', folder, commit);
  await symlink(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, [join(CHECKOUT, 'node_modules', '.bin', 'tsc'), '-p', folder], { stdio: 'inherit' });
}

/** What became of the pods that were asked for. */
interface Load {
  /** Where we are, for what is told of refusals. */
  phase: string;
  readonly created: Pod[];
  readonly refused: string[];
  /** Phases of those that were stored as they were, by name of the pod. */
  readonly passedBy: Map<string, string>;
  stop(): Promise<void>;
}

/** Creates a pod again and again, and deletes the oldest when there are enough. */
function startLoad(world: IsthmusWorld): Load {
  const ended = new AbortController();
  const load: Load = {
    phase: 'before', created: [], refused: [], passedBy: new Map(), stop: async () => { ended.abort(); await running; },
  };
  const run = async (): Promise<void> => {
    for (let number = 0; !ended.signal.aborted; number += 1) {
      const pod = {
        metadata: { namespace: NAMESPACE, name: `pod-${number}`, annotations: { [ELECT_ANNOTATION]: '' } },
        spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
      };
      await world.source.client.create<Pod>(PODS, pod)
        .then((made) => note(load, made), (error: unknown) => load.refused.push(`${load.phase}: ${messageOf(error)}`));
      const oldest = load.created.length > LIVES ? load.created.shift() : undefined;
      if (oldest !== undefined) {
        await world.source.client.delete(PODS, { namespace: NAMESPACE, name: oldest.metadata.name ?? '' });
      }
      await sleep(EVERY_MS);
    }
  };
  const running = run();
  return load;
}

function note(load: Load, pod: Pod): void {
  load.created.push(pod);
  if (!isElected(pod)) load.passedBy.set(pod.metadata.name ?? '', load.phase);
}

function isElected({ metadata }: Pod): boolean {
  const { annotations = {} } = metadata;
  // an older version wrote manifests
  return [ADMISSION_RECORD_ANNOTATION, SOURCE_MANIFEST_ANNOTATION].some((key) => annotations[key] !== undefined);
}

function passedByIn({ passedBy }: Load, phase: string): number {
  return [...passedBy.values()].filter((each) => each === phase).length;
}

/** Every pod that was created and not deleted is the same one still; those that were elected run. */
async function nothingIsLost(world: IsthmusWorld, load: Load): Promise<void> {
  const elected = load.created.filter(isElected);
  const uids = new Set(elected.map(({ metadata }) => metadata.uid));
  const pods = await world.source.pods.until(
    `all ${uids.size} elected pods run`,
    (all) =>
      inNamespace(all, NAMESPACE).filter((pod) => uids.has(pod.metadata.uid) && isRunning(pod)).length === uids.size,
    180_000,
  );
  const there = new Set(pods.map(({ metadata }) => metadata.uid));
  assert.deepEqual(
    load.created.filter(({ metadata }) => !there.has(metadata.uid)).map(({ metadata }) => metadata.name), [],
  );
}

async function main(): Promise<void> {
  const before = commitOf(process.argv[2] ?? 'HEAD~1');
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-upgrade-'));
  const old = join(folder, 'old');
  await checkOut(before, old);
  const setups = {
    old: {
      chart: join(old, 'manifests/helm/isthmus'), command: await makeImageFiles(join(folder, 'old-image'), old),
      env: {}, peersByCommand: true,
    },
    new: { chart: CHART, command: await makeImageFiles(join(folder, 'new-image')), env: {}, peersByCommand: false },
  };
  const world =
    await startWorld({ nodes: 2 }, (sandbox, signal) => ChartInstallation.start(sandbox, signal, setups.old));
  const installation = world.isthmus as ChartInstallation;
  try {
    say(`${before.slice(0, 7)} is installed; upgrading to ${git('rev-parse', '--short', 'HEAD')} under load`);
    await makeNamespace(world, NAMESPACE);
    const load = startLoad(world);
    await sleep(5_000);
    load.phase = 'upgrade';
    installation.use(setups.new);
    await installation.install();
    await sleep(5_000);
    assert.equal(load.refused.length, 0, load.refused.join('\n'));
    say(`upgraded: nothing was refused, ${passedByIn(load, 'upgrade')} passed the webhook by`);
    assert.equal(passedByIn(load, 'upgrade'), 0);
    load.phase = 'uninstall';
    for (const cluster of world.sandbox.clusters) await installation.uninstall(cluster);
    await Promise.all([...installation.processes.values()].map((component) => component.stop()));
    await sleep(3_000);
    assert.equal(load.refused.length, 0, load.refused.join('\n'));
    say('uninstalled: nothing was refused');
    load.phase = 'reinstall';
    await installation.install();
    load.phase = 'after';
    await sleep(5_000);
    await load.stop();
    assert.equal(load.refused.length, 0, load.refused.join('\n'));
    assert.equal(passedByIn(load, 'after'), 0);
    say(
      `installed again: nothing was refused; ${passedByIn(load, 'uninstall') + passedByIn(load, 'reinstall')} pods ` +
        'run in the source, made while no webhook served',
    );
    await nothingIsLost(world, load);
    assertInvariants(world);
    say('no elected pod was lost or ran twice');
  } finally {
    await world.stop();
    git('worktree', 'remove', '--force', old);
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
