import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  execInfo, readExec, readExecCredential,
} from '../../../../kubernetes/credentials/exec-credential.ts';

const V1 = 'client.authentication.k8s.io/v1';
const BETA = 'client.authentication.k8s.io/v1beta1';
const NOW = Date.parse('2026-11-25T12:00:00Z');
const CANARY = 'canary-5d1e';

const answer = (status: object | undefined, more: object = {}): string =>
  JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', ...(status !== undefined && { status }), ...more });

describe('the exec section of a kubeconfig', () => {
  it('is read as kubectl reads it', () => {
    const exec = {
      apiVersion: BETA, command: 'aws', args: ['eks', 'get-token'], env: [{ name: 'AWS_PROFILE', value: 'prod' }],
      installHint: 'install it', interactiveMode: 'Never',
    };
    assert.deepEqual(readExec(exec, {}, undefined), {
      apiVersion: BETA, command: 'aws', args: ['eks', 'get-token'], env: { AWS_PROFILE: 'prod' },
      installHint: 'install it', interactiveMode: 'Never',
    });
  });

  it('may leave out what clouds leave out', () => {
    const { args, env, interactiveMode } =
      readExec({ apiVersion: BETA, command: 'kubelogin', args: null, env: null, interactiveMode: null }, {}, undefined);
    assert.deepEqual([args, env, interactiveMode], [[], {}, 'IfAvailable']);
  });

  const wrong: Record<string, readonly [exec: unknown, why: RegExp]> = {
    'nothing': [null, /exec must have a command/],
    'a text': ['aws', /exec must have a command/],
    'no command': [{ apiVersion: V1, interactiveMode: 'Never' }, /exec\.command is missing/],
    'a command that is a list': [{ apiVersion: BETA, command: ['aws'] }, /exec\.command is missing/],
    'a version that kubectl speaks no more':
      [{ apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'aws' }, /exec\.apiVersion must be one of/],
    'no version': [{ command: 'aws' }, /exec\.apiVersion must be one of/],
    'v1 without a mode': [{ apiVersion: V1, command: 'aws' }, /exec\.interactiveMode must be one of/],
    'an unknown mode': [{ apiVersion: BETA, command: 'aws', interactiveMode: 'Maybe' }, /exec\.interactiveMode must/],
    'arguments that are a text': [{ apiVersion: BETA, command: 'aws', args: 'eks' }, /exec\.args must be a list/],
    'an argument that is a number': [{ apiVersion: BETA, command: 'aws', args: [1] }, /exec\.args must be a list/],
    'variables that are a mapping': [{ apiVersion: BETA, command: 'aws', env: { A: 'b' } }, /exec\.env must be a list/],
    'a variable without a value':
      [{ apiVersion: BETA, command: 'aws', env: [{ name: 'A' }] }, /exec\.env must be a list/],
  };
  for (const [what, [exec, why]] of Object.entries(wrong)) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => readExec(exec, {}, undefined), { code: 'KubeconfigInvalid', message: why });
    });
  }
});

describe('what a plugin is told', () => {
  const exec = { apiVersion: V1, command: 'p', interactiveMode: 'Never' };
  const told = (more: object, cluster: object = {}, authority?: string): unknown =>
    JSON.parse(execInfo(readExec({ ...exec, ...more }, cluster as Record<string, unknown>, authority), false));

  it('is the version alone', () => {
    assert.deepEqual(
      told({}, { server: 'https://a' }), { apiVersion: V1, kind: 'ExecCredential', spec: { interactive: false } },
    );
  });

  it('is the cluster, if it asks for it, with its own configuration', () => {
    const cluster = {
      server: 'https://a', 'tls-server-name': 'b', 'certificate-authority': '/x', unknown: 1,
      extensions: [{ name: 'other', extension: 1 }, { name: 'client.authentication.k8s.io/exec', extension: { c: 1 } }],
    };
    assert.deepEqual(told({ provideClusterInfo: true }, cluster, 'PEM'), {
      apiVersion: V1, kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: 'https://a', 'tls-server-name': 'b', config: { c: 1 },
          'certificate-authority-data': Buffer.from('PEM').toString('base64'),
        },
      },
    });
  });
});

describe('what a plugin answers', () => {
  it('is a token, until a time', () => {
    assert.deepEqual(
      readExecCredential(answer({ token: 't', expirationTimestamp: '2026-11-25T12:15:00Z' }), V1, NOW),
      { credentials: { token: 't' }, expiresAtMs: NOW + 900_000 },
    );
  });

  it('is a token for as long as the server takes it', () => {
    assert.deepEqual(readExecCredential(answer({ token: 't', expirationTimestamp: null }), V1, NOW), {
      credentials: { token: 't' },
    });
  });

  it('is a client certificate, or both', () => {
    const pair = { clientCertificateData: 'cert', clientKeyData: 'key' };
    assert.deepEqual(
      readExecCredential(answer(pair), V1, NOW), { credentials: { certificate: 'cert', key: 'key' } },
    );
    assert.deepEqual(
      readExecCredential(answer({ ...pair, token: 't' }), V1, NOW),
      { credentials: { token: 't', certificate: 'cert', key: 'key' } },
    );
  });

  const wrong: Record<string, readonly [output: string, why: RegExp]> = {
    'nothing': ['', /no ExecCredential/],
    'garbage': [`${CANARY} \u0000\u0001`, /no ExecCredential/],
    'a list': ['[]', /no ExecCredential/],
    'something after it': [`${answer({ token: CANARY })} ${CANARY}`, /no ExecCredential/],
    'another kind': [JSON.stringify({ apiVersion: V1, kind: CANARY, status: { token: 't' } }), /no ExecCredential/],
    'another version': [answer({ token: CANARY }, { apiVersion: BETA }), /not of client\.authentication\.k8s\.io\/v1$/],
    'no status': [answer(undefined), /without a status/],
    'an empty status': [answer({}), /neither a token nor/],
    'an empty token': [answer({ token: '' }), /not a string/],
    'a token that is a number': [answer({ token: 7 }), /not a string/],
    'a token with a line break': [answer({ token: `${CANARY}\r\nhost: x` }), /characters that no token has/],
    'a certificate without its key': [answer({ token: 't', clientCertificateData: CANARY }), /only one of/],
    'a key without its certificate': [answer({ clientKeyData: CANARY }), /only one of/],
    'a time that is none': [answer({ token: CANARY, expirationTimestamp: CANARY }), /not a time/],
    'a time that is a number': [answer({ token: CANARY, expirationTimestamp: 1 }), /not a time/],
    'a time that is over': [answer({ token: CANARY, expirationTimestamp: '2026-11-25T12:00:00Z' }), /expired already/],
  };
  for (const [what, [output, why]] of Object.entries(wrong)) {
    it(`is not ${what}, and none of it is repeated`, () => {
      const problem = readExecCredential(output, V1, NOW);
      assert.ok(typeof problem === 'string');
      assert.match(problem, why);
      assert.doesNotMatch(problem, new RegExp(CANARY));
    });
  }

  it('is never repeated, whatever it is', () => {
    fc.assert(fc.property(fc.json(), fc.string({ minLength: 12 }), (json, text) => {
      for (const output of [json, text, answer({ token: 1, other: text })]) {
        const read = readExecCredential(output, V1, NOW);
        if (typeof read === 'string') assert.ok(!read.includes(text) && !read.includes(output.padEnd(12, '\u0000')));
      }
    }));
  });
});
