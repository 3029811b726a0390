// Many copies of one object, written into the etcd of a sandbox cluster itself: an API server would take a hundred
// thousand creates for it, and all who watch hear of them just the same. Names and UIDs keep their length, so that the
// stored bytes (protobuf) stay well-formed.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Pod } from '../../../api/objects/core.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';

/** Of one transaction; etcd takes 128 operations and 1.5 MiB. */
const BATCH = 100;

/** etcd's JSON gateway (`etcdserverpb` KV), by the Unix socket that it listens on. */
async function call<T>(cluster: Cluster, path: string, body: object): Promise<T> {
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request(
      { socketPath: join(cluster.directory, 'etcd.sock:0'), path, method: 'POST' },
      (response) => void text(response).then(resolve, reject),
    );
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
  const parsed = JSON.parse(answer) as T & { readonly error?: string };
  assert.equal(parsed.error, undefined, path);
  return parsed;
}

const base64 = (value: string) => Buffer.from(value).toString('base64');

/** The n-th name or UID of a length: its last digits are replaced. */
function numbered(original: string, index: number): string {
  const digits = String(index).padStart(8, '0');
  return original.slice(0, -digits.length) + digits;
}

/** Stores so many copies of a pod, whose name must end in eight digits; resolves when etcd has them all. */
export async function copyPod(cluster: Cluster, pod: Pod, copies: number): Promise<void> {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  assert.match(name, /\d{8}$/);
  const keyOf = (of: string) => base64(`/registry/pods/${namespace}/${of}`);
  const { kvs: [stored] = [] } =
    await call<{ readonly kvs?: readonly { readonly value: string }[] }>(cluster, '/v3/kv/range', { key: keyOf(name) });
  assert.ok(stored !== undefined, `${name} is not stored where it was looked for`);
  const bytes = Buffer.from(stored.value, 'base64').toString('latin1');
  const put = (index: number) => {
    const value = bytes.replaceAll(name, numbered(name, index)).replaceAll(uid, numbered(uid, index));
    return {
      requestPut: { key: keyOf(numbered(name, index)), value: Buffer.from(value, 'latin1').toString('base64') },
    };
  };
  for (let from = 1; from <= copies; from += BATCH) {
    const success = Array.from({ length: Math.min(BATCH, copies - from + 1) }, (_, offset) => put(from + offset));
    await call(cluster, '/v3/kv/txn', { success });
  }
}
