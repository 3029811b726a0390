import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceShareSpec } from '../../../../api/kinds/resource-share.ts';
import type { PodSpec, ResourceList, ResourceRequirements } from '../../../../api/objects/core.ts';
import { ShareLedger } from '../../../../delegate-controller/shares/share-ledger.ts';

const SOURCE = 'source-1';
const asking = (requests: ResourceList, limits: ResourceList = {}): PodSpec =>
  ({ containers: [{ name: 'a', resources: { requests, limits } satisfies ResourceRequirements }] });

function lent(
  spec: Partial<ResourceShareSpec>, total: ResourceList = { cpu: '10', memory: '10Gi', pods: '100' },
): ShareLedger {
  const ledger = new ShareLedger();
  ledger.set('share', { name: 'share', spec: { source: SOURCE, ...spec } });
  ledger.setTotal(total);
  return ledger;
}

describe('a share', () => {
  const cases: Record<string, readonly [spec: Partial<ResourceShareSpec>, pod: PodSpec, refusal: RegExp | undefined]> =
    {
    'takes what it has room for': [{ limits: { cpu: '3' } }, asking({ cpu: '2' }), undefined],
    'takes no more':
      [{ limits: { cpu: '3' } }, asking({ cpu: '2500m' }), /^ResourceShare share: 1 of 3 cpu in use, 2500m asked for$/],
    'counts pods': [{ limits: { pods: '1' } }, asking({}), /1 of 1 pods in use, 1 asked for/],
    'limits only what it names': [{ limits: { cpu: '3' } }, asking({ memory: '100Gi' }), undefined],
    'takes what asks for nothing, full or not': [{ limits: { cpu: '0' } }, asking({}), undefined],
    'may be a percentage': [{ percentage: 20 }, asking({ cpu: '1500m' }), /1 of 2 cpu in use/],
    'may be a percentage of all that is not named':
      [{ percentage: 20, limits: { cpu: '5' } }, asking({ cpu: '1500m' }), undefined],
    'that is cordoned takes nothing': [{ cordoned: true }, asking({}), /cordoned/],
    'of another source does not matter': [{ source: 'other', limits: { cpu: '0' } }, asking({ cpu: '1' }), undefined],
    'for any source binds one without its own':
      [{ source: '*', limits: { cpu: '1' } }, asking({ cpu: '1' }), /1 of 1 cpu/],
    'that enforces nothing takes all': [{ enforcement: 'None', limits: { cpu: '0' } }, asking({ cpu: '1' }), undefined],
    'that is hard counts limits': [
      { enforcement: 'Hard', limits: { cpu: '4' } }, asking({ cpu: '1' }, { cpu: '3' }),
      /2 of 4 cpu in use, 3 asked for/,
    ],
    'that is hard wants limits':
      [{ enforcement: 'Hard', limits: { cpu: '4' } }, asking({ cpu: '1' }), /set one on each container/],
    'that is hard wants no limits of what it does not name':
      [{ enforcement: 'Hard', limits: { pods: '4' } }, asking({ cpu: '1' }), undefined],
  };
  for (const [what, [spec, pod, refusal]] of Object.entries(cases)) {
    it(what, () => {
      const ledger = lent(spec);
      ledger.charge('a/first', SOURCE, asking({ cpu: '1' }, { cpu: '2' }));
      const verdict = ledger.admit('a/second', SOURCE, pod);
      if (refusal === undefined) assert.deepEqual(verdict, { kind: 'fits' });
      else assert.ok(verdict.kind === 'refused' && refusal.test(verdict.message), JSON.stringify(verdict));
    });
  }

  it('counts a delegate once, and no more once it is released', () => {
    const ledger = lent({ limits: { cpu: '1' } });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'refused');
    ledger.release('a/x');
    ledger.release('a/x');
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'fits');
  });

  it('binds together with the others of its source, and wins over one for any', () => {
    const ledger = lent({ limits: { cpu: '5' } });
    ledger.set('any', { name: 'any', spec: { source: '*', limits: { cpu: '0' } } });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '2' })).kind, 'fits');
    ledger.set('second', { name: 'second', spec: { source: SOURCE, limits: { cpu: '3', memory: '1Gi' } } });
    assert.match(JSON.stringify(ledger.admit('a/y', SOURCE, asking({ cpu: '2' }))), /ResourceShare second/);
    assert.deepEqual(ledger.published(), [
      { source: '*', limits: { cpu: '0' } }, { source: SOURCE, limits: { cpu: '3', memory: '1Gi' } },
    ]);
    ledger.set('second', undefined);
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '2' })).kind, 'fits');
  });

  it('is not ready before the total is known that it is a part of', () => {
    const ledger = new ShareLedger();
    assert.ok(ledger.isReady);
    ledger.set('share', { name: 'share', spec: { source: SOURCE, percentage: 10 } });
    assert.ok(!ledger.isReady);
    ledger.setTotal({ cpu: '1' });
    assert.ok(ledger.isReady);
  });

  it('shows what is used', () => {
    const ledger = lent({ limits: { cpu: '5' } });
    ledger.charge('a/x', SOURCE, asking({ cpu: '250m', memory: '1Gi' }));
    const share = { name: 'share', spec: { source: SOURCE, limits: { cpu: '5' } } };
    assert.deepEqual(ledger.statusOf(share), { limits: { cpu: '5' }, used: { cpu: '250m', memory: '1Gi', pods: '1' } });
    ledger.release('a/x');
    assert.deepEqual(ledger.statusOf(share).used, {});
  });

  it('is never passed, and all is free again at the end', () => {
    const step = fc.record(
      { key: fc.constantFrom('a', 'b', 'c', 'd'), cpu: fc.integer({ min: 0, max: 3 }), release: fc.boolean() },
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const ledger = lent({ limits: { cpu: '4', pods: '3' } });
        const running = new Map<string, number>();
        for (const { key, cpu, release } of steps) {
          if (release) {
            ledger.release(key);
            running.delete(key);
          } else if (
            ledger.admit(key, SOURCE, asking({ cpu })).kind === 'fits' && !running.has(key)
          ) running.set(key, cpu);
          assert.ok([...running.values()].reduce((sum, each) => sum + each, 0) <= 4 && running.size <= 3);
        }
        for (const key of running.keys()) ledger.release(key);
        assert.deepEqual(ledger.statusOf({ name: 'share', spec: { source: SOURCE } }).used, {});
      }),
    );
  });
});
