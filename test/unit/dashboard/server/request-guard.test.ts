import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  judge, SECURITY_HEADERS, type GuardedRequest, type Guarded,
} from '../../../../dashboard/server/request-guard.ts';

const PORT = 8470;
const TOKEN = 'the-token';
const HERE: Guarded = { scheme: 'http', hosts: [`127.0.0.1:${PORT}`, `localhost:${PORT}`] };
const IN_CLUSTER: Guarded = { scheme: 'https', hosts: ['localhost', 'pages.example.com'] };

const OWN: GuardedRequest = {
  method: 'GET', path: '/api/screens/targets', host: `127.0.0.1:${PORT}`, origin: undefined, fetchSite: 'same-origin',
  fetchDest: 'empty', authorization: `Bearer ${TOKEN}`,
};
const PAGE: GuardedRequest =
  { ...OWN, path: '/targets', fetchSite: 'none', fetchDest: 'document', authorization: undefined };
const REDEEM: GuardedRequest =
  { ...OWN, method: 'POST', path: '/session', origin: `http://127.0.0.1:${PORT}`, authorization: undefined };

const ACT: GuardedRequest =
  { ...OWN, method: 'POST', path: '/api/actions/cordon', origin: `http://127.0.0.1:${PORT}` };

function verdict(request: GuardedRequest, guarded = HERE): string | number {
  const judgement = judge(request, guarded);
  return judgement.kind === 'refused' ? judgement.status : judgement.kind;
}

describe('requests of the page itself', () => {
  for (const [what, request, expected] of [
    ['data with the token', OWN, 'data'],
    ['data as localhost', { ...OWN, host: `localhost:${PORT}`, origin: `http://localhost:${PORT}` }, 'data'],
    ['data of a program without Fetch Metadata', { ...OWN, fetchSite: undefined, fetchDest: undefined }, 'data'],
    ['a document that was typed', PAGE, 'page'],
    ['a document that another site links to: it holds nothing', { ...PAGE, fetchSite: 'cross-site' }, 'page'],
    ['the exchange of the key', REDEEM, 'redeem'],
    ['an action with the token', ACT, 'action'],
  ] as const) it(`let through ${what}`, () => assert.equal(verdict(request), expected));

  it('hand on the token that is still to be looked at', () => {
    assert.deepEqual(judge(OWN, HERE), { kind: 'data', token: TOKEN });
  });
});

describe('requests to a page in a cluster', () => {
  const asked = (host: string, origin: string): GuardedRequest => ({ ...REDEEM, host, origin });
  for (const [what, request, expected] of [
    ['its own name', asked('pages.example.com', 'https://pages.example.com'), 'redeem'],
    ['its own name at another port, as a proxy has it', asked('localhost:8443', 'https://localhost:8443'), 'redeem'],
    ['another name', asked('evil.example', 'https://evil.example'), 421],
    ['a name that ends like its own', asked('evil-pages.example.com', 'https://evil-pages.example.com'), 421],
    ['its own name without TLS', asked('pages.example.com', 'http://pages.example.com'), 403],
    ['its own name from another port', asked('localhost:8443', 'https://localhost:3000'), 403],
    ['no port after a colon', asked('localhost:', 'https://localhost:'), 421],
  ] as const) it(`are judged by ${what}`, () => assert.equal(verdict(request, IN_CLUSTER), expected));
});

describe('requests that strangers make a browser send', () => {
  for (const [what, request, expected] of [
    ['DNS rebinding: another name for this address', { ...OWN, host: `evil.example:${PORT}` }, 421],
    ['DNS rebinding of the document', { ...PAGE, host: `evil.example:${PORT}` }, 421],
    ['a name that begins like ours', { ...OWN, host: `127.0.0.1.evil.example:${PORT}` }, 421],
    ['no name', { ...OWN, host: undefined }, 421],
    ['another port', { ...OWN, host: '127.0.0.1:1' }, 421],
    ['CSRF from another site', { ...OWN, origin: 'https://evil.example' }, 403],
    ['CSRF from another port of this machine', { ...OWN, origin: 'http://127.0.0.1:3000' }, 403],
    ['CSRF from our other name', { ...OWN, origin: `http://localhost:${PORT}` }, 403],
    ['a sandboxed document', { ...OWN, origin: 'null' }, 403],
    ['another site without an origin', { ...OWN, fetchSite: 'cross-site' }, 403],
    ['another port without an origin', { ...OWN, fetchSite: 'same-site' }, 403],
    ['a frame', { ...PAGE, fetchDest: 'iframe' }, 403],
    ['an object', { ...PAGE, fetchDest: 'object' }, 403],
    ['an exchange without an origin', { ...REDEEM, origin: undefined }, 403],
    ['an exchange from another site', { ...REDEEM, origin: 'https://evil.example' }, 403],
    ['an exchange by GET', { ...REDEEM, method: 'GET' }, 405],
    ['no token', { ...OWN, authorization: undefined }, 401],
    ['the token as a password', { ...OWN, authorization: `Basic ${TOKEN}` }, 401],
    ['a write', { ...OWN, method: 'POST' }, 405],
    ['an action without the token', { ...ACT, authorization: undefined }, 401],
    ['an action without an origin, as browsers never send one', { ...ACT, origin: undefined }, 403],
    ['an action from another site', { ...ACT, origin: 'https://evil.example' }, 403],
    ['an action from another port of this machine', { ...ACT, origin: 'http://127.0.0.1:3000' }, 403],
    ['an action by GET, as a link or an image is', { ...ACT, method: 'GET' }, 405],
    ['an action under another name', { ...ACT, host: 'evil.example' }, 421],
    ['a write to a document', { ...PAGE, method: 'DELETE' }, 405],
  ] as const) it(`refuse ${what}`, () => assert.equal(verdict(request), expected));

  it('never give or do anything without a token, whatever else they carry', () => {
    const own = fc.constantFrom(...Object.values(OWN).map(String));
    const text = fc.option(fc.oneof(fc.string(), own), { nil: undefined });
    fc.assert(fc.property(
      fc.record({
        method: fc.constantFrom('GET', 'POST', 'PUT', 'HEAD'),
        path: fc.constantFrom('/api/screens/pods', '/api/actions/drain', '/api/', '/session', '/'),
        host: text, origin: text, fetchSite: text, fetchDest: text,
        authorization: text.filter((given) => given?.startsWith('Bearer ') !== true),
      }),
      (request) => assert.ok(!['data', 'action'].includes(String(verdict(request)))),
    ));
  });
});

describe('the headers of every answer', () => {
  it('load nothing from elsewhere, run no script in a document, and keep frames away', () => {
    const policy = new Map((SECURITY_HEADERS['content-security-policy'] ?? '').split('; ').map((part) => {
      const [name = '', ...values] = part.split(' ');
      return [name, values.join(' ')] as const;
    }));
    assert.equal(policy.get('default-src'), "'none'");
    assert.equal(policy.get('frame-ancestors'), "'none'");
    assert.equal(policy.get('require-trusted-types-for'), "'script'");
    for (const [name, values] of policy) {
      assert.ok(!/unsafe|\*|https?:|data:/.test(values), `${name} ${values}`);
    }
    assert.equal(SECURITY_HEADERS['x-frame-options'], 'DENY');
    assert.equal(SECURITY_HEADERS['x-content-type-options'], 'nosniff');
  });
});
