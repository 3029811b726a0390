// Decides which status of a delegate is written to its proxy, and whether the proxy shows it already.
import type { PodPhase, PodStatus } from '../../api/objects/core.ts';
import { DELEGATE_CONDITIONS_ANNOTATION, TARGET_UNREACHABLE_CONDITION } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { withOwnGenerations } from '../../model/delegate/observed-generation.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import { withTrustedConditions } from '../../model/delegate/trusted-status.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import {
  digestOf, copiedStatus, sourceConditions, statusOfContainers, toStatusPatch, withoutDevices, withSourceConditions,
} from '../../model/pod/pod-status.ts';
import { toAnnotationPatch } from '../../model/proxy/copied-annotations.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** A written status. */
export interface WrittenStatus {
  /** Its digest. */
  readonly sent: string;
  /** Digest of the status as stored: an older API server drops fields that it does not know. */
  readonly stored: string;
  /** resourceVersion of that write: until the cache has it, the cache says nothing about the write. */
  readonly version: string;
  /** The phase that it shows. */
  readonly phase: PodPhase | undefined;
}

/** The phase that users see: that of the last written status, which the cache may not have yet. */
export function shownPhase({ phase }: ProxyPod, lastWrite: WrittenStatus | undefined): PodPhase {
  return lastWrite?.phase ?? phase;
}

/** What is known in addition to the delegate's status. */
export interface StatusContext {
  readonly lastWrite: WrittenStatus | undefined;
  readonly chaperon: Chaperon | undefined;
  /** While it exists. */
  readonly delegate?: DelegatePod | undefined;
}

/** The write of a status to a proxy. */
export interface StatusWrite {
  readonly plan: Plan;
  /** Of the status. */
  readonly digest: string;
  /**
   * Written instead when the source's API server rejects the status. Of the end of a terminating proxy the phase alone,
   * so that nothing keeps the proxy pod indefinitely.
   */
  readonly fallback?: Plan;
}

/** The status to write; undefined when the proxy shows it already, or will once the cache has the last write. */
export function planStatus(
  proxy: ProxyPod, reported: PodStatus, { lastWrite, chaperon, delegate }: StatusContext,
): StatusWrite | undefined {
  const { resourceVersion, containers = [], ownConditions = [], copiedConditions = [] } = proxy;
  const notKept = [TARGET_UNREACHABLE_CONDITION, ...copiedConditions];
  const kept = ownConditions.filter(({ type }) => !notKept.includes(type));
  const trusted = withTrustedConditions(withoutSourceGates(reported, chaperon), proxy.readinessGateTypes);
  const own = withOwnGenerations(copiedStatus(trusted), proxy, delegate, chaperon);
  const status = withSourceConditions(statusOfContainers(own, containers), kept);
  const isFirst = shownPhase(proxy, lastWrite) === 'Pending';
  if (isFirst && isEmptyStatus(status) && kept.length === ownConditions.length) return undefined;
  const digest = digestOf(status);
  if (isAwaited(proxy, digest, lastWrite)) return undefined;
  const merged = annotationPatch(proxy, trusted, delegate);
  if (merged === undefined && isShown(proxy, digest, lastWrite)) return undefined;
  // Conditions are written as a list, and an annotation may be new: concurrent changes of the source must not be lost,
  // nor may a late write revert a terminal status.
  const metadata = { resourceVersion, ...(merged && { annotations: merged }) };
  const plan = [statusPatch(proxy, metadata, toStatusPatch(status))];
  return { digest, plan, ...fallbackOf(proxy, status, metadata) };
}

/** Annotations of the delegate, and which conditions are copies: without a record these would become the source's. */
function annotationPatch(
  { annotations = {}, copiedAnnotations, copiedConditions }: ProxyPod, { conditions }: PodStatus,
  delegate: DelegatePod | undefined,
): Readonly<Record<string, string | null>> | undefined {
  const patch = delegate && toAnnotationPatch(annotations, copiedAnnotations, delegate.annotations);
  const [copied, before] = [sourceConditions(conditions).map(({ type }) => type), copiedConditions ?? []];
  if (copied.join() === before.join()) return patch;
  return { ...patch, [DELEGATE_CONDITIONS_ANNOTATION]: copied.length === 0 ? null : JSON.stringify(copied) };
}

function fallbackOf(proxy: ProxyPod, status: PodStatus, metadata: object): Pick<StatusWrite, 'fallback'> {
  const { phase, reason, message } = status;
  if (proxy.terminating && isTerminal(phase)) {
    return { fallback: [statusPatch(proxy, { resourceVersion: proxy.resourceVersion }, { phase, reason, message })] };
  }
  const rest = withoutDevices(status);
  return rest === undefined ? {} : { fallback: [statusPatch(proxy, metadata, toStatusPatch(rest))] };
}

function statusPatch({ namespace, name }: ProxyPod, metadata: object, status: object): Plan[number] {
  return {
    kind: 'patch', type: PODS, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata, status },
  };
}

/**
 * The binding has set PodScheduled already; before containers exist there is nothing to add, unless the proxy shows a
 * former delegate, in whose place the target has made this one.
 */
function isEmptyStatus({ phase, containerStatuses, initContainerStatuses }: PodStatus): boolean {
  return phase === 'Pending' && containerStatuses === undefined && initContainerStatuses === undefined;
}

/**
 * Whether the cache lacks the version that this status created. The watch delivers it, and the pod is reconciled again.
 */
function isAwaited({ resourceVersion }: ProxyPod, digest: string, lastWrite: WrittenStatus | undefined): boolean {
  return digest === lastWrite?.sent && isLater(lastWrite.version, resourceVersion);
}

function isShown({ statusDigest }: ProxyPod, digest: string, lastWrite: WrittenStatus | undefined): boolean {
  return digest === statusDigest || (digest === lastWrite?.sent && statusDigest === lastWrite.stored);
}

/** For conditions that the source owns, the delegate only has a copy. */
function withoutSourceGates(reported: PodStatus, chaperon: Chaperon | undefined): PodStatus {
  if (chaperon?.sentChanges?.changes.gates === undefined) return reported;
  return { ...reported, conditions: (reported.conditions ?? []).filter(({ type }) => !isSourceGate(type, chaperon)) };
}

/** Whether the source owns a condition: it set the condition first. */
export function isSourceGate(type: string, chaperon: Chaperon | undefined): boolean {
  return Object.hasOwn(chaperon?.sentChanges?.changes.gates ?? {}, type);
}
