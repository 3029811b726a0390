import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Schema } from '../../../../api/objects/schema.ts';
import { expectShape, shapeProblem, violationOf, type Shape } from '../../../../model/objects/schema-check.ts';
import { REPORTED_POD_SHAPE, SUMMARY_SHAPE } from '../../../../model/delegate/target-answer-shapes.ts';
import { toChaperonRecord, toDelegatePodRecord } from '../../../../model/delegate/cached-delegate.ts';
import { aChaperon, aDelegate, inPhase, scheduled } from '../../../support/objects/builders.ts';

const SHAPE: Shape = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    count: { type: 'integer' }, on: { type: 'boolean' }, amount: { 'x-kubernetes-int-or-string': true },
    list: { type: 'array', items: { type: 'object', properties: { key: { type: 'string' } } } },
    map: { type: 'object', additionalProperties: { type: 'string' } }, any: {},
  },
};

describe('the shape of a value', () => {
  const fitting: Record<string, unknown> = {
    'with all of it':
      { name: 'a', count: 1, on: true, amount: '1Gi', list: [{ key: 'k' }], map: { a: 'b' }, any: [null] },
    'with what is required': { name: '' },
    'with more than it says': { name: 'a', other: { deep: [[1]] }, list: [{ more: 1 }] },
    'with keys that every object inherits':
      JSON.parse('{"name":"a","__proto__":{"count":"x"},"map":{"constructor":"x","__proto__":"y"}}') as unknown,
  };
  for (const [what, value] of Object.entries(fitting)) {
    it(`fits one ${what}`, () => assert.equal(shapeProblem(value, SHAPE), undefined));
  }

  const misfits: readonly [unknown, string][] = [
    [null, ' is not an object'],
    [[], ' is not an object'],
    ['text', ' is not an object'],
    [{}, '.name is missing'],
    [JSON.parse('{"__proto__":{"name":"a"}}'), '.name is missing'],
    [{ name: null }, '.name is no string'],
    [{ name: 'a', count: 1.5 }, '.count is no integer'],
    [{ name: 'a', count: 2 ** 60 }, '.count is no integer'],
    [{ name: 'a', on: 'true' }, '.on is no boolean'],
    [{ name: 'a', amount: {} }, '.amount is not a string or number'],
    [{ name: 'a', list: { length: 1 } }, '.list is not a list'],
    [{ name: 'a', list: [{}, null] }, '.list[1] is not an object'],
    [{ name: 'a', list: [{ key: [] }] }, '.list[0].key is no string'],
    [{ name: 'a', map: { b: 1 } }, '.map.b is no string'],
  ];
  for (const [value, misfit] of misfits) {
    it(`does not fit ${JSON.stringify(value)}: ${misfit}`, () => assert.equal(shapeProblem(value, SHAPE), misfit));
  }

  it('is told in an error of bounded length', () => assert.throws(
    () => expectShape({ name: 'a', map: { ['k'.repeat(9_999)]: 1 } }, SHAPE),
    (error: unknown) => error instanceof TypeError && error.message.length < 400,
  ));
});

