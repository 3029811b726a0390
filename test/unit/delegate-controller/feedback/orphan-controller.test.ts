// Garbage collection in targets: what belongs to a pod that exists is never deleted, whatever the caches say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OrphanCollector } from '../../../../delegate-controller/feedback/orphan-controller.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import type { Chaperon } from '../../../../model/delegate/cached-delegate.ts';
import {
  aChaperonRecord, aProxy, aProxyRecord, CHAPERON_UID, onNode, PROXY_UID, terminating, withUid,
} from '../../../support/objects/builders.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import type { SourceControllerOptions } from '../../../../targets/proxy-pods.ts';

const KEY = 'team-a/web';
const TARGET = 'ClusterTarget/c';
const { signal } = new AbortController();

interface Given {
  /** The pod in the cache of the source, and what an uncached read gives. */
  readonly cached?: ProxyPod;
  readonly stored?: Pod | Error;
  readonly chaperons?: readonly Chaperon[];
  readonly owns?: boolean;
  readonly isConnected?: boolean;
  readonly isTarget?: boolean;
}

function aCollector({ cached, stored, chaperons = [aChaperonRecord()], owns = true, isConnected = true,
  isTarget = true }: Given) {
  const deleted: unknown[] = [];
  let reads = 0;
  const client = {
    metadataOnly: () => client, patch: async () => ({}),
    delete: async (_type: unknown, at: unknown, { preconditions }: { readonly preconditions: unknown }) =>
      void deleted.push({ at, preconditions }),
  };
  const target = {
    key: TARGET, nodeName: 'admiralty-c', owns: () => owns,
    session: { madeFor: () => chaperons, ...(isConnected && { client }) },
  };
  const source = {
    get: async () => {
      reads += 1;
      const found = stored ?? new ApiError(404, 'NotFound', '-');
      if (found instanceof Error) throw found;
      return found;
    },
  };
  const orphans = new OrphanCollector({
    source, logger: SILENT, proxies: { get: () => cached }, targets: { get: () => (isTarget ? target : undefined) },
  } as unknown as SourceControllerOptions);
  orphans.noteSeen(KEY, TARGET);
  return { orphans, deleted, reads: () => reads };
}

const ORPHAN = { at: { namespace: 'team-a', name: 'web-abc' }, preconditions: { uid: CHAPERON_UID } };

describe('a PodChaperon in a target', () => {
  const rows: Readonly<Record<string, readonly [given: Given, isDeleted: boolean]>> = {
    'whose pod is gone': [{}, true],
    'whose pod was replaced by one of its name': [{ cached: aProxyRecord(withUid('later')),
      stored: aProxy(withUid('later')) }, true],
    'whose pod is bound to another target': [
      { cached: aProxyRecord(onNode('admiralty-other')), stored: aProxy(onNode('admiralty-other')) }, true,
    ],
    'whose pod waits': [{ cached: aProxyRecord() }, false],
    'whose pod is bound to this target': [{ cached: aProxyRecord(onNode('admiralty-c')) }, false],
    'whose pod the cache does not have yet, but the API server has': [{ stored: aProxy() }, false],
    'whose pod is bound here by now, though the cache says elsewhere': [
      { cached: aProxyRecord(onNode('admiralty-other')), stored: aProxy(onNode('admiralty-c')) }, false,
    ],
    'that is being deleted already': [{ chaperons: [aChaperonRecord(terminating())] }, false],
    'of another target to the same cluster': [{ owns: false }, false],
    'of a target that is not connected': [{ isConnected: false }, false],
  };
  for (const [what, [given, isDeleted]] of Object.entries(rows)) {
    it(`${what} ${isDeleted ? 'is deleted, and no later one of its name' : 'stays'}`, async () => {
      const { orphans, deleted } = aCollector(given);
      await orphans.reconcile(KEY, signal);
      assert.deepEqual(deleted, isDeleted ? [ORPHAN] : []);
    });
  }
  for (const error of [new Error('timeout'), new ApiError(403, 'Forbidden', '-'), new ApiError(500, '', '-')]) {
    it(`stays when whether its pod exists cannot be read: ${error.message}`, async () => {
      const { orphans, deleted } = aCollector({ stored: error });
      await assert.rejects(orphans.reconcile(KEY, signal), (thrown) => thrown === error);
      assert.deepEqual(deleted, []);
    });
  }
  it('whose pod the cache has costs no uncached read', async () => {
    const { orphans, reads } = aCollector({ cached: aProxyRecord(withUid(PROXY_UID)) });
    await orphans.reconcile(KEY, signal);
    assert.equal(reads(), 0);
  });
});

describe('a pod concerns the collector', () => {
  const rows: Readonly<Record<string, readonly [given: Given, concerns: boolean]>> = {
    'while something of it is left': [{}, true], 'not while it is where it belongs': [{ cached: aProxyRecord() },
      false],
    'while its target is gone, to be forgotten': [{ isTarget: false }, true],
    'while its target has nothing of it any more, to be forgotten': [{ chaperons: [] }, true],
  };
  for (const [what, [given, concerns]] of Object.entries(rows)) {
    it(what, () => assert.equal(aCollector(given).orphans.concerns(KEY), concerns));
  }
  it('no more once nothing is left of it', async () => {
    const { orphans } = aCollector({ chaperons: [] });
    await orphans.reconcile(KEY, signal);
    assert.equal(orphans.concerns(KEY), false);
  });
  it('never when nothing of it was seen', () => assert.equal(aCollector({}).orphans.concerns('team-a/other'), false));
});
