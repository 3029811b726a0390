import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { parseAdd, suppose, type AddedNodes } from '../../../../cli/plan/what-if.ts';
import type { RecordedTarget } from '../../../../scheduler/explain/recorded-inputs.ts';

const target = (name: string, more: Partial<RecordedTarget> = {}): RecordedTarget => ({
  ref: { kind: 'ClusterTarget', name }, key: `ClusterTarget/${name}`, nodeName: `admiralty-${name}`,
  summary: {
    metadata: { name: 'singleton' }, commonLabels: { region: 'eu' },
    allocatable: { cpu: '4', memory: '8Gi' }, free: { cpu: '500m', memory: '1Gi' },
    nodeGroups: [{ labels: { pool: 'a' }, holes: [{ count: 1, free: { cpu: '500m' } }] }],
  },
  ...more,
});
const isBadInput = { name: 'AppError', code: 'BadInput' };

describe('nodes to add', () => {
  it('are one node with GPUs of a product', () => assert.deepEqual(parseAdd('4xH100'), {
    count: 1, labels: { 'nvidia.com/gpu.product': 'H100' },
    resources: { 'cpu': '64', 'memory': '512Gi', 'nvidia.com/gpu': '4', 'pods': '110' },
  }));
  it('are several nodes with resources, in one target', () => assert.deepEqual(parseAdd('3xcpu=16,memory=64Gi@west'), {
    count: 3, labels: {}, resources: { pods: '110', cpu: '16', memory: '64Gi' }, target: 'west',
  }));
  it('may set how many pods they take', () => assert.equal(parseAdd('1xcpu=1,pods=8').resources['pods'], '8'));

  for (const text of ['', 'H100', '0xH100', '-1xH100', '99999xH100', '2xcpu=many', '2xcpu', '2xcpu=', '2x@west', 'x']) {
    const isProduct = text === '2xcpu';
    it(`${isProduct ? 'take' : 'refuse'} "${text}"`, () => {
      if (isProduct) assert.deepEqual(parseAdd(text).labels, { 'nvidia.com/gpu.product': 'cpu' });
      else assert.throws(() => parseAdd(text), isBadInput);
    });
  }

  it('say what is wrong whatever is typed', () => fc.assert(fc.property(fc.string(), (text) => {
    try {
      assert.ok(parseAdd(text).count >= 1);
    } catch (error) {
      assert.equal((error as { readonly code?: string }).code, 'BadInput');
    }
  })));
});

describe('supposed targets', () => {
  const nodes = (more: Partial<AddedNodes> = {}): AddedNodes =>
    ({ count: 2, resources: { cpu: '1500m', memory: '1Gi' }, labels: { gpu: 'yes' }, ...more });

  it('are the real ones when nothing is supposed', () => {
    const targets = [target('east'), target('west')];
    assert.deepEqual(suppose(targets, [], []), targets);
  });
  it('lack those that are away, by name or key', () => assert.deepEqual(
    suppose([target('east'), target('west'), target('north')], ['east', 'ClusterTarget/north'], [])
      .map(({ ref }) => ref.name),
    ['west'],
  ));
  it('have the nodes of each addition', () => {
    const [grown] = suppose([target('east')], [], [nodes(), nodes({ count: 1 })]);
    assert.deepEqual(grown?.summary?.allocatable, { cpu: '8500m', memory: String(11 * 2 ** 30) });
    assert.deepEqual(grown?.summary?.free, { cpu: '5000m', memory: String(4 * 2 ** 30) });
    assert.deepEqual(grown?.summary?.nodeGroups?.map(({ labels }) => labels), [
      { region: 'eu', pool: 'a' }, { region: 'eu', gpu: 'yes' }, { region: 'eu', gpu: 'yes' },
    ]);
    assert.equal(grown?.summary?.commonLabels, undefined);
  });
  it('have them in one target alone where one is named', () => {
    const [east, west] = suppose([target('east'), target('west')], [], [nodes({ target: 'west' })]);
    assert.deepEqual(east, target('east'));
    assert.equal(west?.summary?.nodeGroups?.length, 2);
  });
  it('stay unknown where nothing is known of a target', () => {
    const { summary: _unknown, ...bare } = target('east');
    assert.deepEqual(suppose([bare], [], [nodes()]), [bare]);
  });
  for (const [what, without, added] of [
    ['without', ['nowhere'], []], ['add', [], [nodes({ target: 'nowhere' })]],
  ] as const) {
    it(`refuse a target that is not there: ${what}`, () => assert.throws(
      () => suppose([target('east')], without, added), { ...isBadInput, message: /nowhere.*ClusterTarget\/east/ },
    ));
  }
});
