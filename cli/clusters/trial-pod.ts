// Pods that commands create only to see what happens to them.
import type { Pod, PodSpec } from '../../api/objects/core.ts';
import { ELECT_ANNOTATION, PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isRejection } from '../../kubernetes/flow/api-error.ts';
import { messageOf } from '../../process/errors.ts';

/** The image that kubelets have for every pod. */
export const PAUSE_IMAGE = 'registry.k8s.io/pause:3.10';
/** User of the pause image. */
const NOBODY = 65_535;

/**
 * One container that does nothing. Pod Security `restricted` admits it, and so do quotas that ask for requests and
 * limits.
 */
export function trialPodSpec(image: string = PAUSE_IMAGE): PodSpec {
  const container = {
    name: 'pause', image,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '1m', memory: '1Mi' } },
  };
  const securityContext = { runAsNonRoot: true, runAsUser: NOBODY, seccompProfile: { type: 'RuntimeDefault' } };
  const spec = { securityContext, containers: [container] };
  return spec;
}

/** Result of a dry run with an elected pod. */
export type Trial =
  /** No namespace has opted in. */
  | { readonly kind: 'not-opted-in' }
  | { readonly kind: 'mutated' }
  /** The pod was returned unchanged. */
  | { readonly kind: 'bypassed'; readonly namespace: string }
  /** No namespace takes the pod, by its quota or another policy, which is asked after the webhook. */
  | { readonly kind: 'denied-by-others'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Creates an elected pod as a dry run, in the first of these namespaces that takes it.
 * @throws ApiError for a user who may not create pods.
 */
export async function tryElectedPod(
  client: ClusterClient, namespaces: readonly string[], signal: AbortSignal,
): Promise<Trial> {
  let denial: Trial = { kind: 'not-opted-in' };
  for (const namespace of namespaces) {
    const metadata = { namespace, generateName: 'isthmus-trial-', annotations: { [ELECT_ANNOTATION]: '' } };
    try {
      const { spec } = await client.dryRunCreate<Pod>(PODS, { metadata, spec: trialPodSpec() } as Pod, signal);
      return spec.schedulerName === PROXY_SCHEDULER ? { kind: 'mutated' } : { kind: 'bypassed', namespace };
    } catch (error) {
      signal.throwIfAborted();
      const message = messageOf(error);
      if (message.includes('cannot create resource')) throw error;
      if (!isRejection(error) || DENIED_BY_US.test(message)) return { kind: 'failed', message };
      denial = { kind: 'denied-by-others', message };
    }
  }
  return denial;
}

/** By our webhook, or by that of Admiralty. */
const DENIED_BY_US = /admission webhook "[^"]*multicluster\.admiralty\.io" denied/;
