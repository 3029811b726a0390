// The steps of a pod from lines of audit logs.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ELECTED_STEPS, PLAIN_STEPS, requestSpans, stepTimes, type RequestSpan, type StepTime,
} from '../../../benchmarks/load/pod-steps.ts';

const START = Date.parse('2026-11-22T10:00:00.000Z');

/** A line whose request arrived and was answered so many µs after the start. */
function line(
  verb: string, resource: string, [from, to]: readonly [number, number],
  more: { readonly stage?: string; readonly namespace?: string; readonly subresource?: string } = {},
): string {
  const { stage = 'ResponseComplete', namespace = 'elected', subresource } = more;
  const at = (us: number) => new Date(START + Math.floor(us / 1_000)).toISOString()
    .replace('Z', `${String(us % 1_000).padStart(3, '0')}Z`);
  return JSON.stringify({
    stage, verb, requestReceivedTimestamp: at(from), stageTimestamp: at(to),
    objectRef: { resource, namespace, subresource },
  });
}

describe('requestSpans', () => {
  it('reads times to the microsecond, and names a request by verb, resource and subresource', () => {
    assert.deepEqual(requestSpans(
      line('create', 'pods', [1_250, 3_125], { subresource: 'binding' }), 'source', 'elected',
    ), [
      { server: 'source', what: 'create pods/binding', from: START + 1.25, to: START + 3.125 },
    ]);
  });

  const passedOver: Record<string, string> = {
    'another namespace': line('create', 'pods', [0, 1], { namespace: 'plain' }),
    'a stage before the answer': line('create', 'pods', [0, 1], { stage: 'RequestReceived' }),
    'a line that is still being written': line('create', 'pods', [0, 1]).slice(0, -2),
    'an empty line': '',
  };
  for (const [what, text] of Object.entries(passedOver)) {
    it(`passes over ${what}`, () => assert.deepEqual(requestSpans(text, 'target', 'elected'), []));
  }
});

const span = (server: RequestSpan['server'], what: string, from: number, to: number): RequestSpan =>
  ({ server, what, from, to });
const PLAIN = [span('target', 'create pods', 1, 4), span('target', 'create pods/binding', 6, 8), span(
  'target', 'patch pods/status', 11, 15,
)];
const ELECTED = [
  span('source', 'create pods', 1, 7), span('target', 'create podchaperons', 10, 13),
  ...PLAIN.map(({ what, from, to }) => span('target', what, from + 13, to + 13)),
  span('source', 'create pods/binding', 23, 26), span('source', 'patch pods/status', 30, 34),
];
const rounded = (times: readonly StepTime[] | undefined) =>
  times?.map(({ name, waited, took }) => `${name} ${waited}+${took}`);

describe('stepTimes', () => {
  it('counts the wait of a step from the last answer that it had to wait for', () => {
    assert.deepEqual(rounded(stepTimes(ELECTED_STEPS, ELECTED, { from: 0, to: 35 })), [
      'proxy created, with admission 1+6',
      'chaperon created 3+3', 'pod created 1+3', 'pod bound by kube-scheduler 2+2', 'pod Running by kwok 3+4',
      'proxy bound 2+3', 'proxy Running 2+4', 'seen by the user 1+0',
    ]);
  });

  it('adds up to the whole where each step waits for the one before', () => {
    const times = stepTimes(PLAIN_STEPS, PLAIN, { from: 0, to: 16 }) ?? [];
    assert.equal(times.reduce((sum, { waited, took }) => sum + waited + took, 0), 16);
  });

  it('takes no request of another pod, before or after', () => {
    const others = PLAIN.flatMap(
      ({ what, from, to }) => [span('target', what, from - 100, to - 100), span('target', what, from + 100, to + 100)],
    );
    assert.deepEqual(stepTimes(PLAIN_STEPS, [...others, ...PLAIN], { from: 0, to: 16 }), stepTimes(
      PLAIN_STEPS, PLAIN, { from: 0, to: 16 },
    ));
  });

  it('says nothing of a pod that lacks a request', () => assert.equal(
    stepTimes(PLAIN_STEPS, PLAIN.slice(1), { from: 0, to: 16 }), undefined,
  ));
});
