// Controller that watches Warning events of delegates in all targets and repeats them on proxy pods. Events from before
// a session started are not repeated. A source without the permission to read events loses only this.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { EVENTS } from '../../api/resource-types.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { DelegateEvents, WARNINGS_OF_PODS, type TargetEvent } from './delegate-events.ts';

/** What the controller works with. */
export interface DelegateEventsOptions {
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** Starts the controller. */
export function startDelegateEvents(options: DelegateEventsOptions): void {
  const shown = new DelegateEvents();
  options.proxies.onChange((_key, before, after) => {
    if (before !== undefined && before.uid !== after?.uid) shown.forget(before.uid);
  });
  options.targets.listen({ sessionOpened: (target, session) => followEvents(options, shown, target, session) });
}

function followEvents(
  { proxies, events, logger }: DelegateEventsOptions, shown: DelegateEvents, target: TargetCluster,
  session: TargetSession,
): void {
  const { ref, key } = target;
  /** All events up to this version are known. */
  let known = '';
  const isNew = ({ metadata: { resourceVersion = '' } }: TargetEvent): boolean => {
    if (!isLater(resourceVersion, known)) return false; // it was delivered before a gap, and is listed again
    if (resourceVersion === informer.resourceVersion) known = resourceVersion; // those of a list come in any order
    return true;
  };
  const informer = new Informer<TargetEvent, string>({
    client: session.client,
    logger,
    type: EVENTS,
    lacksBookmarks: true,
    selection: { namespace: ref.kind === 'Target' ? ref.namespace : undefined, fieldSelector: WARNINGS_OF_PODS },
    project: (event) => {
      const proxy = informer.hasSynced && isNew(event) ? proxyOf(event) : undefined;
      const record = proxy && shown.toProxyEvent(event, proxy, key);
      if (record !== undefined) events.record(record);
      return undefined; // nothing is stored: a repeated event is repeated here
    },
  });
  const proxyOf = ({ regarding = {} }: TargetEvent): ProxyPod | undefined => {
    const delegate = session.delegates.get(`${regarding.namespace}/${regarding.name}`);
    const proxy = delegate && proxies.get(delegate.parentKey);
    return proxy?.uid === delegate?.parentUid && regarding.uid === delegate?.uid ? proxy : undefined;
  };
  informer.onListed(() => (known = informer.resourceVersion));
  void informer.run(session.signal);
}
