// Pod groups: the pods of one group are placed all or none, as with the Coscheduling plugin's PodGroup; the minimum
// count is on the pods, and the largest one counts. Until the minimum has nodes in targets no member is bound; when one
// member fits nowhere all candidates are deleted. After the first bind the group is committed, and later members are
// placed individually.
import type { PodGroup } from '../../model/pod/pod-group.ts';
import { inSchedulingOrder, type WaitingPod } from './waiting-pods.ts';

/**
 * Progress of a member: without a target, sent to one, assigned to a node there, bound; `joined` was bound before it
 * was labelled into the group, and does not commit it.
 */
export type MemberState = 'unplaced' | 'asked' | 'placed' | 'bound' | 'joined';

/** A member as the index stores it. */
export interface GroupMember extends WaitingPod {
  readonly uid: string;
  readonly group: PodGroup;
}

/** State of a group for its members. */
export type GroupState =
  /** Fewer members exist than must be placed together. */
  | { readonly kind: 'too-few'; readonly minCount: number }
  /** Of `unplaced`, in scheduling order, at least `needed` must fit at once. The same list until a member changes. */
  | { readonly kind: 'incomplete'; readonly unplaced: readonly GroupMember[]; readonly needed: number }
  /** One member fits nowhere: all candidates are deleted, and nothing is tried until they are gone. */
  | { readonly kind: 'failed' }
  /** The required members have, or had, their nodes: each member is placed individually. */
  | { readonly kind: 'complete' };

interface Group {
  readonly members: Map<string, GroupMember>;
  readonly states: Map<string, MemberState>;
  /** Those without a target, in scheduling order; undefined until it is asked for after a change. */
  unplaced: readonly GroupMember[] | undefined;
  /** A member was bound: the group can no longer be rolled back. */
  committed: boolean;
  failed: boolean;
}

/** All groups of the source. */
export class PodGroups {
  readonly #groups = new Map<string, Group>();
  readonly #byUid = new Map<string, GroupMember>();

  /**
   * Updates a member. Returns the keys of the other members when its state or the minimum has changed, also of the
   * group that it has left: labels and annotations of pods may be changed. One more of too few tells them nothing.
   */
  put(
    { uid, key, namespace, priority, createdAt, group: { name, minCount } }: GroupMember, state: MemberState,
  ): readonly string[] {
    const member: GroupMember = { uid, key, namespace, priority, createdAt, group: { name, minCount } };
    const former = this.#byUid.get(uid);
    const left = former !== undefined && groupKey(former) !== groupKey(member) ? this.remove(uid) : [];
    const group = this.#groupOf(member);
    const before = group.states.get(uid);
    const hadTooFew = hasTooFew(group);
    const minimumBefore = former?.group.minCount === minCount ? undefined : minimumOf(group);
    group.unplaced = undefined;
    group.members.set(uid, member);
    group.states.set(uid, state);
    this.#byUid.set(uid, member);
    if (state === 'bound') group.committed = true;
    const isSameMinimum = minimumBefore === undefined || minimumBefore === minimumOf(group);
    const isStillTooFew = before === undefined && hadTooFew && hasTooFew(group);
    return isSameMinimum && (before === state || isStillTooFew) ? left : [...left, ...others(group, uid)];
  }

  /** A member's candidate is gone. Returns the keys of the other members when that changes the state. */
  displace(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    return member === undefined ? [] : this.put(member, 'unplaced');
  }

  /** Removes a member. Returns the keys of the other members. */
  remove(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    if (member === undefined) return [];
    this.#byUid.delete(uid);
    const group = this.#groupOf(member);
    group.unplaced = undefined;
    group.members.delete(uid);
    group.states.delete(uid);
    if (group.members.size === 0) this.#groups.delete(groupKey(member));
    return others(group, uid);
  }

  /** A member fits nowhere. Returns the keys of the other members, whose candidates must be deleted. */
  fail(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    if (member === undefined) return [];
    const group = this.#groupOf(member);
    group.failed = !group.committed && count(group, ['asked', 'placed']) > 0;
    return group.failed ? others(group, uid) : [];
  }

  /** State of a pod's group; undefined when it is in none. */
  stateOf(uid: string): GroupState | undefined {
    const member = this.#byUid.get(uid);
    if (member === undefined) return undefined;
    const group = this.#groupOf(member);
    const placed = count(group, ['placed', 'bound', 'joined']);
    if (group.committed) return { kind: 'complete' };
    const asked = count(group, ['asked']);
    if (group.failed && count(group, ['asked', 'placed']) > 0) return { kind: 'failed' };
    group.failed = false;
    const minCount = minimumOf(group);
    if (placed >= minCount) return { kind: 'complete' };
    if (hasTooFew(group)) return { kind: 'too-few', minCount };
    group.unplaced ??=
      inSchedulingOrder([...group.members.values()].filter(({ uid: of }) => group.states.get(of) === 'unplaced'));
    return { kind: 'incomplete', unplaced: group.unplaced, needed: Math.max(0, minCount - placed - asked) };
  }

  #groupOf(member: GroupMember): Group {
    const key = groupKey(member);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { members: new Map(), states: new Map(), unplaced: undefined, committed: false, failed: false };
      this.#groups.set(key, group);
    }
    return group;
  }
}

function groupKey({ namespace, group }: GroupMember): string {
  return `${namespace}/${group.name}`;
}

/** The largest count of its members. */
function minimumOf({ members }: Group): number {
  let minimum = 0;
  for (const { group: { minCount } } of members.values()) minimum = Math.max(minimum, minCount);
  return minimum;
}

function hasTooFew(group: Group): boolean {
  return group.members.size < minimumOf(group);
}

function count({ states }: Group, wanted: readonly MemberState[]): number {
  let found = 0;
  for (const state of states.values()) if (wanted.includes(state)) found += 1;
  return found;
}

function others({ members }: Group, uid: string): readonly string[] {
  return [...members.values()].filter((member) => member.uid !== uid).map(({ key }) => key);
}
