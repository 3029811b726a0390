// Every field of a placement policy and every score has a use that its page tells, and the page tells of no others.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND, SCORE_NAMES,
} from '../../../api/kinds/placement-policy.ts';
import { DEFAULT_WEIGHTS } from '../../../scheduler/snapshot/default-weights.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/placement-policy.md'), 'utf8');
/** The rows of the table under this head: the name in each first cell, and the second cell. */
const rowsUnder = (head: string): ReadonlyMap<string, string> =>
  new Map((page.split(head)[1]?.split('\n\n')[0] ?? '').split('\n').flatMap((line) => {
    const [, name, cell] = /^\| `(\w+)` \| ([^|]+) \|/.exec(line) ?? [];
    return name === undefined || cell === undefined ? [] : [[name, cell.trim()] as const];
  }));

describe('docs/placement-policy.md', () => {
  it('has a use for each field of both kinds', () => {
    const fields = [PLACEMENT_POLICY_KIND, CLUSTER_PLACEMENT_POLICY_KIND].flatMap(
      ({ properties }) => Object.keys(properties['spec']?.properties ?? {}),
    );
    assert.ok(fields.length > 10);
    assert.deepEqual([...rowsUnder('| Field | Use |').keys()].toSorted(), [...new Set(fields)].toSorted());
  });

  it('has each score with the weight that it has by default', () => {
    const documented =
      [...rowsUnder('| score | default weight | 1 means |')].map(([name, weight]) => [name, Number(weight)]);
    assert.deepEqual(documented, SCORE_NAMES.map((name) => [name, DEFAULT_WEIGHTS[name]]));
  });
});
