// `observedGeneration` of a proxy's status and conditions (KEP-5067): the generation of the proxy's own spec that the
// target's kubelet has acted on. A delegate counts generations of its own, so they are translated.
import type { Condition, PodStatus } from '../../api/objects/core.ts';
import type { ProxyPod } from '../proxy/proxy-pod.ts';
import type { Chaperon, DelegatePod } from './cached-delegate.ts';

/**
 * The status with generations of the proxy; without any when the delegate, or the generation of either pod, is not
 * known.
 */
export function withOwnGenerations(
  status: PodStatus, { generation }: Pick<ProxyPod, 'generation'>, delegate: DelegatePod | undefined,
  chaperon: Chaperon | undefined,
): PodStatus {
  const { observedGeneration, conditions, ...rest } = status;
  const last = delegate?.generation;
  const isCurrent = delegate?.changedTo === chaperon?.sentChanges?.of;
  const translate = (observed: number | undefined): number | undefined => {
    if (observed === undefined || generation === undefined || last === undefined) return undefined;
    const translated = isCurrent && observed >= last ? generation : Math.min(observed, generation - 1);
    return translated > 0 ? translated : undefined;
  };
  const own = translate(observedGeneration);
  return {
    ...rest,
    ...(own !== undefined && { observedGeneration: own }),
    ...(conditions && { conditions: conditions.map((condition) => withGeneration(condition, translate)) }),
  };
}

function withGeneration(
  { observedGeneration, ...condition }: Condition, translate: (observed: number | undefined) => number | undefined,
): Condition {
  const own = translate(observedGeneration);
  return own === undefined ? condition : { ...condition, observedGeneration: own };
}
