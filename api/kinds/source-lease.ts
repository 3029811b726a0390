// SourceLease: a source's heartbeat in a target, in each namespace with pods that the target must stop when it loses
// the source (ADR 0020). The source writes the spec, the target's delegate controller the status.
import type { KubernetesObject } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import { int32, objectOf, text, type KindDefinition } from '../objects/schema.ts';

/** The source's part. */
export interface SourceLeaseSpec {
  /** One run of the source's process: timestamps of two holders cannot be compared. */
  readonly holder: string;
  /** Duration of the lease, in seconds. */
  readonly durationSeconds: number;
  /** RFC 3339 with milliseconds, by a monotonic clock of the holder. */
  readonly renewTime: string;
}

/** The target's part. */
export interface SourceLeaseStatus {
  /** `Expired`: the source's fenced pods are stopped. */
  readonly state?: 'Held' | 'Expired';
  /**
   * Holder and `renewTime` of the last observed renewal, and when it was observed, by the target's time of day (RFC
   * 3339).
   */
  readonly seenHolder?: string;
  readonly seenRenewTime?: string;
  readonly seenAt?: string;
}

/** A lease of one source in one namespace of the target. */
export interface SourceLease extends KubernetesObject {
  readonly spec: SourceLeaseSpec;
  readonly status?: SourceLeaseStatus;
}

const TIME = { type: 'string', format: 'date-time' } as const;

/** CRD of SourceLease. */
export const SOURCE_LEASE_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'SourceLease',
  plural: 'sourceleases',
  shortName: 'srcl',
  scope: 'Namespaced',
  description: 'A lease that a source renews: when it expires, the pods that the source may replace elsewhere are ' +
    'stopped here.',
  columns: [
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Seconds', type: 'integer', jsonPath: '.spec.durationSeconds' },
    { name: 'Seen', type: 'date', jsonPath: '.status.seenAt' },
    { name: 'Holder', type: 'string', jsonPath: '.spec.holder', priority: 1 },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf('Written by the source.', {
      holder: text("One run of the source's process.", { minLength: 1, maxLength: 253 }),
      durationSeconds: int32('How long a renewal is valid.', { minimum: 1, maximum: 86_400 }),
      renewTime: { ...TIME, description: "When it was last renewed, by the holder's clock." },
    }, ['holder', 'durationSeconds', 'renewTime']),
    status: objectOf("Written by the target's delegate controller.", {
      state: text('Held, or Expired: pods of the source that use it are stopped.', { enum: ['Held', 'Expired'] }),
      seenHolder: text('Holder of the last observed renewal.', { maxLength: 253 }),
      seenRenewTime: { ...TIME, description: 'The last observed renewal.' },
      seenAt: { ...TIME, description: 'When it was observed.' },
    }),
  },
};
