// What the end of a command looks like for every kind of error: a sentence, a code, no error numbers.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { errorText } from '../../../../cli/output/error-text.ts';
import { ApiError, DeadlineError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { AppError } from '../../../../process/errors.ts';

const coded = (code: string, message = code) => Object.assign(new Error(message), { code });
const unreachable = (cause: unknown) => new UnreachableError('GET h:1/version: words', { cause, server: 'h:1' });
function thrown(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

const rows: readonly (readonly [what: string, error: unknown, text: string])[] = [
  ['an error of ours', new AppError('NotFound', 'There is none.'), 'error (NotFound): There is none.'],
  [
    'an answer of an API server', new ApiError(409, 'Conflict', 'it was changed'),
    'error from server (Conflict): it was changed',
  ],
  [
    'credentials that are not accepted', new ApiError(401, 'Unauthorized', 'Unauthorized'),
    'error from server (Unauthorized): it does not accept the credentials of the kubeconfig. Log in again, or name ' +
      'another kubeconfig.',
  ],
  [
    'a kind that is not served', new ApiError(404, '', '404 page not found'),
    'error from server (NotFound): it does not serve this kind. Run "isthmus install" first, or name another cluster.',
  ],
  [
    'a page of a proxy', new ApiError(502, '', '<html>'),
    'error from server (HTTP 502): it does not answer as a Kubernetes API server does. Compare the server in the ' +
      'kubeconfig.',
  ],
  [
    'a port nobody listens at', unreachable(coded('ECONNREFUSED')),
    'error (Unreachable): the connection to the server h:1 was refused. Does it run, and are host and port right?',
  ],
  [
    'several addresses nobody listens at',
    unreachable(new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])),
    'error (Unreachable): the connection to the server h:1 was refused. Does it run, and are host and port right?',
  ],
  [
    'a name that does not exist', unreachable(coded('ENOTFOUND', 'getaddrinfo ENOTFOUND h')),
    'error (Unreachable): unable to connect to the server h:1: no such host.',
  ],
  [
    'a server that is silent', unreachable(new DeadlineError(30_000)),
    'error (Unreachable): the server h:1 gives no answer within 30 s.',
  ],
  [
    'a certificate of somebody else', unreachable(coded('SELF_SIGNED_CERT_IN_CHAIN')),
    'error (Unreachable): the certificate of the server h:1 cannot be verified: it was signed by an unknown ' +
      'authority; does certificate-authority-data of the kubeconfig belong to this server?',
  ],
  [
    'a server without TLS', unreachable(coded('ERR_SSL_WRONG_VERSION_NUMBER')),
    'error (Unreachable): the server h:1 does not speak TLS. Are host and port right?',
  ],
  [
    'an answer that is no JSON', unreachable(new SyntaxError('Unexpected token <')),
    'error (Unreachable): h:1 does not answer as a Kubernetes API server does. Compare the server in the kubeconfig.',
  ],
  [
    'a server that a tenant named', new UnreachableError('it cannot be reached'),
    'error (Unreachable): it cannot be reached',
  ],
  [
    'a full disk', thrown(() => writeFileSync('/dev/full', 'x')),
    'error (OutputFailed): the output cannot be written: no space left on device.',
  ],
  [
    'a folder where a file is to be', thrown(() => writeFileSync('/', 'x')),
    'error (BadInput): / cannot be used: it is a directory.',
  ],
  [
    'a file that is not there', thrown(() => readFileSync('/nowhere/x')),
    'error (BadInput): /nowhere/x cannot be used: no such file or directory.',
  ],
  [
    'a port that is taken',
    Object.assign(new Error('listen EADDRINUSE'), {
      code: 'EADDRINUSE', errno: -98, syscall: 'listen', address: '127.0.0.1', port: 80,
    }),
    'error (StartFailed): 127.0.0.1:80 cannot be listened on: address already in use.',
  ],
  ['a bug', new TypeError('x is undefined'), 'unexpected error: x is undefined'],
];

describe('errorText', () => {
  for (const [what, error, text] of rows) {
    it(`tells of ${what}`, () => {
      assert.equal(errorText(error), text);
      assert.doesNotMatch(errorText(error), /\bE[A-Z]{4,}\b|ERR_|\n/);
    });
  }
});
