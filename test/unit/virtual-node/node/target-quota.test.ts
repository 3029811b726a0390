import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceList, ResourceQuota } from '../../../../api/objects/core.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { TargetSession } from '../../../../targets/target-session.ts';
import { quotaLimits } from '../../../../virtual-node/node/target-quota.ts';
import { targetQuotas } from '../../../../virtual-node/node/target-quota-reader.ts';

const aQuota = (hard: ResourceList, more: object = {}): ResourceQuota => ({ metadata: {}, spec: { hard, ...more } });

describe('what quotas grant', () => {
  const rows: Record<string, readonly [quotas: readonly ResourceQuota[], limits: Record<string, number>]> = {
    'is nothing where there is none': [[], {}],
    'is what they say of requests, under either name': [
      [aQuota({ 'requests.cpu': '2', memory: '1Gi', 'requests.nvidia.com/gpu': '1' })],
      { cpu: 2_000, memory: 2 ** 30, 'nvidia.com/gpu': 1 },
    ],
    'is a number of pods, under either name': [[aQuota({ pods: '9' }), aQuota({ 'count/pods': '7' })], { pods: 7 }],
    'is the least of several': [[aQuota({ cpu: '3', 'requests.cpu': '2500m' }), aQuota({ cpu: '4' })], { cpu: 2_500 }],
    'has nothing of limits and of other objects': [[aQuota({ 'limits.cpu': '1', 'count/secrets': '3' })], {}],
    'has nothing of quotas for some pods only':
      [[aQuota({ cpu: '1' }, { scopes: ['BestEffort'] }), aQuota({ cpu: '1' }, { scopeSelector: {} })], {}],
    'has nothing of what is not a valid quantity': [[aQuota({ cpu: 'much' }), { metadata: {} }], {}],
  };
  for (const [what, [quotas, limits]] of Object.entries(rows)) {
    it(what, () => assert.deepEqual(Object.fromEntries(quotaLimits(quotas)), limits));
  }

  it('never grows by one more quota', () => {
    const list = fc.dictionary(
      fc.constantFrom('cpu', 'requests.cpu', 'memory', 'pods', 'count/pods'),
      fc.integer({ min: 0, max: 99 }).map(String),
    );
    fc.assert(fc.property(fc.array(list), list, (lists, another) => {
      const before = quotaLimits(lists.map((hard) => aQuota(hard)));
      const after = quotaLimits([...lists, another].map((hard) => aQuota(hard)));
      return [...before].every(([resource, amount]) => (after.get(resource) ?? Infinity) <= amount);
    }));
  });
});

describe('quotas of targets', () => {
  const aSession = (namespace: string | undefined, ...answers: readonly (readonly ResourceQuota[] | Error)[]) => {
    const left = [...answers];
    const asked: unknown[] = [];
    const list = async (_type: unknown, selection: unknown): Promise<readonly ResourceQuota[]> => {
      asked.push(selection);
      const answer = left.shift() ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    };
    return {
      session:
        { ours: { namespace }, client: { list }, signal: new AbortController().signal } as unknown as TargetSession,
      asked,
    };
  };

  it('are asked in the namespace of a Target at most each half minute, and changes are told', async (t) => {
    let now = 1_000_000;
    t.mock.method(performance, 'now', () => now);
    const refusal = new ApiError(403, 'Forbidden', 'no');
    const { session, asked } =
      aSession('team', [aQuota({ cpu: '2' })], [aQuota({ cpu: '2' })], refusal, [aQuota({ cpu: '1' })]);
    const quotas = targetQuotas();
    const found: unknown[] = [];
    for (const step of [0, 29_999, 1, 30_000, 30_000]) {
      now += step;
      await quotas.refresh(session, () => found.push(quotas.of(session)?.get('cpu')));
    }
    assert.deepEqual([found, asked], [[2_000, 1_000], Array.from({ length: 4 }, () => ({ namespace: 'team' }))]);
  });

  for (
    const [what, quota] of Object.entries({
      'null': null, 'without a spec': { metadata: {}, spec: null },
      'without limits': { metadata: {}, spec: { hard: null } },
      'with scopes of null': { metadata: {}, spec: { hard: {}, scopes: null } },
    })
  ) {
    it(`say nothing where a target answers with one ${what}, which no API server does`, async () => {
      const { session } = aSession('team', [quota] as unknown as readonly ResourceQuota[]);
      const quotas = targetQuotas();
      await quotas.refresh(session, () => undefined);
      assert.equal(quotas.of(session)?.size, 0);
    });
  }

  it('are not known before the first answer, and are none where the target keeps them to itself', async () => {
    const { session } = aSession('team', new ApiError(403, 'Forbidden', 'no'));
    const quotas = targetQuotas();
    const looking = quotas.refresh(session, () => undefined);
    assert.equal(quotas.of(session), undefined);
    await looking;
    assert.equal(quotas.of(session)?.size, 0);
  });

  it('of a whole cluster are nobody’s limit', async () => {
    const { session, asked } = aSession(undefined, [aQuota({ cpu: '2' })]);
    const quotas = targetQuotas();
    await quotas.refresh(session, () => undefined);
    assert.deepEqual([asked, quotas.of(session)?.size], [[], 0]);
  });
});
