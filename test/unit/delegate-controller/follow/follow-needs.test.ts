import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  FollowNeeds, type BoundNeeds, type FollowTarget,
} from '../../../../delegate-controller/follow/follow-needs.ts';
import type { SourceObject } from '../../../../delegate-controller/copies/follow-plan.ts';
import { FOLLOWED_KINDS, type FollowedName } from '../../../../delegate-controller/copies/followed-kinds.ts';
import { Placements } from '../../../../delegate-controller/follow/needs-by-target.ts';
import type { PodNeeds } from '../../../../model/pod/pod-needs.ts';

const NAMESPACE = 'shop';
const WEB: PodNeeds = { references: ['configmaps/settings'], labels: { app: 'web' } };
const DB: PodNeeds = { references: [], labels: { app: 'db' } };
const target = (key: string, ref: FollowTarget['ref'] = { kind: 'ClusterTarget', name: key }): FollowTarget =>
  ({ key, ref, nodeName: `node-${key}` });
const [HERE, THERE, WAITING] = [target('here'), target('there'), target('waiting')];
const TENANT = target('tenant', { kind: 'Target', namespace: 'elsewhere', name: 'tenant' });

function named(plural: string, name: string): FollowedName {
  const kind = FOLLOWED_KINDS.find(({ type }) => type.plural === plural);
  assert.ok(kind !== undefined, plural);
  return { kind, namespace: NAMESPACE, name };
}

const SETTINGS = named('configmaps', 'settings');
const SERVICE = named('services', 'web');
const DB_SERVICE = named('services', 'db');
const INGRESS = named('ingresses', 'front');
const GONE = named('services', 'gone');

const object = (more: Partial<SourceObject>): SourceObject => ({
  key: '', uid: 'u', resourceVersion: '1', digest: 'd', selector: {}, refersTo: [], rejection: undefined,
  markings: [], ...more,
});
const OBJECTS = new Map<FollowedName['name'], SourceObject>([
  ['settings', object({})],
  ['web', object({ selector: { app: 'web' } })],
  ['db', object({ selector: { app: 'db' } })],
  ['front', object({ refersTo: ['web', 'db', 'gone'] })],
]);

/** Two web pods and a database run here; a third web pod waits for the verdict of another target. */
function needs(allowed: boolean | 'unknown' = false): FollowNeeds {
  const placements = new Placements();
  for (const [key, needs] of [['web-1', WEB], ['web-2', WEB], ['db-1', DB]] as const) {
    placements.place(`${NAMESPACE}/${key}`, { namespace: NAMESPACE, needs, target: HERE.key });
  }
  const rules = { allow: (pods: readonly unknown[]) => pods.length > 0 && allowed, onChange: () => undefined };
  const candidates = new Placements();
  candidates.place(`${NAMESPACE}/web-3`, { namespace: NAMESPACE, needs: WEB, target: WAITING.key });
  return new FollowNeeds({ placements, candidates }, rules, ({ name }) => OBJECTS.get(name));
}

describe('C2-11 and C2-12: what is needed in a target', () => {
  const rows: readonly (readonly [
    what: string, object: FollowedName, at: FollowTarget, allowed: boolean | 'unknown', isNeeded: boolean | 'unknown',
  ])[] = [
    ['what a pod there names', SETTINGS, HERE, false, true],
    ['what a pod names that runs elsewhere', SETTINGS, THERE, true, false],
    ['what a pod names whose candidate is there', SETTINGS, WAITING, false, true],
    ['a Service of pods whose candidates are there', SERVICE, WAITING, false, false],
    ['a Service of pods there', SERVICE, HERE, false, true],
    ['a Service of pods that may run there', SERVICE, THERE, true, true],
    ['a Service of pods that may not run there', SERVICE, THERE, false, false],
    ['a Service of pods of which nobody knows yet whether they may', SERVICE, THERE, 'unknown', 'unknown'],
    ['a Service in the Target of another namespace', SERVICE, TENANT, true, false],
    ['an Ingress that leads to such a Service', INGRESS, HERE, false, true],
    ['an Ingress that leads to a Service of pods that may run there', INGRESS, THERE, true, true],
    ['a Service that is not known', GONE, HERE, true, false],
  ];
  for (const [what, object, at, allowed, isNeeded] of rows) {
    it(`${what}: ${isNeeded}`, () => assert.equal(needs(allowed).isNeeded(object, at), isNeeded));
  }
});

describe('what pods that were just read need', () => {
  const bound = (needs: PodNeeds, { nodeName }: FollowTarget): BoundNeeds => ({ nodeName, needs });
  const rows: readonly (readonly [
    what: string, pods: readonly BoundNeeds[], object: FollowedName, allowed: boolean | 'unknown', isNeeded: boolean,
  ])[] = [
    ['nothing without pods', [], SETTINGS, true, false],
    ['what one there names', [bound(WEB, THERE)], SETTINGS, false, true],
    ['not what one elsewhere names', [bound(WEB, HERE)], SETTINGS, true, false],
    ['a Service of one there', [bound(WEB, THERE)], SERVICE, false, true],
    ['a Service of one that may come', [bound(WEB, HERE)], SERVICE, true, true],
    ['perhaps a Service of one that may come', [bound(WEB, HERE)], SERVICE, 'unknown', true],
    ['not a Service of one that may not', [bound(WEB, HERE)], SERVICE, false, false],
    ['an Ingress that leads to one', [bound(DB, THERE)], INGRESS, false, true],
  ];
  for (const [what, pods, object, allowed, isNeeded] of rows) {
    it(what, () => assert.equal(needs(allowed).isNeededBy(pods, object, THERE), isNeeded));
  }
});

describe('pods that are told of an object', () => {
  const keys = (...names: string[]) => names.map((name) => `${NAMESPACE}/${name}`);
  const rows: readonly (readonly [what: string, object: FollowedName, pods: readonly string[]])[] = [
    ['those that name it', SETTINGS, keys('web-1', 'web-2')],
    ['those that a Service selects', DB_SERVICE, keys('db-1')],
    ['those behind an Ingress, each once', INGRESS, keys('web-1', 'web-2', 'db-1')],
    ['none of what is not known', GONE, []],
  ];
  for (const [what, object, pods] of rows) it(what, () => assert.deepEqual(needs().podsNeeding(object, HERE), pods));

  it('are those of an object that serves somebody', () => {
    assert.deepEqual([SERVICE, INGRESS, GONE].map((object) => needs().isServing(object)), [true, true, false]);
  });
});
