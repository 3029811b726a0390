// How GitOps tools read the state of an object of a kind that they do not know (cli-utils `pkg/kstatus`, generic
// rules): Flux waits by it.
import type { Condition } from '../../../api/objects/core.ts';

/** What kstatus makes of an object. */
export type Kstatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

interface Readable {
  readonly metadata: { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

/** The first rule that holds. */
export function kstatusOf({ metadata, status }: Readable): Kstatus {
  const is = (type: string): string
    | undefined => status?.conditions?.find((condition) => condition.type === type)?.status;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) {
    return 'InProgress';
  }
  if (is('Stalled') === 'True') return 'Failed';
  if (is('Reconciling') === 'True') return 'InProgress';
  const ready = is('Ready');
  return ready === undefined || ready === 'True' ? 'Current' : 'InProgress';
}
