import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, Service, StringMap } from '../../../../api/objects/core.ts';
import {
  ADMIRALTY_PREFIX,
  CILIUM_FORMER_GLOBAL_ANNOTATION, FOLLOW_MARKS_ANNOTATION, GLOBAL_ANNOTATION, ORIGINAL_SELECTOR_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import {
  planFollow, planFollowAnnotations, toSourceObject, type CopyObject, type FollowState, type FollowMarking,
  type SourceObject,
} from '../../../../delegate-controller/copies/follow-plan.ts';
import { FOLLOWED_KINDS, type FollowedKind } from '../../../../delegate-controller/copies/followed-kinds.ts';
import { afterMergePatch } from '../../../support/objects/builders.ts';

const NOW = 1_000_000;
const kindOf = (plural: string): FollowedKind => FOLLOWED_KINDS.find(({ type }) => type.plural === plural)!;
const [CONFIG_MAP, SECRET, SERVICE, INGRESS] =
  [kindOf('configmaps'), kindOf('secrets'), kindOf('services'), kindOf('ingresses')];

const source: SourceObject = {
  key: 'a/x', uid: 'u', resourceVersion: '1', digest: 'd1', selector: {}, refersTo: [], rejection: undefined,
  markings: ['rewritten'],
};
const copy: CopyObject = { key: 'a/x', uid: 'c', digest: 'd1', parentUid: 'u' };
const base: FollowState = { kind: CONFIG_MAP, needed: true, source, copy, unneededSince: NOW, accepted: undefined };
const removal = (kind: FollowedKind) => [{
  kind: 'delete', type: kind.type, at: { namespace: 'a', name: 'x' }, preconditions: { uid: 'c' },
  propagation: 'Background',
}];
const longAgo = { unneededSince: NOW - 3_600_000 };

describe('planFollow', () => {
  const cases: Record<string, readonly [state: Partial<FollowState>, step: object]> = {
    'does nothing when both are equal': [{}, { kind: 'no-change' }],
    'copies what is not there': [{ copy: undefined }, { kind: 'copy' }],
    'copies what has changed': [{ copy: { ...copy, digest: 'd0' } }, { kind: 'copy' }],
    'copies what was made from an older object of that name':
      [{ copy: { ...copy, parentUid: 'old' } }, { kind: 'copy' }],
    'leaves it as the target made it of our last write':
      [{ copy: { ...copy, digest: 'theirs' }, accepted: { desired: 'd1', stored: 'theirs' } }, { kind: 'no-change' }],
    'copies again when the object has changed since':
      [{ copy: { ...copy, digest: 'theirs' }, accepted: { desired: 'd0', stored: 'theirs' } }, { kind: 'copy' }],
    'copies again when the copy has changed since':
      [{ copy: { ...copy, digest: 'other' }, accepted: { desired: 'd1', stored: 'theirs' } }, { kind: 'copy' }],
    'does not follow what must stay': [{ source: { ...source, rejection: 'no' } }, { kind: 'reject', message: 'no' }],
    'concludes nothing before the source is listed': [{ source: 'unknown' }, { kind: 'no-change' }],
    'waits for an object that is not there yet': [{ source: undefined, copy: undefined }, { kind: 'no-change' }],
    'removes the copy of an object that is gone':
      [{ source: undefined }, { kind: 'remove', cause: 'source-gone', plan: removal(CONFIG_MAP) }],
    'keeps what nobody needs for a while': [{ needed: false, unneededSince: NOW - 4_000 }, { kind: 'wait', ms: 1_000 }],
    'removes it then':
      [{ needed: false, ...longAgo }, { kind: 'remove', cause: 'unneeded', plan: removal(CONFIG_MAP) }],
    'removes it also where the source is no longer watched': [{ needed: false, source: 'unknown', ...longAgo }, {
      kind: 'remove', cause: 'unneeded', plan: removal(CONFIG_MAP),
    }],
    'never removes a Service before Services are listed':
      [{ kind: SERVICE, needed: false, source: 'unknown', ...longAgo }, { kind: 'no-change' }],
    'removes a Service whose object is gone at once': [{ kind: SERVICE, needed: false, source: undefined }, {
      kind: 'remove', cause: 'source-gone', plan: removal(SERVICE),
    }],
    'copies nothing while nobody can say whether policies let it in':
      [{ kind: SERVICE, needed: 'unknown', copy: undefined }, { kind: 'no-change' }],
    'removes nothing then': [{ kind: SERVICE, needed: 'unknown', ...longAgo }, { kind: 'no-change' }],
    'removes even then the copy of an object that is gone': [{ kind: SERVICE, needed: 'unknown', source: undefined }, {
      kind: 'remove', cause: 'source-gone', plan: removal(SERVICE),
    }],
    'does nothing where there is nothing and nobody needs it':
      [{ needed: false, copy: undefined, ...longAgo }, { kind: 'no-change' }],
  };
  for (const [what, [state, step]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(planFollow({ ...base, ...state }, NOW), step));
  }
});

const aService = (selector: StringMap, annotations: StringMap = {}): Service =>
  ({ metadata: { namespace: 'a', name: 'x', uid: 'u', resourceVersion: '1', annotations }, spec: { selector } });
const after = (kind: FollowedKind, object: KubernetesObject, marking: FollowMarking): Service => {
  const [command] = planFollowAnnotations(kind, object, marking);
  return command?.kind === 'patch' ? (afterMergePatch(object, command.patch) as Service) : object;
};
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('planFollowAnnotations', () => {
  it('marks a followed Service, once', () => {
    const marked = after(SERVICE, aService({ app: 'web' }), 'rewritten');
    assert.deepEqual({ ...marked.spec?.selector }, { [`${ADMIRALTY_PREFIX}app`]: 'web' });
    const { annotations = {} } = marked.metadata;
    assert.deepEqual(
      [annotations[GLOBAL_ANNOTATION], annotations[CILIUM_FORMER_GLOBAL_ANNOTATION], annotations[
        ORIGINAL_SELECTOR_ANNOTATION
      ]],
      ['true', 'true', 'app=web'],
    );
    assert.deepEqual(planFollowAnnotations(SERVICE, marked, 'rewritten'), []);
  });

  it('gives the Service back as it was', () => {
    const before = aService({ app: 'web', 'a.io/tier': 'x' }, { note: 'n' });
    assert.deepEqual(plain(after(SERVICE, after(SERVICE, before, 'rewritten'), 'none')), plain(before));
  });

  it('keeps marks that the user gave', () => {
    const before = aService({ app: 'web' }, { [GLOBAL_ANNOTATION]: 'true' });
    const marked = after(SERVICE, before, 'rewritten');
    assert.equal(marked.metadata.annotations?.[FOLLOW_MARKS_ANNOTATION], CILIUM_FORMER_GLOBAL_ANNOTATION);
    assert.deepEqual(plain(after(SERVICE, marked, 'none')), plain(before));
  });

  it('repairs marks that somebody took away, and still owns them', () => {
    const marked = after(SERVICE, aService({ app: 'web' }), 'rewritten');
    const { [GLOBAL_ANNOTATION]: _gone, ...annotations } = marked.metadata.annotations ?? {};
    const repaired = after(SERVICE, { ...marked, metadata: { ...marked.metadata, annotations } }, 'rewritten');
    assert.deepEqual(plain(after(SERVICE, repaired, 'none')), plain(aService({ app: 'web' })));
  });

  it('rewrites a selector that was applied again, and nothing more', () => {
    const marked = after(SERVICE, aService({ app: 'web' }), 'rewritten');
    const applied = { ...marked, spec: { selector: { ...marked.spec?.selector, app: 'api' } } };
    const again = after(SERVICE, applied, 'rewritten');
    assert.deepEqual({ ...again.spec?.selector }, { [`${ADMIRALTY_PREFIX}app`]: 'api' });
    assert.equal(again.metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION], 'app=api');
  });

  it('keeps the selector where the pod plane reaches delegates, and gives back one that was rewritten before', () => {
    const kept = after(SERVICE, aService({ app: 'web' }), 'kept');
    assert.deepEqual(
      [{ ...kept.spec?.selector }, kept.metadata.annotations?.[GLOBAL_ANNOTATION], kept.metadata.annotations?.[
        ORIGINAL_SELECTOR_ANNOTATION
      ]],
      [{ app: 'web' }, 'true', undefined],
    );
    assert.deepEqual(plain(after(SERVICE, after(SERVICE, aService({ app: 'web' }), 'rewritten'), 'kept')), plain(kept));
    assert.deepEqual(plain(after(SERVICE, kept, 'none')), plain(aService({ app: 'web' })));
    assert.deepEqual(toSourceObject(SERVICE, kept, 'cluster').markings, ['kept']);
  });

  it('never touches what was never followed, nor what has no marks', () => {
    assert.deepEqual(planFollowAnnotations(SERVICE, aService({ app: 'web' }), 'none'), []);
    assert.deepEqual(planFollowAnnotations(SECRET, aService({}), 'rewritten'), []);
  });

  it('writes only to the version that it was decided for', () => {
    const [command] = planFollowAnnotations(INGRESS, aService({}), 'rewritten');
    assert.ok(command?.kind === 'patch');
    const { uid, resourceVersion } = (command.patch as KubernetesObject).metadata;
    assert.deepEqual([uid, resourceVersion], ['u', '1']);
  });
});

