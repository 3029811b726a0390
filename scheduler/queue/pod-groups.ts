// Gangs: pods of one group are placed all or none (as the Coscheduling plugin's PodGroup, with the count on the pods themselves).
// Until the least number of a group has a node in some target none of it is bound, and when one finds no place all candidates are
// taken back. Once one is bound the group is committed: whoever comes later is placed by itself.
import type { PodGroup } from '../../model/pod/pod-group.ts';
import { yieldToEventLoop, type WaitingPod } from './waiting-pods.ts';

/** How far a member has come: without a target, asked for in one, sure of its node there, bound. */
export type MemberState = 'unplaced' | 'asked' | 'placed' | 'bound';

/** A member as the index keeps it. */
export interface GroupMember extends WaitingPod {
  readonly uid: string;
  readonly group: PodGroup;
}

/** What a group means for its members now. */
export type GroupState =
  /** Fewer members exist than must be placed together. */
  | { readonly kind: 'too-few'; readonly exist: number }
  /** Of `unplaced`, in the order of their turns, at least `needed` must find a place at once. */
  | { readonly kind: 'incomplete'; readonly unplaced: readonly GroupMember[]; readonly needed: number }
  /** One has found no place: all candidates are taken back, and nothing is tried until they are. */
  | { readonly kind: 'failed' }
  /** All that are needed have their nodes, or had: each member is on its own. */
  | { readonly kind: 'complete' };

interface Group {
  readonly members: Map<string, GroupMember>;
  readonly states: Map<string, MemberState>;
  /** One has been bound: there is no way back. */
  committed: boolean;
  failed: boolean;
}

/** All groups of the source. */
export class PodGroups {
  readonly #groups = new Map<string, Group>();
  readonly #byUid = new Map<string, GroupMember>();

  /** Takes over a member as it is now. Gives the keys of the others when its state has changed. */
  put({ uid, key, namespace, priority, createdAt, group: { name, minCount } }: GroupMember, state: MemberState): readonly string[] {
    const member: GroupMember = { uid, key, namespace, priority, createdAt, group: { name, minCount } };
    const group = this.#groupOf(member);
    const before = group.states.get(uid);
    group.members.set(uid, member);
    group.states.set(uid, state);
    this.#byUid.set(uid, member);
    if (state === 'bound') group.committed = true;
    return before === state ? [] : others(group, uid);
  }

  /** A member's candidate is gone. Gives the keys of the others when that is news. */
  displace(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    return member === undefined ? [] : this.put(member, 'unplaced');
  }

  /** Forgets a member that has gone. Gives the keys of the others. */
  remove(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    if (member === undefined) return [];
    this.#byUid.delete(uid);
    const group = this.#groupOf(member);
    group.members.delete(uid);
    group.states.delete(uid);
    if (group.members.size === 0) this.#groups.delete(groupKey(member));
    return others(group, uid);
  }

  /** A member has found no place. Gives the keys of the others, whose candidates are to be taken back. */
  fail(uid: string): readonly string[] {
    const member = this.#byUid.get(uid);
    if (member === undefined) return [];
    const group = this.#groupOf(member);
    group.failed = !group.committed && count(group, ['asked', 'placed']) > 0;
    return group.failed ? others(group, uid) : [];
  }

  /** What the group of a pod means for it; undefined when it is in none. */
  stateOf(uid: string): GroupState | undefined {
    const member = this.#byUid.get(uid);
    if (member === undefined) return undefined;
    const group = this.#groupOf(member);
    const { minCount } = member.group;
    const placed = count(group, ['placed', 'bound']);
    if (group.committed) return { kind: 'complete' };
    const asked = count(group, ['asked']);
    if (group.failed && asked + placed > 0) return { kind: 'failed' };
    group.failed = false;
    if (placed >= minCount) return { kind: 'complete' };
    if (group.members.size < minCount) return { kind: 'too-few', exist: group.members.size };
    const unplaced = yieldToEventLoop([...group.members.values()].filter(({ uid: of }) => group.states.get(of) === 'unplaced'));
    return { kind: 'incomplete', unplaced, needed: Math.max(0, minCount - placed - asked) };
  }

  #groupOf(member: GroupMember): Group {
    const key = groupKey(member);
    let group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, (group = { members: new Map(), states: new Map(), committed: false, failed: false }));
    return group;
  }
}

function groupKey({ namespace, group }: GroupMember): string {
  return `${namespace}/${group.name}`;
}

function count({ states }: Group, wanted: readonly MemberState[]): number {
  let found = 0;
  for (const state of states.values()) if (wanted.includes(state)) found += 1;
  return found;
}

function others({ members }: Group, uid: string): readonly string[] {
  return [...members.values()].filter((member) => member.uid !== uid).map(({ key }) => key);
}
