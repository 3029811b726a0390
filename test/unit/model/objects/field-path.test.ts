import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fieldPath, valuesAt, withoutField } from '../../../../model/objects/field-path.ts';

const object = { spec: { ports: [{ port: 80, nodePort: 30_000 }, { port: 81 }, null], type: 'NodePort', empty: null } };

describe('valuesAt', () => {
  const cases: Record<string, readonly [path: string, values: readonly unknown[]]> = {
    'a field': ['spec.type', ['NodePort']],
    'a field of each item': ['spec.ports[].port', [80, 81]],
    'a field that only some items have': ['spec.ports[].nodePort', [30_000]],
    'nothing where the field is missing': ['spec.other.type', []],
    'nothing where it is null': ['spec.empty', []],
    'nothing where a list is none': ['spec.type[].x', []],
    'nothing where an object is a list': ['spec.ports.port', []],
    'no property that every object has': ['spec.constructor', []],
  };
  for (const [what, [path, values]] of Object.entries(cases)) {
    it(`gives ${what}`, () => assert.deepEqual(valuesAt(object, fieldPath(path)), values));
  }
});

describe('withoutField', () => {
  it('drops the field of each item and leaves the object alone', () => {
    const before = structuredClone(object);
    assert.deepEqual(withoutField(object, fieldPath('spec.ports[].nodePort')), {
      spec: { ...object.spec, ports: [{ port: 80 }, { port: 81 }, null] },
    });
    assert.deepEqual(object, before);
  });

  it('gives back the very object where there is nothing to drop', () => {
    assert.equal(withoutField(object, fieldPath('status.loadBalancer')), object);
  });
});
