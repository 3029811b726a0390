// What is said of a pod that is asked for as an elected one, and is none.
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';

/** A sentence, of NAMESPACE/NAME. */
export function notElected(pod: string): string {
  return `Pod ${pod} is not elected: only pods with annotation ${ELECT_ANNOTATION}, made in a namespace that opted ` +
    'in, run in targets.';
}
