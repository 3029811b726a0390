import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leftBehind } from '../../../../cli/install/uninstall-cluster.ts';

describe('what an uninstall would leave in other clusters', () => {
  it('a target, with the command that leaves it', () => assert.deepEqual(
    leftBehind({ targets: ['eu-west'], sources: [] }), ['Target eu-west is joined: run "isthmus unpeer eu-west".'],
  ));
  it('a target of one namespace', () => assert.match(
    leftBehind({ targets: ['team-a/eu'], sources: [] })[0] ?? '', /isthmus unpeer team-a\/eu/,
  ));
  it('a source', () => assert.match(
    leftBehind({ targets: [], sources: ['ClusterSource berlin'] })[0] ?? '', /^ClusterSource berlin may send pods here/,
  ));
  it('nothing, where nobody is joined', () => assert.deepEqual(leftBehind({ targets: [], sources: [] }), []));
});
