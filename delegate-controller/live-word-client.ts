// The live word of a target on what it holds of a proxy: asked before anything is concluded from its absence.
import { POD_CHAPERONS, PODS } from '../api/resource-types.ts';
import { isNotFound } from '../kubernetes/api-error.ts';
import type { ClusterClient, ObjectName } from '../kubernetes/cluster-client.ts';
import type { TargetSession } from '../kubernetes/target-session.ts';
import { toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod } from '../model/delegate-pod.ts';
import { isLost } from '../model/delegation.ts';
import { delegateName } from '../model/names.ts';
import type { ProxyPod } from '../model/proxy-pod.ts';

function chaperonOf({ namespace, name, uid }: ProxyPod): ObjectName {
  return { namespace, name: delegateName(name, uid) };
}

/** Whether the target itself says what its cache said. Throws what API calls throw. */
export async function isConfirmed(
  claim: 'confirm-gone' | 'confirm-lost', session: TargetSession | undefined, proxy: ProxyPod, signal: AbortSignal,
): Promise<boolean> {
  if (session === undefined) return false;
  const target = session.client;
  const chaperon = session.mayHoldChaperons ? await readChaperon(target, proxy, signal) : undefined;
  if (claim === 'confirm-lost' && chaperon !== undefined) return isLost(chaperon);
  const delegate = chaperon === undefined ? await readDelegate(target, proxy, signal) : undefined;
  return claim === 'confirm-lost' ? isLost(delegate?.direct) : chaperon === undefined && delegate === undefined;
}

/** The live word of the target on the delegate of a proxy. A chaperon that somebody deleted in the background goes before its delegate. */
async function readDelegate(client: ClusterClient, proxy: ProxyPod, signal: AbortSignal): Promise<DelegatePod | undefined> {
  try {
    const delegate = toDelegatePodRecord(await client.get(PODS, chaperonOf(proxy), signal));
    return delegate?.parentUid === proxy.uid ? delegate : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The live word of the target on the chaperon of a proxy; undefined when it has none. */
async function readChaperon(client: ClusterClient, proxy: ProxyPod, signal: AbortSignal): Promise<Chaperon | undefined> {
  try {
    const chaperon = toChaperonRecord(await client.get(POD_CHAPERONS, chaperonOf(proxy), signal));
    return chaperon?.parentUid === proxy.uid ? chaperon : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
