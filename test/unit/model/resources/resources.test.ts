import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceList } from '../../../../api/objects/core.ts';
import {
  addAmounts,
  formatResourceList,
  isByteResource,
  maxAmounts,
  parseResourceList,
  subtractAmounts,
  type ResourceAmounts,
} from '../../../../model/resources/resources.ts';

const GPU = 'nvidia.com/gpu';

function amounts(entries: Record<string, number>): ResourceAmounts {
  return new Map(Object.entries(entries));
}

function withoutZeros(of: ResourceAmounts): ResourceAmounts {
  return new Map([...of].filter(([, amount]) => amount !== 0));
}

describe('parseResourceList', () => {
  it('reads CPU in milli and everything else in whole units', () => {
    const list = { cpu: '1.5', memory: '1Gi', [GPU]: 2, pods: '110' };
    assert.deepEqual(parseResourceList(list), {
      amounts: amounts({ cpu: 1500, memory: 2 ** 30, [GPU]: 2, pods: 110 }),
      invalid: [],
    });
  });

  it('reads an absent list as no resources', () => {
    assert.deepEqual(parseResourceList(undefined), { amounts: new Map(), invalid: [] });
  });

  it('lists what it cannot read and goes on', () => {
    const { amounts: read, invalid } = parseResourceList({ cpu: 'lots', memory: '1Ki' });
    assert.deepEqual(read, amounts({ memory: 1024 }));
    assert.deepEqual(invalid.map(({ resource, text }) => [resource, text]), [['cpu', 'lots']]);
    assert.match(invalid[0]!.message, /not a valid quantity/);
  });

  it('shows a value of a wrong type as JSON', () => {
    const list = JSON.parse('{"cpu": {"toString": 1}}') as ResourceList;
    assert.equal(parseResourceList(list).invalid[0]?.text, '{"toString":1}');
  });

  it('takes names of object properties for names', () => {
    const list = JSON.parse('{"__proto__": "1", "constructor": "2"}') as ResourceList;
    const read = parseResourceList(list).amounts;
    assert.deepEqual([...read], [['__proto__', 1], ['constructor', 2]]);
    assert.equal(JSON.stringify(formatResourceList(read)), '{"__proto__":"1","constructor":"2"}');
  });
});

describe('arithmetic', () => {
  const left = amounts({ cpu: 500, memory: 100 });
  const right = amounts({ cpu: 700, [GPU]: 1 });
  const cases: Record<string, readonly [ResourceAmounts, ResourceAmounts]> = {
    'addAmounts sums what either has': [addAmounts(left, right), amounts({ cpu: 1200, memory: 100, [GPU]: 1 })],
    'subtractAmounts may go below zero': [subtractAmounts(left, right), amounts({ cpu: -200, memory: 100, [GPU]: -1 })],
    'maxAmounts takes the greater of each': [maxAmounts(left, right), amounts({ cpu: 700, memory: 100, [GPU]: 1 })],
    'sums saturate': [
      addAmounts(amounts({ cpu: Number.MAX_SAFE_INTEGER }), amounts({ cpu: 5 })),
      amounts({ cpu: Number.MAX_SAFE_INTEGER }),
    ],
  };
  for (const [sentence, [actual, expected]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(actual, expected));
  }

  it('leaves its arguments alone', () => {
    addAmounts(left, right);
    assert.deepEqual(left, amounts({ cpu: 500, memory: 100 }));
  });
});

describe('formatResourceList', () => {
  it('prints each resource in its notation', () => {
    const list =
      { cpu: 1500, memory: 2 ** 30, 'ephemeral-storage': 2048, 'hugepages-2Mi': 2 ** 21, [GPU]: 8, pods: 1000 };
    assert.deepEqual(formatResourceList(amounts(list)), {
      cpu: '1500m',
      memory: '1Gi',
      'ephemeral-storage': '2Ki',
      'hugepages-2Mi': '2Mi',
      [GPU]: '8',
      pods: '1k',
    });
  });

  it('counts only memory, storage and huge pages in bytes', () => {
    const names = ['memory', 'storage', 'hugepages-1Gi', 'cpu', 'pods', 'example.com/memory'];
    assert.deepEqual(names.filter(isByteResource), ['memory', 'storage', 'hugepages-1Gi']);
  });
});

describe('laws of resource amounts', () => {
  const name = fc.constantFrom('cpu', 'memory', 'pods', GPU, '__proto__', 'constructor');
  const vector = fc
    .array(fc.tuple(name, fc.integer({ min: 0, max: 2 ** 50 })), { maxLength: 6 })
    .map((entries): ResourceAmounts => new Map(entries));

  it('subtracting undoes adding', () => {
    fc.assert(
      fc.property(vector, vector, (a, b) => {
        assert.deepEqual(withoutZeros(subtractAmounts(addAmounts(a, b), b)), withoutZeros(a));
      }),
    );
  });

  it('adding and taking the maximum do not depend on the order', () => {
    fc.assert(
      fc.property(vector, vector, (a, b) => {
        assert.deepEqual(addAmounts(a, b), addAmounts(b, a));
        assert.deepEqual(maxAmounts(a, b), maxAmounts(b, a));
      }),
    );
  });

  it('what is printed reads back as the same amounts', () => {
    fc.assert(fc.property(vector, (of) => assert.deepEqual(parseResourceList(formatResourceList(of)).amounts, of)));
  });
});
