import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyObjects, objectName, typeOf } from '../../../../cli/clusters/apply-objects.ts';
import { pollUntil } from '../../../../cli/clusters/poll-until.ts';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import { apiVersionOf } from '../../../../api/resource-types.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { installManifests } from '../../../../manifests/install.ts';
import { accountManifest, identityManifests, sourceObject } from '../../../../peering/identity/source-identity.ts';
import { peeringIdentity, sourceSideManifests } from '../../../../peering/access/target-access.ts';

const never = new AbortController().signal;
const peering = { name: 'c2', sourceId: '0123abcd', installNamespace: 'ns' };
const everything = [
  ...installManifests({ installNamespace: 'ns' }),
  ...[peering, { ...peering, namespace: 'team-a' }].flatMap((each) => {
    const identity = peeringIdentity(each);
    return [
      sourceObject(identity), accountManifest(identity)!, ...identityManifests(identity, 'ns'),
      ...sourceSideManifests(each, ''),
    ];
  }),
];

/** A client that notes what is applied and fails at one name. */
function recordingClient(failingName?: string): { client: ClusterClient; applied: string[] } {
  const applied: string[] = [];
  const apply =
    async (_type: ResourceType, object: KubernetesObject, fieldManager: string): Promise<KubernetesObject> => {
    if (object.metadata.name === failingName) throw new Error('refused');
    applied.push(`${fieldManager}: ${objectName(object)}`);
    return object;
  };
  return { client: { apply } as unknown as ClusterClient, applied };
}

describe('typeOf', () => {
  it('knows every object of our manifests, with its version and whether it lies in a namespace', () => {
    for (const object of everything) {
      const type = typeOf(object);
      assert.equal(type.kind, object.kind);
      assert.equal(apiVersionOf(type), object.apiVersion);
      assert.equal(type.namespaced, object.metadata.namespace !== undefined, objectName(object));
    }
  });

  it('refuses a kind that we do not apply', () => {
    assert.throws(() => typeOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }), TypeError);
  });

  it('tells a kind of one group from its namesake in another', () => {
    assert.throws(() => typeOf({ apiVersion: 'example.com/v1', kind: 'Target', metadata: { name: 't' } }), TypeError);
  });
});

describe('applyObjects', () => {
  it('applies objects of one kind at once, and the next kind once all of them are there', async () => {
    const running = new Set<string>();
    let most = 0;
    const apply = async (_type: ResourceType, object: KubernetesObject): Promise<KubernetesObject> => {
      assert.ok([...running].every((name) => name.startsWith(`${object.kind} `)), objectName(object));
      running.add(objectName(object));
      most = Math.max(most, running.size);
      await new Promise((resolve) => setImmediate(resolve));
      running.delete(objectName(object));
      return object;
    };
    const client = { apply } as unknown as ClusterClient;
    const stored = await applyObjects(client, everything, 'me', { tell: () => undefined, signal: never });
    assert.deepEqual(stored, everything);
    assert.equal(most, 10);
  });

  it('applies in order and tells of each', async () => {
    const { client, applied } = recordingClient();
    const lines: string[] = [];
    await applyObjects(client, everything, 'me', { tell: (line) => lines.push(line), signal: never });
    assert.deepEqual(applied, everything.map((object) => `me: ${objectName(object)}`));
    assert.deepEqual(lines, everything.map((object) => `applied ${objectName(object)}`));
  });

  it('stops after a batch in which one fails, and tells of all that were applied', async () => {
    const failing = everything[3]!;
    const { client, applied } = recordingClient(failing.metadata.name);
    const lines: string[] = [];
    await assert.rejects(
      applyObjects(client, everything, 'me', { tell: (line) => lines.push(line), signal: never }), /refused/,
    );
    assert.deepEqual(lines, applied.map((line) => line.replace('me: ', 'applied ')));
    assert.ok(applied.length >= 3 && applied.length < 13, 'none of the next ten');
  });
});

describe('pollUntil', () => {
  it('gives the first thing that is found', async () => {
    let looks = 0;
    const look = async (): Promise<number | undefined> => (++looks < 3 ? undefined : looks);
    assert.equal(await pollUntil(look, { forMs: 10_000, everyMs: 0 }, never), 3);
  });

  it('looks once even without patience, and gives nothing when it is over', async () => {
    let looks = 0;
    const look = async (): Promise<undefined> => {
      looks += 1;
      return undefined;
    };
    assert.equal(await pollUntil(look, { forMs: -1, everyMs: 0 }, never), undefined);
    assert.equal(looks, 1);
  });

  it('ends with the reason of the signal, without waiting', async () => {
    const stop = new AbortController();
    const look = async (): Promise<undefined> => {
      stop.abort('SIGINT');
      return undefined;
    };
    await assert.rejects(
      pollUntil(look, { forMs: 60_000, everyMs: 60_000 }, stop.signal), (reason) => reason === 'SIGINT',
    );
  });

  it('does not hide an error', async () => {
    await assert.rejects(
      pollUntil(() => Promise.reject(new Error('gone')), { forMs: 60_000, everyMs: 1 }, never), /gone/,
    );
  });
});
