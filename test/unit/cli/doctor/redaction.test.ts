import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { redactedObject, redactedText } from '../../../../cli/doctor/redaction.ts';
import { tarArchive } from '../../../../cli/doctor/tar-archive.ts';

const CANARY = 'c4n4ry-3f9a7b';
const HEX = '0123456789abcdef'.repeat(3);
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLWNhbmFyeQ';

describe('C2-35: redactedText', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['a token', `Authorization failed for ${JWT}, sorry`],
    ['a sealed message with an empty part', `${JWT}.${'a'.repeat(20)}.${CANARY}`],
    ['a bearer', `authorization: Bearer ${CANARY}`],
    ['a password in a URL', `https://user:${CANARY}@host/path`],
    ['a password in a URL without a user', `redis://:${CANARY}@host:6379`],
    ['a token in a URL', `https://${CANARY}@host/path`],
    ['a password that is named', `--password=${CANARY}`],
    ['a token in JSON', `{"token":"${CANARY}"}`],
    ['a private key', `-----BEGIN EC PRIVATE KEY-----\n${CANARY}\n-----END EC PRIVATE KEY-----`],
    ['the path of a webhook in what an API server says of a call', `failed calling webhook: Post "https://isthmus` +
      `-webhook.isthmus-system.svc:443/${HEX}/mutate--v1-pod?timeout=5s": context deadline exceeded`],
    ['a private key that is cut off', `-----BEGIN PRIVATE KEY-----\n${CANARY}`],
  ];
  for (const [what, text] of rows) {
    it(`takes out ${what}`, () => {
      const left = redactedText(text);
      for (const secret of [CANARY, HEX, JWT, JWT.split('.')[2] ?? '']) assert.ok(!left.includes(secret), left);
    });
  }

  it('leaves what is no secret', () => {
    const text =
      'reconcile failed for team-a/web-7c9: the tokens of the bucket ran out; see https://example.com:6443/apis';
    const line = '{"server":"https://example.com:6443","user":"jane@example.com"}';
    assert.deepEqual([redactedText(text), redactedText(line)], [text, line]);
  });

  it('has no say the second time', () => fc.assert(
    fc.property(fc.string(), (text) => redactedText(redactedText(text)) === redactedText(text)), { numRuns: 200 },
  ));
});

describe('redactedObject', () => {
  it('keeps the names of what a Secret holds, and nothing of what it says', () => {
    const secret = {
      kind: 'Secret', metadata: { name: 's' }, type: 'Opaque', data: { password: CANARY }, stringData: { more: CANARY },
    };
    assert.deepEqual(redactedObject(secret), {
      kind: 'Secret', metadata: { name: 's' }, type: 'Opaque', data: { password: '[redacted]' },
    });
  });

  const rows: readonly (readonly [string, object])[] = [
    ['the environment of a container', { spec: { containers: [{ env: [{ name: 'A', value: CANARY }] }] } }],
    ['its command line', { spec: { containers: [{ args: [CANARY], command: [CANARY] }] } }],
    ['a header of a probe', {
      spec: { containers: [{ livenessProbe: { httpGet: { httpHeaders: [{ name: 'X-Key', value: CANARY }] } } }] },
    }],
    ...['env/-', 'env/0/value', 'args/0', 'command'].map((path): readonly [string, object] => [
      `what a policy writes to ${path} of a delegate`,
      { patch: [{ op: 'add', path: `/spec/containers/0/${path}`, value: { name: 'A', value: CANARY } }] },
    ]),
    ['the manifest that a proxy pod carries', {
      metadata: { annotations: { 'multicluster.admiralty.io/sourcepod-manifest': CANARY } },
    }],
    ["kubectl's note of what was applied", {
      metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': CANARY } },
    }],
    ['the token of a JoinRequest, and the answer', { spec: { token: CANARY }, status: { access: CANARY } }],
    ['a ConfigMap', { kind: 'ConfigMap', data: { a: CANARY } }],
    ['a token in a message', { status: { conditions: [{ message: `refused: ${JWT}` }] } }],
  ];
  for (const [what, object] of rows) {
    it(`takes out ${what}`, () => {
      const left = JSON.stringify(redactedObject(object));
      assert.ok(!left.includes(CANARY) && !left.includes(JWT), left);
    });
  }

  it('keeps what a policy changes otherwise', () => {
    const patch = [{ op: 'add', path: '/spec/nodeSelector/disk', value: 'ssd' }];
    assert.deepEqual(redactedObject({ patch }), { patch });
  });

  it('keeps the name of a variable, and where it comes from', () => {
    const env = [{ name: 'A', value: CANARY }, { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
    assert.deepEqual(redactedObject({ env }), { env: [{ name: 'A', value: '[redacted]' }, env[1]] });
  });
});

describe('tarArchive', () => {
  it('is one that tar reads: names, sizes and checksums in blocks of 512', () => {
    const bytes = gunzipSync(tarArchive([{ name: 'a/b.txt', text: 'hello' }, { name: 'c', text: '' }], 1_000));
    assert.equal(bytes.length, 512 + 512 + 512 + 1_024);
    const header = bytes.subarray(0, 512);
    assert.equal(header.toString('utf8', 0, 7), 'a/b.txt');
    assert.equal(parseInt(header.toString('utf8', 124, 135), 8), 5);
    const withoutSum = Buffer.from(header).fill(' ', 148, 156);
    assert.equal(parseInt(header.toString('utf8', 148, 154), 8), withoutSum.reduce((sum, byte) => sum + byte, 0));
    assert.equal(bytes.toString('utf8', 512, 517), 'hello');
  });

  it('refuses a name that does not fit', () => assert.throws(
    () => tarArchive([{ name: 'x'.repeat(101), text: '' }], 0), RangeError,
  ));
});
