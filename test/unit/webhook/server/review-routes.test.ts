// Which path decides about what, and what the request around an object changes in that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DAEMON_SETS_PATH, NAMESPACE_PATH, POD_PATH, REACHED_PATH, RESOURCE_SHARES_PATH, TARGETS_PATH, WEBHOOK_PATHS,
} from '../../../../api/admission-rules.ts';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, TRACE_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Admission, AdmissionContext } from '../../../../webhook/review/admission-answer.ts';
import { parseReview, type AdmissionRequest } from '../../../../webhook/review/admission-review.ts';
import { decideInNamespace, REVIEW_ROUTES, type Decide } from '../../../../webhook/server/review-routes.ts';
import { reviewOf } from '../../../support/objects/admission.ts';
import { annotated, aPod, frozen } from '../../../support/objects/builders.ts';

const ELECTED = frozen(aPod(annotated({ [ELECT_ANNOTATION]: '' })));
const requestFor = (object: object, more: Partial<AdmissionRequest> = {}): AdmissionRequest =>
  ({ uid: 'u', operation: 'CREATE', namespace: 'team-a', object: object as KubernetesObject, ...more });
function decideBy(
  path: string, object: object, more: Partial<AdmissionRequest> = {}, context: AdmissionContext = {},
): Admission {
  const { decide } = REVIEW_ROUTES[path] ?? assert.fail(path);
  return decide(requestFor(object, more), context);
}
const reasonOf = (admission: Admission): string => (admission.kind === 'deny' ? admission.reason : admission.kind);

describe('every path of a webhook', () => {
  it('has one decision, but that of namespaces, which has to ask first', () => assert.deepEqual(
    new Set(Object.values(WEBHOOK_PATHS)), new Set([...Object.keys(REVIEW_ROUTES), NAMESPACE_PATH]),
  ));
  const DAEMON_SET = {
    metadata: {}, spec: { template: { spec: { containers: [], tolerations: [{ operator: 'Exists' }] } } },
  };
  const rows: Readonly<Record<string, readonly [path: string, object: object, outcome: string]>> = {
    'elects pods': [POD_PATH, ELECTED, 'mutate'],
    'denies pods': [POD_PATH, { ...ELECTED, spec: { ...ELECTED.spec, nodeName: 'n' } }, 'NodeNameSet'],
    'keeps DaemonSets off virtual nodes': [DAEMON_SETS_PATH, DAEMON_SET, 'mutate'],
    'checks targets': [TARGETS_PATH, { metadata: {}, spec: { excludedLabelsRegexp: '(' } }, 'BadLabelPattern'],
    'checks shares': [RESOURCE_SHARES_PATH, { metadata: {}, spec: { limits: { cpu: 'many' } } }, 'BadQuantity'],
    'answers the probe': [REACHED_PATH, { metadata: {} }, 'mutate'],
  };
  for (const [what, [path, object, outcome]] of Object.entries(rows)) {
    it(what, () => assert.equal(reasonOf(decideBy(path, object)), outcome));
  }
});

describe('a pod', () => {
  const operations: Readonly<Record<string, string>> = {
    CREATE: 'mutate', UPDATE: 'pass', DELETE: 'pass', CONNECT: 'pass', create: 'pass', '': 'pass',
  };
  for (const [operation, kind] of Object.entries(operations)) {
    it(`with operation "${operation}": ${kind}`, () =>
      assert.equal(decideBy(POD_PATH, ELECTED, { operation }).kind, kind));
    it(`of a namespace that elects all, with operation "${operation}": ${kind}`, () => {
      const decide = decideInNamespace({ spec: {}, selfTargets: [] });
      assert.equal(decide(requestFor(aPod(), { operation }), {}).kind, kind);
    });
  }
  it('is patched by a dry run as otherwise: users see what would be', () =>
    assert.deepEqual(decideBy(POD_PATH, ELECTED, { dryRun: true }), decideBy(POD_PATH, ELECTED)));
  it('gets no trace where none are exported', () => {
    const admission = decideBy(POD_PATH, ELECTED);
    assert.ok(admission.kind === 'mutate' && !JSON.stringify(admission.patch).includes(TRACE_ANNOTATION));
  });
  it('gets a copy of its manifest where the installation wants it, and only there', () => {
    for (const writesManifest of [true, false, undefined]) {
      const admission = decideBy(POD_PATH, ELECTED, {}, { writesManifest });
      const isWritten = JSON.stringify(admission).includes(SOURCE_MANIFEST_ANNOTATION.replace('/', '~1'));
      assert.equal(isWritten, writesManifest === true, String(writesManifest));
    }
  });
  it('of a namespace whose election is not known is left alone, elected or not', () => {
    const decide: Decide = decideInNamespace(undefined);
    for (const pod of [aPod(), ELECTED]) assert.deepEqual(decide(requestFor(pod), {}), { kind: 'pass' });
  });
  it('of such a namespace is denied for the same reasons where its user elected it', () => {
    const decide = decideInNamespace({ spec: { strategy: 'Local' }, selfTargets: [] });
    const pod = { ...ELECTED, spec: { ...ELECTED.spec, nodeName: 'n' } };
    assert.equal(reasonOf(decide(requestFor(pod), {})), 'NodeNameSet');
  });
});

describe('objects of other kinds are judged alike when they are made and changed', () => {
  const wrong = { metadata: {}, spec: { excludedLabelsRegexp: '(', limits: { cpu: '-1' } } };
  for (const operation of ['CREATE', 'UPDATE']) {
    for (const path of [TARGETS_PATH, RESOURCE_SHARES_PATH]) {
      it(`${path} ${operation}`, () => assert.equal(decideBy(path, wrong, { operation }).kind, 'deny'));
    }
  }
});

describe('a review around an object that is not there', () => {
  const settled = (object: unknown, request: object, parts?: readonly string[]): string => {
    const parsed = parseReview(JSON.stringify(reviewOf(object, request)), parts);
    return parsed.kind === 'answered' ? reasonOf(parsed.admission) : parsed.kind;
  };
  const rows: Readonly<Record<string, readonly [object: unknown, request: object, outcome: string]>> = {
    'of a DELETE passes': [null, { operation: 'DELETE', oldObject: ELECTED }, 'pass'],
    'of a CONNECT passes, whatever its options': [{ kind: 'PodExecOptions' }, { operation: 'CONNECT' }, 'pass'],
    'of a DELETE that has one passes all the same': [ELECTED, { operation: 'DELETE' }, 'pass'],
    'of a CREATE is denied': [null, {}, 'BadRequest'],
    'of an UPDATE is denied': [null, { operation: 'UPDATE', oldObject: ELECTED }, 'BadRequest'],
    'of no operation is denied': [null, { operation: undefined }, 'BadRequest'],
    'of an eviction, which has no spec, is denied': [{ metadata: { name: 'web' } }, {}, 'BadRequest'],
    'with an UPDATE is read': [ELECTED, { operation: 'UPDATE', subResource: 'ephemeralcontainers' }, 'review'],
    'with fields of a later version is read': [ELECTED, { requestSubResource: '', later: [null] }, 'review'],
  };
  for (const [what, [object, request, outcome]] of Object.entries(rows)) {
    it(what, () => assert.equal(settled(object, request), outcome));
  }
  it('of the probe needs no spec, but metadata', () => {
    const { parts } = REVIEW_ROUTES[REACHED_PATH] ?? {};
    const outcomes = [{ metadata: {} }, { spec: {} }].map((object) => settled(object, {}, parts));
    assert.deepEqual(outcomes, ['review', 'BadRequest']);
  });
});
