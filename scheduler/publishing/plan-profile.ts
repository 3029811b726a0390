// Decides what to write to a target's ClusterProfile. One that others created is left alone, whatever its name.
import { PROFILE_DIGEST_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTER_MANAGER, type ClusterProfile } from '../../api/placement/cluster-inventory.ts';
import { CLUSTER_PROFILES } from '../../api/resource-types.ts';
import { deletion, NOTHING, type Command, type Plan } from '../../model/objects/plan.ts';
import {
  hasStatus, toNewProfile, toProfileMetadata, toProfileStatus, type PublishedTarget,
} from './cluster-profile.ts';

/** What is known of one profile. */
export interface ProfileFacts {
  readonly namespace: string;
  /** The ClusterTarget of this name; undefined when there is none. */
  readonly target: PublishedTarget | undefined;
  /** The ClusterProfile of this name. */
  readonly existing: ClusterProfile | undefined;
  /** RFC 3339. */
  readonly now: string;
}

const FIELD_MANAGER = 'isthmus-scheduler';

/** Decides. A target that was recreated gets a new profile: the old one was deleted with it, or is deleted here. */
export function planProfile({ namespace, target, existing, now }: ProfileFacts): Plan {
  if (existing === undefined) {
    return target === undefined
      ? NOTHING
      : [{ kind: 'create', type: CLUSTER_PROFILES, object: toNewProfile(namespace, target) }];
  }
  const owner = ownerOf(existing);
  if (owner === undefined || existing.metadata.deletionTimestamp !== undefined) return NOTHING;
  if (target?.uid === owner) return changesOf(existing, target, now);
  return [deletion(CLUSTER_PROFILES, { ...existing.metadata, namespace })];
}

/** UID of the ClusterTarget that a profile was made for; undefined for a profile that is not ours. */
export function ownerOf({ metadata, spec }: ClusterProfile): string | undefined {
  const [owner, ...more] = metadata.ownerReferences ?? [];
  const isOurs = spec.clusterManager.name === CLUSTER_MANAGER && more.length === 0
    && owner?.kind === 'ClusterTarget' && owner.name === metadata.name;
  return isOurs ? owner.uid : undefined;
}

function changesOf(existing: ClusterProfile, target: PublishedTarget, now: string): Plan {
  const { namespace, name = '', uid, labels = {}, annotations = {} } = existing.metadata;
  const plan: Command[] = [];
  const wanted = toProfileMetadata(existing, target);
  const isSame = Object.entries(wanted.metadata.labels ?? {}).every(([key, value]) => labels[key] === value)
    && annotations[PROFILE_DIGEST_ANNOTATION] === wanted.metadata.annotations?.[PROFILE_DIGEST_ANNOTATION];
  if (!isSame) plan.push({ kind: 'apply', type: CLUSTER_PROFILES, object: wanted, fieldManager: FIELD_MANAGER });
  const { status: before = {} } = existing;
  const status = toProfileStatus(before, target, now);
  if (!hasStatus(before, status)) plan.push({
    kind: 'patch', type: CLUSTER_PROFILES, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid }, status },
  });
  return plan;
}
