import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { withoutManagedFields } from '../../../../kubernetes/json/managed-fields.ts';

const FIELDS =
  [{ manager: 'a "quoted\\" ]name', fieldsV1: { 'k:{"name":"x]["}': { '.': {} }, list: [[1], '\\'] } }, {}];

/** What parsing gives of a value that was written and relieved of its managedFields. */
function read(value: unknown): unknown {
  return JSON.parse(withoutManagedFields(Buffer.from(JSON.stringify(value))));
}

describe('withoutManagedFields', () => {
  const rows: Record<string, { readonly before: unknown; readonly after: unknown }> = {
    'as the last field of metadata': {
      before: { metadata: { name: 'x', managedFields: FIELDS }, spec: {} },
      after: { metadata: { name: 'x' }, spec: {} },
    },
    'as the first one': {
      before: { metadata: { managedFields: FIELDS, name: 'x' }, spec: {} },
      after: { metadata: { name: 'x' }, spec: {} },
    },
    'as the only one': { before: { metadata: { managedFields: FIELDS } }, after: { metadata: {} } },
    'an empty one': { before: { metadata: { a: 1, managedFields: [], b: 2 } }, after: { metadata: { a: 1, b: 2 } } },
    'in every object of a list': {
      before: {
        metadata: { resourceVersion: '1' },
        items: [1, 2].map((name) => ({ metadata: { name, managedFields: FIELDS }, spec: { x: [1] } })),
      },
      after:
        { metadata: { resourceVersion: '1' }, items: [1, 2].map((name) => ({ metadata: { name }, spec: { x: [1] } })) },
    },
    'but not a field of the spec that is called so': {
      before: { metadata: { name: 'x', managedFields: FIELDS }, spec: { managedFields: [1] } },
      after: { metadata: { name: 'x' }, spec: { managedFields: [1] } },
    },
    'but not a text that looks like it': {
      before: { metadata: { annotations: { a: '"managedFields":[', b: '\\"managedFields":[1]' } } },
      after: { metadata: { annotations: { a: '"managedFields":[', b: '\\"managedFields":[1]' } } },
    },
  };
  for (const [what, { before, after }] of Object.entries(rows)) {
    it(`takes it out ${what}`, () => assert.deepEqual(read(before), after));
  }

  it('leaves a text alone that ends inside', () => {
    const cut = '{"metadata":{"managedFields":[{"a":"';
    assert.equal(withoutManagedFields(Buffer.from(cut)), cut);
  });

  it('takes it out of a list that is too long for the scanner, and leaves the bytes of the list alone', () => {
    const items = Array.from({ length: 5 }, (_, name) => ({ metadata: { name, managedFields: FIELDS } }));
    const json = Buffer.from(JSON.stringify({ items, long: ' '.repeat(5 << 20) }));
    const before = Buffer.from(json);
    const { items: read } = JSON.parse(withoutManagedFields(json)) as { readonly items: unknown };
    assert.deepEqual(read, items.map(({ metadata: { name } }) => ({ metadata: { name } })));
    assert(json.equals(before));
  });

  it('looks at each byte once, where a server sends a hundred thousand fields of that name', () => {
    const fields = Array.from({ length: 100_000 }, () => ({ managedFields: [] }));
    const object = { metadata: { name: 'x' }, spec: { fields } };
    assert.equal(JSON.stringify(read(object)), JSON.stringify(object));
  });

  it('gives what parsing and deleting the field gives, whatever the object holds', () => {
    const object = fc.record({
      metadata: fc.record(
        {
          name: fc.string(), annotations: fc.dictionary(fc.string(), fc.string()),
          managedFields: fc.array(fc.jsonValue()),
        },
        { requiredKeys: [] },
      ),
      spec: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(object), (items) => {
        const expected = JSON.parse(JSON.stringify(items)) as { metadata: { managedFields?: unknown } }[];
        for (const { metadata } of expected) delete metadata.managedFields;
        assert.deepEqual(read({ items }), { items: expected });
      }),
    );
  });
});
