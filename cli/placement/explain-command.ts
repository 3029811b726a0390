// `isthmus explain pod/NAME`: why a pod is placed where it is, or not placed, by the scheduler's own functions.
import { Command, Option } from 'commander';
import type { Pod } from '../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, PLACEMENT_ANNOTATION } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { isNotFound } from '../../kubernetes/flow/api-error.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { explainPod, type Explanation } from '../../scheduler/explain/explain.ts';
import { toPodToSchedule } from '../../scheduler/decision/placement-constraints.ts';
import type { Rejection } from '../../scheduler/snapshot/rejection.ts';
import type { PodToSchedule } from '../../scheduler/snapshot/snapshot.ts';
import { refusalOf, type AskedPod } from './dry-run.ts';
import { structured } from '../output/structured.ts';
import { explanationText } from './explanation-text.ts';
import { namespaceIn, withNamespace } from '../clusters/cluster-flags.ts';
import { inFlightLines } from './in-flight-pods.ts';
import { withLiveWorld, type LiveWorld } from './live-world.ts';

interface ExplainFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly installNamespace: string;
  readonly output?: 'json' | 'yaml' | 'wide';
}

/** The command for commander. */
export function explainCommand(): Command {
  const command = new Command('explain')
    .description(
      'Explain where an elected pod is placed: the checks and scores of every target, and the smallest change ' +
        'that would place it.',
    )
    .argument('<pod>', 'pod/NAME')
    .option('--kubeconfig <file>', 'kubeconfig of the source cluster; default: that of kubectl')
    .option('--context <name>', 'context within the kubeconfig');
  return withNamespace(command, 'of the pod')
    .option('--install-namespace <name>', 'namespace that Isthmus is installed in', DEFAULT_INSTALL_NAMESPACE)
    .addOption(
      new Option('-o, --output <format>', 'wide: every check and score; json, yaml: the same for programs').choices(
        ['json', 'yaml', 'wide'],
      ),
    )
    .action((name: string, flags: ExplainFlags) => explain(name, flags, untilStopped()));
}

async function explain(argument: string, flags: ExplainFlags, signal: AbortSignal): Promise<void> {
  const name = podName(argument);
  await withLiveWorld(flags, async (live) => {
    const pod = await readPod(live, { namespace: namespaceIn(live.cluster, flags.namespace), name }, signal);
    const explanation = await explained(pod, live, signal);
    const whole = { ...stateOf(pod), ...explanation, inFlight: live.inFlight };
    console.log(
      structured(whole, flags.output) ?? [
        ...stateLines(pod), ...inFlightLines(live.inFlight), explanationText(explanation, flags.output === 'wide'),
      ].join('\n'),
    );
  }, signal);
}

/** `pod/NAME`, `pods/NAME`, `po/NAME` or `NAME`. Throws AppError `BadInput`. */
export function podName(argument: string): string {
  const [kind, name, ...rest] = argument.includes('/') ? argument.split('/') : ['pod', argument];
  if (rest.length === 0 && name !== undefined && name !== '' && ['pod', 'pods', 'po'].includes(kind ?? '')) return name;
  throw new AppError('BadInput', `A pod is NAME or pod/NAME, not ${JSON.stringify(argument)}.`);
}

async function readPod(
  { cluster }: LiveWorld, at: { readonly namespace: string; readonly name: string }, signal: AbortSignal,
): Promise<Pod> {
  try {
    return await cluster.client.get(PODS, at, signal);
  } catch (error) {
    if (isNotFound(error)) {
      throw new AppError('NotFound', `There is no pod ${at.name} in namespace ${at.namespace}.`, { cause: error });
    }
    throw error;
  }
}

/** The target that comes first is asked whether it would take the pod; one that would not is ranked no more. */
async function explained(pod: Pod, live: LiveWorld, signal: AbortSignal): Promise<Explanation> {
  const asked = toAskedPod(pod);
  const targets = live.targetsWithout(pod.metadata.uid ?? '');
  const refusals = new Map<string, Rejection>();
  for (;;) {
    const explanation = explainPod(toQuestion(asked, live, refusals), targets);
    const refusal =
      explanation.chosen === undefined ? undefined : await refusalOf(live, explanation.chosen, asked, signal);
    if (explanation.chosen === undefined || refusal === undefined) return explanation;
    refusals.set(explanation.chosen, refusal);
  }
}

/** A bound pod is evaluated as if it had no node yet. */
function toAskedPod(pod: Pod): AskedPod & { readonly proxy: ProxyPod } {
  const { nodeName: _bound, ...spec } = pod.spec;
  const proxy = toProxyPodRecord({ ...pod, spec });
  const restored = restoreSourcePod(pod);
  if (proxy !== undefined && restored.kind !== 'invalid') return { proxy, sourcePod: restored.pod };
  throw new AppError(
    'BadInput',
    `Pod ${pod.metadata.name ?? ''} is not an elected pod: annotate it with multicluster.admiralty.io/elect in a ` +
      'namespace labelled multicluster-scheduler=enabled.',
  );
}

function toQuestion(
  { proxy, sourcePod }: ReturnType<typeof toAskedPod>, { world, targets, sourceId }: LiveWorld,
  refusals: ReadonlyMap<string, Rejection>,
): PodToSchedule {
  const { namespace, name, uid, labels } = proxy;
  const chaperon = toPodChaperon(sourcePod, { clusterId: sourceId, namespace, name, uid, labels });
  return toPodToSchedule({ proxy, sourcePod, chaperon, now: Date.now() }, world, targets, { refusals });
}

function stateOf({ metadata, spec, status }: Pod): Readonly<Record<string, unknown>> {
  const record = metadata.annotations?.[PLACEMENT_ANNOTATION];
  const scheduled = findCondition(status?.conditions, 'PodScheduled');
  return {
    pod: `${metadata.namespace}/${metadata.name}`,
    ...(spec.nodeName !== undefined && { boundTo: spec.nodeName }),
    ...(record !== undefined && { recorded: JSON.parse(record) as unknown }),
    ...(scheduled?.status === 'False' && { message: scheduled.message }),
  };
}

function stateLines(pod: Pod): string[] {
  const { boundTo, recorded, message } = stateOf(pod);
  return [
    ...(typeof boundTo === 'string' ? [`Bound to ${boundTo}. What follows is how it would be placed now.`] : []),
    ...(recorded === undefined ? [] : [`Recorded when it was placed: ${JSON.stringify(recorded)}`]),
    ...(typeof message === 'string' ? [`Last said: ${message}`] : []),
  ];
}
