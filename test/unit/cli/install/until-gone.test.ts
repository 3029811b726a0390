import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { REMINDED_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES } from '../../../../api/resource-types.ts';
import { untilGone } from '../../../../cli/install/until-gone.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';

const never = new AbortController().signal;
const GONE = new ApiError(404, 'NotFound', 'not found');
const OBJECT = {
  metadata: { name: 'x', uid: 'u' },
  status: { conditions: [{ type: 'Terminating', message: 'could not list instances' }] },
};

describe('waiting for what was deleted', () => {
  let patches: object[];
  let looks: number;
  beforeEach(() => {
    patches = [];
    looks = 0;
  });

  /** A cluster whose object goes when `isGone` says so. */
  const wait = (
    type: ResourceType, isGone: () => boolean, more: Partial<Record<'forMs' | 'remindEveryMs', number>> = {},
    answer?: Error,
  ) => {
    const client = {
      get: async () => {
        looks += 1;
        if (isGone()) throw GONE;
        return OBJECT;
      },
      patch: async (_type: unknown, at: object, { patch }: { readonly patch: object }) => {
        patches.push({ ...at, ...patch });
        if (answer !== undefined) throw answer;
      },
    } as unknown as ClusterClient;
    return untilGone(client, { type, name: 'x' }, never, { forMs: 10_000, everyMs: 1, remindEveryMs: 5, ...more });
  };

  it('ends when it has gone', async () => {
    await wait(CUSTOM_RESOURCE_DEFINITIONS, () => looks === 3, { remindEveryMs: 10_000 });
    assert.deepEqual([looks, patches], [3, []]);
  });

  it('reminds an API server of a definition, each time by another value, and of this very one', async () => {
    await wait(CUSTOM_RESOURCE_DEFINITIONS, () => patches.length === 3);
    const values = patches.map((patch) => {
      const { name, metadata: { uid, annotations } } =
        patch as { name: string; metadata: { uid: string; annotations: Record<string, string> } };
      assert.deepEqual([name, uid], ['x', 'u']);
      return annotations[REMINDED_ANNOTATION];
    });
    assert.equal(new Set(values).size, 3);
  });

  for (const answer of [GONE, new ApiError(403, 'Forbidden', 'no'), new ApiError(409, 'Conflict', 'another one')]) {
    it(`waits on when the reminder is answered with ${answer.status}`, () => wait(
      CUSTOM_RESOURCE_DEFINITIONS, () => patches.length === 2, {}, answer,
    ));
  }

  it('changes nothing else', async () => {
    const until = performance.now() + 50;
    await wait(NAMESPACES, () => performance.now() > until);
    assert.deepEqual(patches, []);
  });

  it('says what the API server says when it does not go', () => assert.rejects(
    wait(CUSTOM_RESOURCE_DEFINITIONS, () => false, { forMs: 20 }),
    /^AppError: CustomResourceDefinition x has not gone \(could not list instances\): see what "kubectl get customresourcedefinitions x -o yaml"/,
  ));
});
