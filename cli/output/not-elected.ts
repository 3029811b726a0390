// The message about a pod that was named as an elected one and is not elected.
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';

/** A sentence, of NAMESPACE/NAME. */
export function notElected(pod: string): string {
  return `Pod ${pod} is not elected: only pods with annotation ${ELECT_ANNOTATION}, made in a namespace that opted ` +
    'in, run in targets.';
}
