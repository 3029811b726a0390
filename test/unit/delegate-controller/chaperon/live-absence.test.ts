// Uncached reads in a target before a write that relies on the absence of something.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chaperonExists, delegateExists } from '../../../../delegate-controller/chaperon/live-absence.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { aChaperon, aDelegate, aPod, withMetadata, withoutOwner, withUid } from '../../../support/objects/builders.ts';

const { signal } = new AbortController();
const notFound = new ApiError(404, 'NotFound', '-');

/** A client that finds this, or throws it. */
const finding = (found: object): ClusterClient => ({
  get: async () => {
    if (found instanceof Error) throw found;
    return found;
  },
}) as unknown as ClusterClient;
const delegate = toTargetPodRecord(aDelegate());

describe("a delegate's own PodChaperon", () => {
  const rows: Readonly<Record<string, readonly [found: object, exists: boolean]>> = {
    'exists by its UID': [aChaperon(), true], 'does not when there is none': [notFound, false],
    'does not when there is another one of its name': [aChaperon(withUid('later')), false],
  };
  for (const [what, [found, exists]] of Object.entries(rows)) {
    it(what, async () => assert.equal(await chaperonExists(finding(found), delegate, signal), exists));
  }
});

describe("a PodChaperon's delegate", () => {
  const rows: Readonly<Record<string, readonly [found: object, exists: boolean]>> = {
    'exists by its owner': [aDelegate(), true], 'does not when there is none': [notFound, false],
    'is not a pod of its name that somebody else has made': [aPod(), false],
    'is not one without an owner': [aDelegate(withoutOwner()), false],
    'is not one of an earlier PodChaperon of the name': [
      aDelegate(withMetadata({ ownerReferences: [{ apiVersion: 'a/v1', kind: 'PodChaperon', name: 'web-abc',
        uid: 'earlier' }] })),
      false,
    ],
  };
  for (const [what, [found, exists]] of Object.entries(rows)) {
    it(what, async () => assert.equal(await delegateExists(finding(found), aChaperon(), signal), exists));
  }
});

describe('an error of a read', () => {
  for (const error of [new Error('timeout'), new ApiError(403, 'Forbidden', '-'), new ApiError(503, '', '-')]) {
    it(`is not absence: ${error.message}`, async () => {
      await assert.rejects(chaperonExists(finding(error), delegate, signal), (thrown) => thrown === error);
      await assert.rejects(delegateExists(finding(error), aChaperon(), signal), (thrown) => thrown === error);
    });
  }
});