// What a lying API server might send: each of these stopped a decision half-way once, for all pods, or was asked for
// again and again.
describe('C2-13: what a target tells', () => {
  const delegate = aDelegate(scheduled(), inPhase('Running'));
  const oddPods: Record<string, object> = {
    'conditions that are no list': { ...delegate, status: { phase: 'Running', conditions: 'x' } },
    'a condition that is null': { ...delegate, status: { phase: 'Running', conditions: [null] } },
    'containers that are no list': { ...delegate, status: { phase: 'Running', containerStatuses: {} } },
    'a container that is null': { ...delegate, status: { phase: 'Running', containerStatuses: [null] } },
    'an annotation that is a list':
      { ...delegate, metadata: { ...delegate.metadata, annotations: { ...delegate.metadata.annotations, a: [] } } },
    'owners that are null': { ...delegate, metadata: { ...delegate.metadata, ownerReferences: [null] } },
    'no metadata': { status: {} },
  };
  for (const [what, pod] of Object.entries(oddPods)) {
    it(`is no delegate with ${what}`, () => assert.throws(() => toDelegatePodRecord(pod as never), TypeError));
    it(`is no chaperon with ${what}`, () => assert.throws(
      () => toChaperonRecord({ ...pod, kind: aChaperon().kind } as never), TypeError,
    ));
  }
  it('may have times that were never set', () => {
    const status = {
      phase: 'Pending', startTime: null,
      conditions:
        [{ type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: null, reason: 'x' }],
    };
    assert.equal(shapeProblem({ ...delegate, status }, REPORTED_POD_SHAPE), undefined);
  });

  const summary = {
    metadata: { name: 'singleton' }, capacity: { cpu: 8, memory: '16Gi' },
    nodeGroups: [{ taints: [{ key: 'k', effect: 'NoSchedule' }], holes: [{ count: 1, free: { cpu: '1' } }] }],
    shares: [{ source: '*', limits: {} }],
  };
  it('is a summary as targets publish it', () => assert.equal(shapeProblem(summary, SUMMARY_SHAPE), undefined));
  const oddSummaries: Record<string, object> = {
    'taints that are a text': { nodeGroups: [{ taints: '%2e', holes: [] }] },
    'a taint that is null': { nodeGroups: [{ taints: [null], holes: [] }] },
    'a free node shape that is null': { nodeGroups: [{ holes: [null] }] },
    'no free node shapes': { nodeGroups: [{}] },
    'groups that are true': { nodeGroups: true },
    'shares that are null': { shares: null },
    'a share that is null': { shares: [null] },
    'labels that are no list': { nodeGroups: [{ perNodeLabels: 'x', holes: [] }] },
    'digests that are null': { nodeGroups: [{ holes: [{ count: 1, free: {}, nodes: null }] }] },
  };
  for (const [what, odd] of Object.entries(oddSummaries)) {
    it(`is no summary with ${what}`, () => {
      assert.notEqual(shapeProblem({ ...summary, ...odd }, SUMMARY_SHAPE), undefined);
    });
  }
});

const violations: readonly (readonly [schema: Schema, value: unknown, violation: string | undefined])[] = [
  [{ type: 'boolean' }, true, undefined], [{ type: 'boolean' }, 'true', 'x must be true or false'],
  [{ 'x-kubernetes-int-or-string': true }, '5%', undefined],
  [{ 'x-kubernetes-int-or-string': true }, 5, undefined],
  [{ 'x-kubernetes-int-or-string': true }, 0.5, 'x must be a string or an integer'],
  [{ type: 'integer' }, Number.NaN, 'x must be an integer'], [{ type: 'integer' }, 2 ** 60, 'x must be an integer'],
  [{ type: 'integer', minimum: -1, maximum: 1 }, -1, undefined],
  [{ type: 'string', pattern: '^[a-z]+$' }, 'abc', undefined],
  [{ type: 'string', pattern: '^[a-z]+$' }, 'a1', 'x must match ^[a-z]+$, not "a1"'],
  [{ type: 'string', maxLength: 2 }, '👋👋', undefined],
  [{ type: 'array', minItems: 2 }, [1], 'x must have at least 2 entries'],
  [{ type: 'array', items: { type: 'string' } }, ['a', 1], 'x[1] must be a string'],
  [{ type: 'object', additionalProperties: { type: 'string' }, maxProperties: 1 }, { a: '', b: '' },
    'x has 2 entries; at most 1 are allowed'],
  [{ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, { any: {} }, undefined],
  [{ 'x-kubernetes-preserve-unknown-fields': true }, [null], undefined],
  [{ type: 'object', properties: { a: { type: 'object', required: ['b'] } } }, { a: {} }, 'x.a.b is missing'],
];

describe('what a schema rejects', () => {
  for (const [schema, value, violation] of violations) {
    it(`is ${violation ?? 'nothing'} of ${JSON.stringify(value)}`, () => {
      const { field = '', message = '' } = violationOf(value, schema, 'x') ?? {};
      assert.equal(`${field} ${message}`.trim() || undefined, violation);
    });
  }

  it('is told in a few words, however long the name of a field is', () => {
    const { field = '', message = '' } = violationOf({ ['y'.repeat(10_000)]: 1 }, { type: 'object' }, 'x') ?? {};
    assert.ok(field.length > 0 && field.length + message.length < 200);
  });
});
