// Builds the delegate pod from the chaperon alone, so that the target can create it while the source is away.
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { toDelegateMeta, toDelegatePodSpec } from '../../model/delegate/delegate-manifest.ts';
import { withOwnScheduler } from './admiralty-protocol.ts';

/** The delegate pod. It has its chaperon's name, so that the API server's uniqueness prevents a second one. */
export function toDelegatePod(chaperon: PodChaperon): Pod {
  const { name = '', uid = '' } = chaperon.metadata;
  const owner =
    { apiVersion: ADMIRALTY_API_VERSION, kind: 'PodChaperon', name, uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: { ...toDelegateMeta(chaperon), ownerReferences: [owner] },
    spec: withOwnScheduler(toDelegatePodSpec(chaperon)),
  };
}
