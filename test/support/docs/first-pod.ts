// From two bare clusters to the first Running remote pod, by the commands that users type, kubectl's included. Each is
// counted.
import assert from 'node:assert/strict';
import { stringify } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, TARGET_ANNOTATION,
} from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { PODS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster, userAgent } from '../../../kubernetes/client/open-cluster.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { isthmus, killedAtCall, RunningCommand, type Ended } from '../processes/command-line.ts';
import { Packaging } from '../peers/packaging.ts';

/** Kubeconfigs of two clusters with nothing of ours in them. */
export interface BareClusters {
  readonly source: string;
  readonly target: string;
  /** Name for the pod, in namespace `default`, which both have. */
  readonly name: string;
  /** Of its container; default: an image that simulated kubelets run. */
  readonly image?: string;
  /**
   * The first try of each command is ended, as kill -9 does, after so many calls to API servers, by the command's first
   * word; that of kubectl after its first object.
   */
  readonly killedAfter?: Readonly<Record<string, number>>;
}

/** Points half-way through each command. */
export const HALF_WAY = { run: 25, peer: 12, invite: 2 };

/** How it went, with the processes that go on. */
export interface FirstPod {
  /** The commands, one after the other. */
  readonly commands: readonly string[];
  readonly seconds: number;
  /** Where the time went, in the order in which steps ended. */
  readonly steps: readonly Step[];
  /** Stops what was started. */
  stop(): Promise<void>;
}

/** One try of a command, or a wait. Steps of different clusters may overlap. */
export interface Step {
  readonly what: string;
  readonly seconds: number;
}

/** Counts what is typed. */
export class Session {
  readonly commands: string[] = [];
  readonly steps: Step[] = [];
  readonly running: RunningCommand[] = [];
  readonly #startedAt = performance.now();
  readonly #killedAfter: BareClusters['killedAfter'];

  constructor(killedAfter: BareClusters['killedAfter']) {
    this.#killedAfter = killedAfter;
  }

  async run(...args: readonly string[]): Promise<Ended> {
    await this.#failFirst(args);
    const ended = await this.timed(String(args[0]), () => isthmus(...args));
    assert.equal(ended.code, 0, `${args[0]}: ${ended.stderr}`);
    return ended;
  }

  async start(until: RegExp, ...args: readonly string[]): Promise<void> {
    await this.#failFirst(args);
    const command = new RunningCommand(...args);
    this.running.push(command);
    await this.timed(String(args[0]), () => command.line(until));
  }

  /** The file has both the namespace, which it opts in, and the pod. */
  async apply(tools: Packaging, kubeconfig: string, pod: Pod): Promise<void> {
    const args = ['apply', '-f', '-'];
    this.commands.push(['kubectl', ...args].join(' '));
    const namespace = {
      apiVersion: 'v1', kind: 'Namespace',
      metadata: { name: 'default', labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } },
    };
    const objects = [namespace, pod].map((object) => stringify(object));
    const inputs = this.#killedAfter === undefined ? [objects] : [objects.slice(0, 1), objects];
    for (const input of inputs) {
      const { code, stderr } = await this.timed(
        'kubectl apply', () => tools.kubectl(args, { kubeconfig, input: input.join('---\n') }),
      );
      assert.equal(code, 0, stderr);
    }
  }

  end(): FirstPod {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    return {
      commands: this.commands, seconds, steps: this.steps,
      stop: async () => void (await Promise.all(this.running.map((command) => command.stop()))),
    };
  }

  /** Counts the command, and lets a first try of it end half-way where one is to. */
  async #failFirst(args: readonly string[]): Promise<void> {
    this.commands.push(['isthmus', ...args].join(' '));
    const calls = this.#killedAfter?.[args[0] ?? ''];
    if (calls !== undefined) await this.timed(`${args[0]}, killed`, () => killedAtCall(calls, args));
  }

  /** Does it, and notes how long it took. */
  async timed<T>(what: string, act: () => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    const result = await act();
    this.steps.push({ what, seconds: (performance.now() - begunAt) / 1_000 });
    return result;
  }
}

function podOf({ name, image = 'example/main:1' }: BareClusters): Pod {
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'default', name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image }] },
  };
}

