// Uncached reads of a target's objects for a proxy, made before a decision that relies on their absence.
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ObjectRef } from '../../model/objects/plan.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import {
  toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod,
} from '../../model/delegate/cached-delegate.ts';
import { isDelegateGone } from '../../model/delegate/delegation.ts';
import { delegateName } from '../../model/naming/names.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';

/**
 * Where a proxy's delegate can be: under the name derived from its UID, or for an adopted one under its former name.
 */
function placesOf({ namespace, name, uid, adoptedDelegate }: ProxyPod): readonly ObjectRef[] {
  const names = [{ namespace, name: delegateName(name, uid) }];
  return adoptedDelegate === undefined ? names : [...names, { namespace, name: adoptedDelegate }];
}

/** Whether the target confirms what its cache said. Throws what API calls throw. */
export async function isConfirmed(
  claim: 'confirm-gone' | 'confirm-delegate-gone', session: TargetSession | undefined, proxy: ProxyPod,
  signal: AbortSignal,
): Promise<boolean> {
  if (session === undefined) return false;
  const target = session.client;
  const chaperonOf = async () => (session.mayHoldChaperons ? readChaperon(target, proxy, signal) : undefined);
  if (claim === 'confirm-gone') {
    return (await chaperonOf()) === undefined && (await readDelegate(target, proxy, signal)) === undefined;
  }
  // the delegate first: before its target stops one that is not confirmed, it writes so on the chaperon
  const delegate = await readDelegate(target, proxy, signal);
  return isDelegateGone((await chaperonOf()) ?? delegate?.asChaperon, delegate);
}

/** Uncached read of a proxy's delegate. A chaperon that was deleted in the background is gone before its delegate. */
function readDelegate(client: ClusterClient, proxy: ProxyPod, signal: AbortSignal): Promise<DelegatePod | undefined> {
  return readFirst(proxy, async (at) => toDelegatePodRecord(await client.get(PODS, at, signal)));
}

/** Uncached read of a proxy's chaperon; undefined when there is none. */
function readChaperon(client: ClusterClient, proxy: ProxyPod, signal: AbortSignal): Promise<Chaperon | undefined> {
  return readFirst(proxy, async (at) => toChaperonRecord(await client.get(POD_CHAPERONS, at, signal)));
}

async function readFirst<T extends { readonly parentUid: string }>(
  proxy: ProxyPod, read: (at: ObjectRef) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const at of placesOf(proxy)) {
    const found = await read(at).catch(unless(isNotFound));
    if (found?.parentUid === proxy.uid) return found;
  }
  return undefined;
}
