// Fields of other projects' objects, and kubeconfigs that are made of them: whatever is not as expected is missing, and
// nothing of a registry gets around the checks of kubeconfigs.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Secret } from '../../../../api/objects/core.ts';
import { composeKubeconfig, type AccessFields } from '../../../../discovery/entry/composed-kubeconfig.ts';
import {
  bySecret, conditionOf, entryOf, isLeaving, kubeconfigIn, recordsAt, secretText, textAt, valueAt,
} from '../../../../discovery/entry/registry-fields.ts';
import { readKubeconfig } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { AppError } from '../../../../process/errors.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const aSecret = (data: Readonly<Record<string, string>>, type = 'Opaque'): Secret =>
  ({ metadata: { namespace: 'n', name: 's' }, type, data });
const PLACE = { namespace: 'n', name: 's' };

describe('a field of an object of any shape', () => {
  it('is what is there, and missing otherwise, without an error', () => {
    fc.assert(fc.property(fc.jsonValue(), fc.constantFrom('a', 'a.b', 'a.b.c', '0', 'length', 'constructor'),
      (object, path) => {
      const value = valueAt(object, path);
      assert.equal(typeof value === 'function', false);
      assert.equal(textAt(object, path), typeof value === 'string' && value !== '' ? value : undefined);
      for (const record of recordsAt(object, path)) assert.equal(typeof record, 'object');
    }), { numRuns: 300 });
  });
  it('is found by its path', () => {
    assert.equal(textAt({ spec: { ref: { name: 'x' } } }, 'spec.ref.name'), 'x');
    assert.deepEqual(recordsAt({ list: [1, { a: 1 }, null, [], 'x'] }, 'list'), [{ a: 1 }]);
  });
  it('that is a condition has one of three states', () => {
    const of = (status: unknown) => conditionOf(
      { metadata: {}, status: { conditions: [null, { type: 'Other', status: 'True' },
        { type: 'Ready', status }] } } as never, 'Ready',
    );
    assert.deepEqual(['True', 'False', 'Unknown', 'true', true, undefined].map(of), [
      'True', 'False', 'Unknown', undefined, undefined, undefined,
    ]);
  });
  it('names an object as people are told', () => {
    assert.deepEqual([entryOf('A', { name: 'x' }), entryOf('A', { namespace: 'n', name: 'x' })], ['A x', 'A n/x']);
    assert.deepEqual([{}, { deletionTimestamp: 'now' }].map((metadata) => isLeaving({ metadata })), [false, true]);
  });
});

describe('a Secret of a registry', () => {
  it('has texts without the white space around them; an empty one is missing', () => {
    const secret = aSecret({ a: base64(' x\n'), b: base64(' \n'), c: '' });
    assert.deepEqual(['a', 'b', 'c', 'd', 'constructor'].map((key) => secretText(secret, key)), [
      'x', undefined, undefined, undefined, undefined,
    ]);
  });
  it('gives the kubeconfig of the first key that it has', () => {
    const secret = aSecret({ 'value.yaml': base64('second'), value: base64('first') });
    assert.deepEqual(kubeconfigIn(secret, ['value', 'value.yaml']), { kind: 'kubeconfig', text: 'first' });
    const none = kubeconfigIn(aSecret({}), ['value', 'value.yaml']);
    assert.ok(none.kind === 'waiting' && none.message.includes('under key value or value.yaml'));
  });
  it('with a token of this very cluster gives no access, whatever else it has', () => {
    const token = aSecret({ value: base64('kubeconfig') }, 'kubernetes.io/service-account-token');
    assert.equal(bySecret({ kind: 'found', secret: token }, PLACE, () => assert.fail('it is not read')).kind,
      'refused');
  });
  it('that cannot be read is not one that does not exist', () => {
    const told = (lookup: Parameters<typeof bySecret>[0]) => {
      const access = bySecret(lookup, PLACE, () => assert.fail('there is none'));
      return access.kind === 'waiting' ? access.message : access.kind;
    };
    assert.equal(told({ kind: 'missing' }), 'Secret n/s does not exist');
    assert.equal(told({ kind: 'unread', message: 'forbidden' }), 'Secret n/s cannot be read: forbidden');
  });
});

describe('a kubeconfig that is made of fields', () => {
  const read = async (fields: AccessFields) => {
    const access = composeKubeconfig(fields);
    assert.ok(access.kind === 'kubeconfig');
    return readKubeconfig({ text: access.text, author: 'registry' });
  };
  const SERVER = 'https://a.example:6443';

  it('is read as what the fields say, whatever characters a token has', async () => {
    const token = fc.stringMatching(/^[!-~]{1,40}$/);
    await fc.assert(fc.asyncProperty(token, async (given) => {
      const { server, credentials } = await read({ server: SERVER, token: given });
      assert.equal(server.origin, SERVER);
      assert.deepEqual(credentials, { kind: 'token', token: given });
    }), { numRuns: 60 });
  });
  it('is never of more than one server or user: no text ends its field', async () => {
    const text = `x"\nusers: []\n- name: other\n  user: {exec: {command: sh}}\n`;
    const { serverName } = await read({ server: SERVER, token: 't', serverName: 'a.example' });
    assert.equal(serverName, 'a.example');
    await assert.rejects(read({ server: `${SERVER}\nproxy-url: http://evil`, token: 't' }), AppError);
    const access = composeKubeconfig({ server: SERVER, token: text });
    assert.ok(access.kind === 'kubeconfig' && access.text.split('\n').filter((line) =>
      line.startsWith('users:')).length === 1);
  });
  const refused: Readonly<Record<string, Partial<AccessFields>>> = {
    'a proxy': { proxyUrl: 'http://proxy' }, 'a password': { username: 'a', password: 'b' },
      'no verification': { insecure: true },
    'a file of this process': { certificateAuthorityFile: '/etc/ca.crt' },
      'a metadata address': { server: 'https://169.254.169.254' },
  };
  for (const [what, fields] of Object.entries(refused)) {
    it(`is refused with ${what}, as any other one`, async () => {
      await assert.rejects(read({ server: SERVER, token: 't', ...fields }), (error) =>
        error instanceof AppError && error.code === 'KubeconfigRefused');
    });
  }
  it('lacks what is empty: an empty field is none, as in kubectl', async () => {
    const { serverName, certificateAuthority } = await read(
      { server: SERVER, token: 't', serverName: '', certificateAuthorityData: '', proxyUrl: '', insecure: false },
    );
    assert.deepEqual([serverName, certificateAuthority], [undefined, undefined]);
  });
  it('without a server is an error of the kubeconfig, not a crash', async () =>
    assert.rejects(read({ server: undefined, token: 't' }), AppError));
});
