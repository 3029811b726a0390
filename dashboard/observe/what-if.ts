// What a viewer supposes on the screen of a pod, and the state as it would be then: without a target, with another
// policy. Pure.
import type { Pod } from '../../api/objects/core.ts';
import { structured } from '../../cli/output/structured.ts';
import type { LiveState } from '../../cli/placement/live-state.ts';
import {
  policiesFor, readWritten, supposePolicyApplies, type PolicyName, type WhatIfPolicy,
} from '../../cli/placement/what-if-policy.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { userLabels } from '../../model/proxy/admission-record.ts';
import type { PolicyChoice } from '../wire/placement-rows.ts';
import { specProblem } from '../wire/routes.ts';
import type { UnreadablePart } from '../wire/screens.ts';

/** Texts as typed by the viewer; empty for what is not supposed. */
export interface WhatIf {
  /** The target that is taken for missing. */
  readonly without: string;
  /** `PlacementPolicy/NAME` or `ClusterPlacementPolicy/NAME`. */
  readonly policy: string;
  /** Of that policy, or of a new one. */
  readonly spec: string;
}

/** The state then, or why there is none, with the policies to choose from. */
export interface WhatIfState {
  readonly state: LiveState | UnreadablePart;
  readonly choice: PolicyChoice;
}

const POLICY = /^(PlacementPolicy|ClusterPlacementPolicy)\/([-a-z0-9.]{1,253})$/;
/** Of a spec without a policy to change. */
const NEW: PolicyName = { kind: 'PlacementPolicy', name: 'what-if' };
/** Policies to choose from. */
const MOST_CHOICES = 200;

/** The state as the viewer supposes it for a pod. */
export function whatIfState(pod: Pod, state: LiveState, whatIf: WhatIf): WhatIfState {
  const { policies } = state.context;
  const { namespace = '' } = pod.metadata;
  const names = policiesFor(namespace, policies).slice(0, MOST_CHOICES).map(({ kind, name }) => `${kind}/${name}`);
  const left = withoutTarget(state, whatIf.without);
  if (whatIf.policy === '' && whatIf.spec === '') return { state: left, choice: { policies: names } };
  const found = whatIfPolicy(pod, state, whatIf);
  const written = whatIf.spec === '' ? undefined : whatIf.spec;
  if (found.kind === 'impossible') {
    return { state: impossible(found), choice: { policies: names, spec: written } };
  }
  const { policyIndex, title, spec, replaces, keeps } = found;
  const isEdited = written !== undefined;
  return {
    state: 'sessions' in left ? { ...left, context: { ...left.context, policies: policyIndex } } : left,
    choice: {
      policies: names, spec: written ?? structured(spec, 'yaml'), whatIf: { title, isEdited, replaces, keeps },
    },
  };
}

function whatIfPolicy({ metadata }: Pod, { context: { policies } }: LiveState, { policy, spec }: WhatIf): WhatIfPolicy {
  const [, kind, name = ''] = POLICY.exec(policy) ?? [];
  if (policy !== '' && kind === undefined) return {
    kind: 'impossible', why: `${JSON.stringify(policy)} does not name a policy.`,
    advice: 'Enter PlacementPolicy/NAME or ClusterPlacementPolicy/NAME.',
  };
  const tooLong = specProblem(spec);
  if (tooLong !== undefined) return {
    kind: 'impossible', why: tooLong, advice: 'Shorten it, or use "isthmus explain --with-policy FILE".',
  };
  const named = kind === undefined ? NEW : { kind: kind as PolicyName['kind'], name };
  const pod = { namespace: metadata.namespace ?? '', labels: userLabels(metadata) };
  return supposePolicyApplies(pod, policies, { ...named, ...(spec !== '' && { written: readWritten(spec) }) });
}

function impossible({ why, advice }: Extract<WhatIfPolicy, { readonly kind: 'impossible' }>): UnreadablePart {
  return { what: 'the evaluation of targets with that policy', why, advice };
}

/** The state without a target. */
function withoutTarget(state: LiveState, name: string): LiveState | UnreadablePart {
  if (name === '') return state;
  const others = (targets: LiveState['targets']) => targets.filter(({ key }) => shortTargetName(key) !== name);
  const targets = others(state.targets);
  if (targets.length < state.targets.length) {
    return { ...state, targets, targetsWithout: (uid) => others(state.targetsWithout(uid)) };
  }
  return {
    what: `the evaluation of targets without ${name}`, why: `There is no target ${name}.`,
    advice: 'Choose a target on the screen of the pod.',
  };
}
