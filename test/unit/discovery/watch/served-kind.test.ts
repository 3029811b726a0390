import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { servedVersion } from '../../../../discovery/watch/served-kind.ts';

const kind = { group: 'g', plural: 'ps', kind: 'P', namespaced: true, versions: ['v2', 'v1'] };
const definition = (served: Readonly<Record<string, boolean>>, status = 'True') => ({
  metadata: {}, spec: { versions: Object.entries(served).map(([name, isServed]) => ({ name, served: isServed })) },
  status: { conditions: [{ type: 'Established', status }] },
});

describe('the version of a kind that is watched', () => {
  const rows: readonly (readonly [string, Parameters<typeof servedVersion>[1], string | undefined])[] = [
    ['the preferred one', definition({ v1: true, v2: true }), 'v2'],
    ['the other when that is not served', definition({ v1: true, v2: false }), 'v1'],
    ['none of those that are not known', definition({ v3: true }), undefined],
    ['none before the kind is established', definition({ v2: true }, 'False'), undefined],
    ['none of a definition without a status', { ...definition({ v2: true }), status: { conditions: null } }, undefined],
    ['none without a definition', undefined, undefined],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.equal(servedVersion(kind, given), expected));
});
