// The spec of pods that commands create only to see what happens to them.
import type { PodSpec } from '../../api/objects/core.ts';

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
