import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceShareSpec } from '../../../../api/kinds/resource-share.ts';
import type { Container, PodSpec, ResourceList, ResourceRequirements } from '../../../../api/objects/core.ts';
import { ResourceShareLedger } from '../../../../delegate-controller/resource-shares/resource-share-ledger.ts';

const SOURCE = 'source-1';
const asking = (requests: ResourceList, limits: ResourceList = {}): PodSpec =>
  ({ containers: [{ name: 'a', resources: { requests, limits } satisfies ResourceRequirements }] });

function ledgerWith(
  spec: Partial<ResourceShareSpec>, total: ResourceList = { cpu: '10', memory: '10Gi', pods: '100' },
): ResourceShareLedger {
  const ledger = new ResourceShareLedger();
  ledger.set('share', { name: 'share', spec: { source: SOURCE, ...spec } });
  ledger.setTotal(total);
  return ledger;
}

describe('a share', () => {
  const cases: Record<string, readonly [spec: Partial<ResourceShareSpec>, pod: PodSpec, excess: RegExp | undefined]> =
    {
    'takes what it has room for': [{ limits: { cpu: '3' } }, asking({ cpu: '2' }), undefined],
    'takes no more':
      [
        { limits: { cpu: '3' } }, asking({ cpu: '2500m' }),
        /^exceeded ResourceShare share, requested: cpu=2500m, used: cpu=1, limited: cpu=3$/,
      ],
    'counts pods': [{ limits: { pods: '1' } }, asking({}), /requested: pods=1, used: pods=1, limited: pods=1/],
    'limits only what it names': [{ limits: { cpu: '3' } }, asking({ memory: '100Gi' }), undefined],
    'takes what asks for nothing, full or not': [{ limits: { cpu: '0' } }, asking({}), undefined],
    'may be a percentage': [{ percentage: 20 }, asking({ cpu: '1500m' }), /used: cpu=1, limited: cpu=2/],
    'may be a percentage of all that is not named':
      [{ percentage: 20, limits: { cpu: '5' } }, asking({ cpu: '1500m' }), undefined],
    'that is cordoned takes nothing': [{ cordoned: true }, asking({}), /cordoned/],
    'of another source does not matter': [{ source: 'other', limits: { cpu: '0' } }, asking({ cpu: '1' }), undefined],
    'for any source binds one without its own':
      [{ source: '*', limits: { cpu: '1' } }, asking({ cpu: '1' }), /used: cpu=1, limited: cpu=1/],
    'that enforces nothing takes all': [{ enforcement: 'None', limits: { cpu: '0' } }, asking({ cpu: '1' }), undefined],
    'that is hard counts limits': [
      { enforcement: 'Hard', limits: { cpu: '4' } }, asking({ cpu: '1' }, { cpu: '3' }),
      /requested: cpu=3, used: cpu=2, limited: cpu=4/,
    ],
    'that is hard wants limits':
      [{ enforcement: 'Hard', limits: { cpu: '4' } }, asking({ cpu: '1' }), /set one on each container/],
    'that is hard wants no limits of what it does not name':
      [{ enforcement: 'Hard', limits: { pods: '4' } }, asking({ cpu: '1' }), undefined],
  };
  for (const [what, [spec, pod, excess]] of Object.entries(cases)) {
    it(what, () => {
      const ledger = ledgerWith(spec);
      ledger.charge('a/first', SOURCE, asking({ cpu: '1' }, { cpu: '2' }));
      const admission = ledger.admit('a/second', SOURCE, pod);
      if (excess === undefined) assert.deepEqual(admission, { kind: 'fits' });
      else assert.ok(admission.kind === 'rejected' && excess.test(admission.message), JSON.stringify(admission));
    });
  }

  /** A container with these limits, and requests equal to them. */
  const limited = (limits: ResourceList, more: Partial<Container> = {}): Container =>
    ({ name: 'a', ...more, resources: { limits } });
  const hard = (pod: PodSpec, limits: ResourceList = { cpu: '2', memory: '2Gi' }): string => {
    const admission = ledgerWith({ enforcement: 'Hard', limits }).admit('a/x', SOURCE, pod);
    return admission.kind === 'fits' ? '' : admission.message;
  };
  const ONE = { cpu: '1', memory: '1Gi' };
  const hardCases: Record<string, readonly [pod: PodSpec, rejection: RegExp]> = {
    'wants limits of a sidecar, which runs as long as the others':
      [{ containers: [limited(ONE)], initContainers: [{ name: 's', restartPolicy: 'Always' }] }, /limits of cpu/],
    'wants limits of an init container, which may use all while it runs':
      [{ containers: [limited(ONE)], initContainers: [limited({ cpu: '1' })] }, /counts limits of memory/],
    'wants limits of the second container':
      [{ containers: [limited(ONE), { name: 'b' }] }, /counts limits of cpu/],
    'wants limits above 0: to a kubelet 0 is no limit':
      [{ containers: [limited({ cpu: '0', memory: '1Gi' })] }, /counts limits of cpu/],
    'wants limits above 0 of a whole pod as well':
      [{ containers: [{ name: 'a' }], resources: { limits: { cpu: '1', memory: '0Gi' } } }, /counts limits of memory/],
    'takes no request in place of a limit':
      [{ containers: [{ name: 'a', resources: { limits: { cpu: '1' }, requests: ONE } }] }, /counts limits of memory/],
    'is content with limits of the whole pod':
      [{ containers: [{ name: 'a' }], initContainers: [{ name: 'i' }], resources: { limits: ONE } }, /^$/],
    'wants the limit that those of the whole pod leave out':
      [{ containers: [{ name: 'a' }], resources: { limits: { cpu: '1' } } }, /counts limits of memory/],
    'adds a sidecar to the containers': [
      { containers: [limited(ONE)], initContainers: [limited({ ...ONE, cpu: '1500m' }, { restartPolicy: 'Always' })] },
      /requested: cpu=2500m, used: cpu=0, limited: cpu=2/,
    ],
    'takes the most of an init container that ends, not the sum':
      [{ containers: [limited(ONE)], initContainers: [limited({ cpu: '2', memory: '1Gi' })] }, /^$/],
    'counts the limits of the whole pod, not those within': [
      { containers: [limited({ cpu: '1', memory: '1Gi' })], resources: { limits: { cpu: '3', memory: '1Gi' } } },
      /requested: cpu=3,/,
    ],
    'adds what the runtime needs for the pod':
      [{ containers: [limited({ cpu: '2', memory: '1Gi' })], overhead: { cpu: '250m' } }, /requested: cpu=2250m,/],
  };
  for (const [what, [pod, rejection]] of Object.entries(hardCases)) {
    it(`that is hard ${what}`, () => assert.match(hard(pod), rejection));
  }

  it('that is hard wants no limits of GPUs, which have requests equal to them', () => {
    assert.equal(hard({ containers: [limited(ONE), limited(ONE)] }, { 'nvidia.com/gpu': '1' }), '');
    const twice = { containers: [limited({ 'nvidia.com/gpu': '1' }), limited({ 'nvidia.com/gpu': '1' })] };
    assert.match(hard(twice, { 'nvidia.com/gpu': '1' }), /requested: nvidia\.com\/gpu=2, used: nvidia\.com\/gpu=0,/);
  });

  const parts: Record<
    string, readonly [spec: Partial<ResourceShareSpec>, total: ResourceList, limits: ResourceList]
  > = {
    'is rounded down': [{ percentage: 33 }, { cpu: '1', pods: '10' }, { cpu: '330m', pods: '3' }],
    'of little is nothing': [{ percentage: 10 }, { pods: '9' }, { pods: '0' }],
    'may be all': [{ percentage: 100 }, { cpu: '7' }, { cpu: '7' }],
    'may be none': [{ percentage: 0 }, { cpu: '7' }, { cpu: '0' }],
    'of a resource that the cluster has not is no limit of it':
      [{ percentage: 50, limits: { 'nvidia.com/gpu': '1' } }, { cpu: '2' }, { cpu: '1', 'nvidia.com/gpu': '1' }],
    'may be passed by a limit that is named': [{ percentage: 50, limits: { cpu: '9' } }, { cpu: '2' }, { cpu: '9' }],
  };
  for (const [what, [spec, total, limits]] of Object.entries(parts)) {
    it(`that is a percentage ${what}`, () => {
      const share = { name: 'share', spec: { source: SOURCE, ...spec } };
      assert.deepEqual(ledgerWith(spec, total).statusOf(share).limits, limits);
    });
  }

  it('that is a percentage follows the cluster as it grows and shrinks', () => {
    const ledger = ledgerWith({ percentage: 50 }, { cpu: '2' });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'rejected');
    ledger.setTotal({ cpu: '4' });
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    ledger.setTotal({ cpu: '1' });
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'fits', 'it is counted already');
    assert.match(JSON.stringify(ledger.admit('a/z', SOURCE, asking({ cpu: '1m' }))), /used: cpu=2, limited: cpu=500m/);
  });

  it('counts each source by itself where it is for any of them', () => {
    const ledger = ledgerWith({ source: '*', limits: { cpu: '1' } });
    for (const source of ['one', 'two', '']) {
      assert.equal(ledger.admit(`${source}/x`, source, asking({ cpu: '1' })).kind, 'fits');
    }
    assert.equal(ledger.admit('one/y', 'one', asking({ cpu: '1' })).kind, 'rejected');
    assert.deepEqual(ledger.statusOf({ name: 'share', spec: { source: '*' } }).used, {}, 'of nobody in particular');
  });

  it('that rejects has counted nothing', () => {
    const ledger = ledgerWith({ limits: { cpu: '1' } });
    ledger.set('second', { name: 'second', spec: { source: SOURCE, limits: { memory: '1Gi' } } });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1', memory: '2Gi' })).kind, 'rejected');
    assert.deepEqual(ledger.statusOf({ name: 'share', spec: { source: SOURCE } }).used, {});
  });

  it('that is cordoned, or has become too small, keeps the pods that it has', () => {
    const ledger = ledgerWith({ limits: { cpu: '2' } });
    ledger.admit('a/x', SOURCE, asking({ cpu: '2' }));
    ledger.set('share', { name: 'share', spec: { source: SOURCE, limits: { cpu: '1' }, cordoned: true } });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '2' })).kind, 'fits');
    assert.deepEqual(ledger.published(), [{ source: SOURCE, limits: { cpu: '1' }, cordoned: true }]);
  });

  it('keeps what a pod asked for when it came, whatever its chaperon says later', () => {
    const ledger = ledgerWith({});
    ledger.charge('a/x', SOURCE, asking({ cpu: '1' }));
    ledger.charge('a/x', 'another', asking({ cpu: '3' }));
    const used = (source: string) => ledger.statusOf({ name: 'share', spec: { source } }).used;
    assert.deepEqual([used(SOURCE), used('another')], [{ cpu: '1', pods: '1' }, {}]);
    ledger.release('a/x');
    assert.deepEqual(used(SOURCE), {});
  });

  it('takes a limit that is no quantity for none', () => {
    assert.deepEqual(ledgerWith({ limits: { cpu: '5 cores', pods: '1' } }).published(), [
      { source: SOURCE, limits: { pods: '1' } },
    ]);
  });

  it('counts a delegate once, and no more once it is released', () => {
    const ledger = ledgerWith({ limits: { cpu: '1' } });
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    assert.equal(ledger.admit('a/x', SOURCE, asking({ cpu: '1' })).kind, 'fits');
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'rejected');
    ledger.release('a/x');
    ledger.release('a/x');
    assert.equal(ledger.admit('a/y', SOURCE, asking({ cpu: '1' })).kind, 'fits');
  });

  it('binds together with the others of its source, and wins over one for any', () => {
    const ledger = ledgerWith({ limits: { cpu: '5' } });
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
    const ledger = new ResourceShareLedger();
    assert.ok(ledger.isReady);
    ledger.set('share', { name: 'share', spec: { source: SOURCE, percentage: 10 } });
    assert.ok(!ledger.isReady);
    ledger.setTotal({ cpu: '1' });
    assert.ok(ledger.isReady);
  });

  it('shows what is used', () => {
    const ledger = ledgerWith({ limits: { cpu: '5' } });
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
        const ledger = ledgerWith({ limits: { cpu: '4', pods: '3' } });
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