describe('the record of an object of the source', () => {
  it('knows the selector that the user means, and whether marks are there', () => {
    const marked = after(SERVICE, aService({ app: 'web' }), 'rewritten');
    const [before, then] =
      [aService({ app: 'web' }), marked].map((object) => toSourceObject(SERVICE, object, 'cluster'));
    assert.deepEqual([before?.selector, then?.selector], [{ app: 'web' }, { app: 'web' }]);
    assert.deepEqual([before?.markings, then?.markings], [['none'], ['rewritten']]);
    assert.equal(before?.digest, then?.digest);
  });

  it('knows which Services an Ingress leads to; a rule without paths leads nowhere', () => {
    const backend = (name: string) => ({ backend: { service: { name, port: { number: 80 } } } });
    const spec = {
      defaultBackend: { service: { name: 'c' } },
      rules: [{ host: 'x' }, { http: { paths: [backend('a'), { backend: { resource: {} } }, backend('b')] } }],
    };
    const ingress = { metadata: { namespace: 'a', name: 'x' }, spec } as KubernetesObject;
    assert.deepEqual(toSourceObject(INGRESS, ingress, 'cluster').refersTo, ['a', 'b', 'c']);
  });

  it('does not hold what the object says', () => {
    const secret = { metadata: { namespace: 'a', name: 'x' }, data: { key: 'canary' } } as KubernetesObject;
    assert.ok(!JSON.stringify(toSourceObject(SECRET, secret, 'cluster')).includes('canary'));
  });
});
