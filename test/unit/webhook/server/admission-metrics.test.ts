// What alerts and dashboards read of the webhook.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerFailure, answerReview } from '../../../../webhook/review/admission-review.ts';
import { deny } from '../../../../webhook/review/admission-answer.ts';
import { AdmissionMetrics } from '../../../../webhook/server/admission-metrics.ts';

/** The lines of a metric that count something, without those of buckets. */
async function linesOf(metrics: AdmissionMetrics, name: string): Promise<readonly string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket') && !line.endsWith(' 0'));
}

const COUNT = 'isthmus_webhook_review_duration_seconds_count';
const DENIED = 'isthmus_webhook_denied_total';

describe('a review is counted', () => {
  const patch = [{ op: 'add', path: '/a', value: 1 }] as const;
  const rows: Readonly<Record<string, readonly [answer: ReturnType<typeof answerReview>, lines: readonly string[]]>> = {
    'that passes': [answerReview('v', 'u', { kind: 'pass' }), [`${COUNT}{outcome="passed"} 1`]],
    'that is patched':
      [answerReview('v', 'u', { kind: 'mutate', patch, warnings: [] }), [`${COUNT}{outcome="patched"} 1`]],
    'of a proxy that is as it should be as one that passes':
      [answerReview('v', 'u', { kind: 'mutate', patch: [], warnings: ['w'] }), [`${COUNT}{outcome="passed"} 1`]],
    'that is denied, by its reason': [
      answerReview('v', 'u', deny('NodeNameSet', 'm')),
      [`${COUNT}{outcome="denied"} 1`, `${DENIED}{reason="NodeNameSet"} 1`],
    ],
    'that failed by our fault, and not as a denial': [answerFailure('v', 'u'), [`${COUNT}{outcome="failed"} 1`]],
  };
  for (const [what, [{ response }, lines]] of Object.entries(rows)) {
    it(what, async () => {
      const metrics = new AdmissionMetrics();
      metrics.answered(response, 0.001);
      assert.deepEqual([...await linesOf(metrics, COUNT), ...await linesOf(metrics, DENIED)], lines);
    });
  }
  it('with the time that it took', async () => {
    const metrics = new AdmissionMetrics();
    const { response } = answerReview('v', 'u', { kind: 'pass' });
    for (const seconds of [0.000_2, 0.002, 7]) metrics.answered(response, seconds);
    const text = await metrics.registry.metrics();
    const upTo = (le: string): string | undefined =>
      text.split('\n').find((line) => line.includes(`_bucket{le="${le}",outcome="passed"}`))?.split(' ')[1];
    assert.deepEqual(['0.0001', '0.00025', '0.0025', '5', '+Inf'].map(upTo), ['0', '1', '2', '2', '3']);
  });
});

describe('what got no review', () => {
  it('is counted by its cause, and by nothing that clients choose', async () => {
    const metrics = new AdmissionMetrics();
    const causes = ['overload', 'no-review', 'no-path', 'connection'] as const;
    for (const cause of causes) metrics.requestRejected(cause);
    metrics.requestRejected('no-path');
    assert.deepEqual(await linesOf(metrics, 'isthmus_webhook_requests_rejected_total'),
      causes.map((cause) =>
        `isthmus_webhook_requests_rejected_total{cause="${cause}"} ${cause === 'no-path' ? 2 : 1}`));
  });
});

describe('certificates', () => {
  const lines = (metrics: AdmissionMetrics): Promise<readonly string[]> =>
    linesOf(metrics, 'isthmus_webhook_certificate');

  it('tell when the one in use ends, in seconds, also while its successor is refused', async () => {
    const metrics = new AdmissionMetrics();
    metrics.certificate('used', 1_800_000_000_500);
    metrics.certificate('refused');
    assert.deepEqual(await lines(metrics), [
      'isthmus_webhook_certificates_total{outcome="used"} 1', 'isthmus_webhook_certificates_total{outcome="refused"} 1',
      'isthmus_webhook_certificate_expiry_timestamp_seconds 1800000000.5',
    ]);
  });
});

describe('rules', () => {
  it('are missing or not, whatever was before', async () => {
    const metrics = new AdmissionMetrics();
    const said = async (): Promise<readonly string[]> => linesOf(metrics, 'isthmus_webhook_rules_missing');
    assert.deepEqual(await said(), []);
    metrics.rulesMissing(true);
    assert.deepEqual(await said(), ['isthmus_webhook_rules_missing 1']);
    metrics.rulesMissing(false);
    assert.deepEqual(await said(), []);
  });
  it('are told apart by process: two webhooks of one process do not share metrics', async () => {
    const [one, other] = [new AdmissionMetrics(), new AdmissionMetrics()];
    one.rulesMissing(true);
    assert.deepEqual(await linesOf(other, 'isthmus_webhook_rules_missing'), []);
  });
});
