import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterMap } from '../../../../cli/doctor/cluster-map.ts';
import type { ClusterStatus } from '../../../../cli/doctor/cluster-status.ts';
import { printedStatus } from '../../../../cli/doctor/status.ts';
import { statementsOfDot, textsOfSvg } from '../../../support/page/map-drawings.ts';

const eu = {
  name: 'eu-west', ready: true, message: 'm', pods: 3, cordoned: false, rtt: '12ms',
  free: { cpu: '12', memory: '40Gi', gpu: '4', pods: '90' },
};
const status: ClusterStatus = {
  version: '0.1.0', kubernetes: 'v1.36.3', components: {}, targets: [eu], sources: [],
  electedPods: { Pending: 1, Running: 3 }, problems: { errors: 0, warnings: 0 }, unread: [],
};
const targetOf = (changed: Partial<ClusterStatus['targets'][number]>) =>
  clusterMap({ ...status, targets: [{ ...eu, ...changed }] }).to[0];

describe('the map of a cluster', () => {
  it('shows room, GPUs, pods and the round trip of a target', () => assert.deepEqual(targetOf({}), {
    id: 'target/eu-west', name: 'eu-west', state: 'ready', link: '12ms',
    lines: ['Ready', '3 pods', 'free: 12 CPU, 40Gi, 4 GPU'],
  }));

  const cases: readonly (readonly [what: string, changed: Partial<typeof eu>, state: string, line: string])[] = [
    ['is cordoned', { cordoned: true }, 'cordoned', 'Ready, cordoned'],
    ['is lost', { ready: false, message: 'no answer' }, 'lost', 'NotReady: no answer'],
    ['is both', { ready: false, message: 'no answer', cordoned: true }, 'lost', 'NotReady, cordoned: no answer'],
  ];
  for (const [what, changed, state, line] of cases) {
    it(`says that a target ${what}`, () => {
      assert.equal(targetOf(changed)?.state, state);
      assert.equal(targetOf(changed)?.lines[0], line);
    });
  }

  it('shows no free capacity of a target that is lost, and none that is unknown', () => {
    assert.deepEqual(targetOf({ ready: false })?.lines.length, 2);
    assert.deepEqual(targetOf({ free: undefined })?.lines, ['Ready', '3 pods']);
    assert.deepEqual(targetOf({ free: { cpu: '2', gpu: '0' } })?.lines[2], 'free: 2 CPU');
  });

  it('says through which gateway a target is reached', () => {
    assert.equal(targetOf({ gateway: 'paris' })?.link, '12ms, gateway paris');
    assert.equal(targetOf({ gateway: 'paris', rtt: undefined })?.link, 'gateway paris');
  });

  it('shows sources with their pods here', () => {
    const source = { name: 'team/berlin', ready: true, message: 'm', pods: 1 };
    assert.deepEqual(clusterMap({ ...status, sources: [source, { ...source, name: 'a', ready: false }] }).from, [
      { id: 'source/a', name: 'a', state: 'lost', link: '', lines: ['NotReady: m', 'here: 1 pod'] },
      { id: 'source/team/berlin', name: 'team/berlin', state: 'ready', link: '', lines: ['Ready', 'here: 1 pod'] },
    ]);
  });

  it('takes nothing that could not be read for nothing', () => {
    const map = clusterMap({
      ...status, unread: ['pods', 'podchaperons'], sources: [{ name: 'a', ready: true, message: 'm', pods: 0 }],
    });
    assert.deepEqual([map.to[0]?.lines[1], map.from[0]?.lines[1], map.middle.lines[1]], [
      'pods unknown', 'here: pods unknown', 'elected pods: unknown',
    ]);
    assert.deepEqual(map.notes, ['Could not be read, so it may be missing here: pods, podchaperons']);
  });

  it('says what to do where there is no target, but not where targets could not be read', () => {
    const { notes } = clusterMap({ ...status, targets: [] });
    assert.deepEqual(notes, ['No targets yet. Connect one with "isthmus peer".']);
    const [note = ''] = clusterMap({ ...status, targets: [], unread: ['clustertargets'] }).notes;
    assert.doesNotMatch(note, /No targets/);
  });

  it('says how many problems there are', () => {
    const { middle } = clusterMap({ ...status, problems: { errors: 2, warnings: 1 } });
    assert.equal(middle.lines[2], '2 errors, 1 warnings: isthmus doctor');
  });

  it('is the same whatever the order in which targets were read', () => {
    const other = { ...eu, name: 'a-first' };
    for (const format of ['dot', 'svg'] as const) {
      assert.equal(
        printedStatus({ ...status, targets: [eu, other] }, format),
        printedStatus({ ...status, targets: [other, eu] }, format),
      );
    }
  });

  it('is printed for Graphviz and for a browser', () => {
    assert.deepEqual(statementsOfDot(printedStatus(status, 'dot')).at(-1)?.nodes, ['cluster', 'target/eu-west']);
    assert.ok(textsOfSvg(printedStatus(status, 'svg')).some(({ text }) => text === 'free: 12 CPU, 40Gi, 4 GPU'));
  });
});
