// Prometheus metrics of the webhook. Labels are few and fixed: no name, namespace or user ever becomes one.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AdmissionResponse } from '../review/admission-review.ts';

/** Outcome of a review. */
export type Outcome = 'passed' | 'patched' | 'denied' | 'failed';

/** Bucket boundaries in seconds: from far below the API server's first bucket (5 ms) to its timeout (5 s). */
const BUCKETS = [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];

/** The metrics of one webhook, in a registry of their own. */
export class AdmissionMetrics {
  readonly registry = new Registry();
  readonly #duration = new Histogram({
    name: 'isthmus_webhook_review_duration_seconds',
    help: 'Time from the whole body to the answer, by outcome.',
    labelNames: ['outcome'] as const,
    buckets: BUCKETS,
    registers: [this.registry],
  });
  readonly #denied = new Counter({
    name: 'isthmus_webhook_denied_total',
    help: 'Objects that were denied, by reason.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly #rejected = new Counter({
    name: 'isthmus_webhook_requests_rejected_total',
    help:
      'Requests that got no review: overload, a body that is not a review, a path that no API server ' +
        'uses; connections beyond the rate limit of addresses that have sent no review.',
    labelNames: ['cause'] as const,
    registers: [this.registry],
  });
  readonly #certificates = new Counter({
    name: 'isthmus_webhook_certificates_total',
    help: 'Serving certificates that came into use, or were refused because certificate and key do not match.',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });
  readonly #expiry = new Gauge({
    name: 'isthmus_webhook_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use expires, in seconds since the epoch.',
    registers: [this.registry],
  });
  readonly #rulesMissing = new Gauge({
    name: 'isthmus_webhook_rules_missing',
    help: 'Whether elected pods bypass the webhook, because the API server has not reached it yet.',
    registers: [this.registry],
  });

  /** Children by outcome, looked up once: a label lookup costs as much as the observation. */
  readonly #durations: Readonly<Record<Outcome, { observe(seconds: number): void }>> = {
    passed: this.#duration.labels('passed'),
    patched: this.#duration.labels('patched'),
    denied: this.#duration.labels('denied'),
    failed: this.#duration.labels('failed'),
  };

  /** Records a review's latency in seconds. */
  answered(response: AdmissionResponse, seconds: number): void {
    const outcome = outcomeOf(response);
    this.#durations[outcome].observe(seconds);
    if (outcome === 'denied') this.#denied.inc({ reason: response.status?.reason ?? '' });
  }

  /** Records a request without a review, or a connection without a response. */
  requestRejected(cause: 'overload' | 'no-review' | 'no-path' | 'connection'): void {
    this.#rejected.inc({ cause });
  }

  /** Sets whether the rules for pods are missing. */
  rulesMissing(areMissing: boolean): void {
    this.#rulesMissing.set(areMissing ? 1 : 0);
  }

  /** Records a new certificate; `notAfter` in ms since the epoch. */
  certificate(outcome: 'used' | 'refused', notAfter?: number): void {
    this.#certificates.inc({ outcome });
    if (notAfter !== undefined) this.#expiry.set(notAfter / 1_000);
  }
}

function outcomeOf({ allowed, patch, status }: AdmissionResponse): Outcome {
  if (allowed) return patch === undefined ? 'passed' : 'patched';
  return status?.code === 500 ? 'failed' : 'denied';
}
