// Which lines of an audit log count as writes of ours.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countWrites, isBackground, totalOf } from '../../../benchmarks/readings/audit-log.ts';

const from = Date.parse('2026-11-20T10:00:00Z');
const period = { from, to: from + 10_000 };

interface EventFields {
  readonly stage?: string;
  readonly verb?: string;
  readonly userAgent?: string;
  readonly resource?: string;
  readonly subresource?: string;
  /** Ms after the start of the period. */
  readonly after?: number;
}

function line(fields: EventFields = {}): string {
  const {
    stage = 'ResponseComplete', verb = 'create', userAgent = 'isthmus-run/0.1.0', resource = 'pods', subresource,
    after = 1,
  } = fields;
  const requestReceivedTimestamp = new Date(from + after).toISOString().replace('Z', '123Z'); // MicroTime
  return JSON.stringify(
    { kind: 'Event', stage, verb, userAgent, requestReceivedTimestamp, objectRef: { resource, subresource } },
  );
}

describe('countWrites', () => {
  const verbs: readonly (readonly [string, number])[] = [
    ['create', 1],
    ['update', 1], ['patch', 1], ['delete', 1], ['deletecollection', 1], ['get', 0], ['list', 0], ['watch', 0],
  ];
  for (const [verb, count] of verbs) {
    it(`${count === 1 ? 'counts' : 'passes over'} ${verb}`, () => assert.equal(
      totalOf(countWrites(line({ verb }), period)), count,
    ));
  }

  const agents: readonly (readonly [string, number])[] = [
    ['isthmus-scheduler/0.1.0', 1],
    ['kube-scheduler/v1.36.3', 0],
    ['benchmark-load/1', 0],
    ['not-isthmus-run/1', 0],
  ];
  for (const [userAgent, count] of agents) {
    it(`${count === 1 ? 'counts' : 'passes over'} the user agent ${userAgent}`, () => assert.equal(
      totalOf(countWrites(line({ userAgent }), period)), count,
    ));
  }

  const moments: readonly (readonly [string, number, number])[] = [
    ['just before the period', -1, 0],
    ['at its start', 0, 1],
    ['within it', 5_000, 1],
    ['just after its end', 10_001, 0],
  ];
  for (const [what, after, count] of moments) {
    it(`${count === 1 ? 'counts' : 'passes over'} a request that came ${what}`, () => assert.equal(
      totalOf(countWrites(line({ after }), period)), count,
    ));
  }

  it('counts a request once, however many stages were logged', () => {
    const log = ['RequestReceived', 'ResponseComplete'].map((stage) => line({ stage })).join('\n');
    assert.equal(totalOf(countWrites(log, period)), 1);
  });

  it('groups by user agent, verb and resource with its subresource, most frequent first', () => {
    const log = [line(), line({ subresource: 'binding' }), line({ subresource: 'binding' }), line(
      { userAgent: 'isthmus-other/1' },
    )].join('\n');
    assert.deepEqual(countWrites(log, period), [
      { userAgent: 'isthmus-run/0.1.0', verb: 'create', resource: 'pods/binding', count: 2 },
      { userAgent: 'isthmus-run/0.1.0', verb: 'create', resource: 'pods', count: 1 },
      { userAgent: 'isthmus-other/1', verb: 'create', resource: 'pods', count: 1 },
    ]);
  });

  it('counts a request that is about no resource', () => {
    const event = JSON.stringify({
      stage: 'ResponseComplete', verb: 'create', userAgent: 'isthmus-run/1',
      requestReceivedTimestamp: new Date(from).toISOString(),
    });
    assert.deepEqual(
      countWrites(event, period), [{ userAgent: 'isthmus-run/1', verb: 'create', resource: 'none', count: 1 }],
    );
  });

  it('passes over lines that are no event: empty, cut off while being written, or no object', () => {
    const log = ['', line(), line().slice(0, 90), '"isthmus-run"', 'null isthmus-'].join('\n');
    assert.equal(totalOf(countWrites(log, period)), 1);
  });

  it('gives nothing for an empty log', () => assert.deepEqual(countWrites('', period), []));
});

describe('isBackground', () => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['leases', true], ['nodes', true], ['nodes/status', true],
    ['pods', false], ['pods/status', false], ['clustersummaries', false], ['clustertargets/status', false],
  ];
  for (const [resource, expected] of rows) {
    it(`takes ${resource} ${expected ? 'for a heartbeat' : 'into account'}`, () => assert.equal(
      isBackground({ resource }), expected,
    ));
  }
});