/** The one that serves the webhook; targets run the rest. */
async function sourceFlags(kubeconfig: string): Promise<readonly string[]> {
  const [port = 0] = await freePorts(1);
  return [
    'run', '--install', '--kubeconfig', kubeconfig, '--no-target', '--webhook-host', '127.0.0.1', '--webhook-port',
    String(port), '--webhook-url', `https://127.0.0.1:${port}`,
  ];
}

const targetFlags = (kubeconfig: string): readonly string[] =>
  ['run', '--install', '--kubeconfig', kubeconfig, '--components', 'delegate-controller,peering'];
const RUNNING = /"msg":"running"/;

/** Both kubeconfigs on one machine. */
export function firstPodByPeer(clusters: BareClusters, signal: AbortSignal): Promise<FirstPod> {
  return firstPod(clusters, signal, async (session) => {
    const { source, target } = clusters;
    await Promise.all([
      session.start(RUNNING, ...targetFlags(target)),
      sourceFlags(source).then((flags) => session.start(RUNNING, ...flags)),
    ]);
    await session.run(
      'peer', '--source-kubeconfig', source, '--target-kubeconfig', target, '--name', 'first-target',
      '--allow-namespace', 'default',
    );
  });
}

/** Two administrators, who hand over a token. */
export function firstPodByToken(clusters: BareClusters, signal: AbortSignal): Promise<FirstPod> {
  return firstPod(clusters, signal, async (session) => {
    const { source, target } = clusters;
    await session.start(RUNNING, ...targetFlags(target));
    const { stdout } =
      await session.run('invite', '--kubeconfig', target, '--name', 'first-target', '--allow-namespace', 'default');
    await session.start(/first-target is Ready/, ...(await sourceFlags(source)), '--join', stdout.trim());
  });
}

/**
 * Joins, applies the pod, and waits until it runs in the target. Rejects when a command fails, with what ran meanwhile.
 */
export async function firstPod(
  clusters: BareClusters, signal: AbortSignal, join: (session: Session) => Promise<void>,
): Promise<FirstPod> {
  const { source, target, name, killedAfter } = clusters;
  const tools = await Packaging.open(signal); // built before the clock starts
  const session = new Session(killedAfter);
  const [inSource, inTarget] = await Promise.all(
    [source, target].map((kubeconfigPath) => openCluster({ kubeconfigPath, userAgent: userAgent('test') })),
  );
  try {
    await join(session);
    await session.apply(tools, source, podOf(clusters));
    await session.timed('until the pod runs', () => untilRunning(inSource!.client, name, signal));
    const ended = session.end();
    const [delegate, ...others] = await podsIn(inTarget!.client, name, signal);
    assert.ok(
      delegate !== undefined && others.length === 0 && delegate.status?.phase === 'Running', 'it runs in the target',
    );
    return ended;
  } catch (error) {
    const logs = session.running.map(({ lines }) => lines.slice(-30).join('\n')).join('\n---\n');
    await session.end().stop();
    throw new Error(`${String(error)}\n${logs}`, { cause: error });
  } finally {
    await Promise.all([inSource!.client.transport.close(), inTarget!.client.transport.close()]);
  }
}

async function untilRunning(client: ClusterClient, name: string, signal: AbortSignal): Promise<void> {
  const type: ResourceType<Pod> = PODS;
  const look = async () => {
    const pod = await client.get(type, { namespace: 'default', name }, signal);
    return pod.status?.phase === 'Running'
      && pod.metadata.annotations?.[TARGET_ANNOTATION] !== undefined ? true : undefined;
  };
  assert.ok(await pollUntil(look, { forMs: 60_000, everyMs: 50 }, signal), 'the pod does not run');
}

async function podsIn(client: ClusterClient, name: string, signal: AbortSignal): Promise<readonly Pod[]> {
  const look = async () => {
    const pods = (await client.list(PODS, { namespace: 'default' }, signal)).filter(
      ({ metadata }) => metadata.name?.startsWith(`${name}-`),
    );
    return pods.length > 0 ? pods : undefined;
  };
  return (await pollUntil(look, { forMs: 5_000, everyMs: 50 }, signal)) ?? [];
}
