// `isthmus explain pod/NAME`: why a pod is placed where it is, or not placed, by the scheduler's own functions.
import { Command, Option } from 'commander';
import type { Pod } from '../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { userLabels } from '../../model/proxy/admission-record.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import type { PolicyIndex } from '../../scheduler/snapshot/placement-rules.ts';
import { structured } from '../output/structured.ts';
import { readNamed } from './bounded-file.ts';
import { explainWithDryRun, readPod } from './explain-pod.ts';
import { explanationMatrix } from './explanation-matrix.ts';
import { explanationText } from './explanation-text.ts';
import { namespaceIn, withClusterFlags, withInstallNamespace, withNamespace } from '../clusters/cluster-flags.ts';
import { inFlightLines } from './in-flight-pods.ts';
import { withLiveState, type LiveStateFlags } from './live-state.ts';
import {
  readPolicyManifest, supposePolicyApplies, type WhatIfPolicies, type WrittenPolicy,
} from './what-if-policy.ts';

const FORMATS = ['json', 'yaml', 'wide', 'matrix'] as const;

interface ExplainFlags extends LiveStateFlags {
  readonly namespace?: string;
  readonly output?: (typeof FORMATS)[number];
  readonly withPolicy?: string;
}

/** The command for commander. */
export function explainCommand(): Command {
  const command = new Command('explain')
    .description(
      'Explain where an elected pod is placed: the checks and scores of every target, and the smallest change ' +
        'that would place it.',
    )
    .argument('<pod>', 'pod/NAME');
  return withInstallNamespace(withNamespace(withClusterFlags(command, 'the source cluster'), 'of the pod'))
    .option(
      '--with-policy <file>',
      'assume that the PlacementPolicy or ClusterPlacementPolicy of this manifest applied to the pod; nothing is ' +
        'created',
    )
    .addOption(
      new Option(
        '-o, --output <format>',
        'wide: every check and score; matrix: the same as a table of targets; json, yaml: the same for programs',
      ).choices(FORMATS),
    )
    .action((name: string, flags: ExplainFlags) => explain(name, flags, untilStopped()));
}

async function explain(argument: string, flags: ExplainFlags, signal: AbortSignal): Promise<void> {
  const name = podName(argument);
  const manifest = flags.withPolicy === undefined ? undefined : await readPolicy(flags.withPolicy);
  await withLiveState(flags, async (live) => {
    const pod = await readPod(live.cluster, { namespace: namespaceIn(live.cluster, flags.namespace), name }, signal);
    const supposed = manifest === undefined ? undefined : supposedFor(pod, live.context.policies, manifest);
    const state = supposed === undefined
      ? live
      : { ...live, context: { ...live.context, policies: supposed.policyIndex } };
    const explanation = await explainWithDryRun(pod, state, signal);
    const whole = { ...stateOf(pod), ...supposedFields(supposed), ...explanation, inFlight: live.inFlight };
    console.log(
      structured(whole, flags.output) ?? [
        ...stateLines(pod), ...(supposed === undefined ? [] : supposedLines(supposed)), ...inFlightLines(live.inFlight),
        flags.output === 'matrix' ? explanationMatrix(explanation)
          : explanationText(explanation, flags.output === 'wide'),
      ].join('\n'),
    );
  }, signal);
}

async function readPolicy(path: string): Promise<WrittenPolicy> {
  const read = readPolicyManifest(await readNamed(path));
  if (read.kind === 'policy') return read.policy;
  throw new AppError('BadInput', `${path} ${read.problem}.`);
}

function supposedFor(pod: Pod, policyIndex: PolicyIndex, policy: WrittenPolicy): WhatIfPolicies {
  const { metadata } = pod;
  const found = supposePolicyApplies(
    { namespace: metadata.namespace ?? '', labels: userLabels(metadata) }, policyIndex, policy,
  );
  if (found.kind === 'supposed') return found;
  throw new AppError('BadInput', `${found.why} ${found.advice}`);
}

function supposedFields(supposed: WhatIfPolicies | undefined): Readonly<Record<string, unknown>> {
  if (supposed === undefined) return {};
  const { title: policy, replaces, keeps } = supposed;
  return { supposed: { policy, replaces, keeps } };
}

function supposedLines({ title, replaces, keeps }: WhatIfPolicies): string[] {
  return [
    `Evaluated as if ${title} applied${replaces.length === 0 ? '' : ` instead of ${replaces.join(', ')}`}.`,
    ...(keeps.length === 0 ? [] : [`These policies would apply, too: ${keeps.join(', ')}.`]),
  ];
}

/** `pod/NAME`, `pods/NAME`, `po/NAME` or `NAME`. Throws AppError `BadInput`. */
export function podName(argument: string): string {
  const [kind, name, ...rest] = argument.includes('/') ? argument.split('/') : ['pod', argument];
  if (rest.length === 0 && name !== undefined && name !== '' && ['pod', 'pods', 'po'].includes(kind ?? '')) return name;
  throw new AppError('BadInput', `A pod is NAME or pod/NAME, not ${JSON.stringify(argument)}.`);
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
