import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import { ClusterViewers } from '../../../dashboard/cluster-viewers.ts';
import { Simulations } from '../../../dashboard/observe/simulations.ts';
import { SignInRefused } from '../../../dashboard/server/page-access.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { AppError } from '../../../process/errors.ts';
import { ScriptedApiServer, SILENT, status, type Exchange } from '../../support/doubles/scripted-api-server.ts';

const REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const known = (username: string) => ({ metadata: {}, status: { userInfo: { username } } });
const KNOWN = known('ann');

describe('the viewers of a page in a cluster', () => {
  let server: ScriptedApiServer;
  let viewers: ClusterViewers;
  let ended: AbortController;
  const logged: string[] = [];
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    ended = new AbortController();
    viewers = new ClusterViewers({
      open: async (token) => new ClusterClient(
        new Transport(server.connection({ kind: 'token', token }), 'isthmus-ui'),
      ),
      signal: ended.signal, reviewMs: 1,
      logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    });
    logged.length = 0;
  });
  afterEach(async () => {
    ended.abort();
    await server.stop();
    await viewers.close();
  });

  async function asked(path = REVIEW): Promise<Exchange> {
    for (;;) {
      const exchange = await server.next();
      if (exchange.path === path) return exchange;
    }
  }

  /** By default each token is that of another user. */
  async function signedIn(token: string, user = token) {
    const admitted = viewers.viewerOf(token);
    (await asked()).answer(201, known(user));
    const viewer = await admitted;
    assert.ok(viewer !== undefined);
    return viewer;
  }

  it('are those whose tokens the API server knows: it is asked with the token, once', async () => {
    const redeemed = viewers.redeem('ann-token');
    const review = await asked();
    assert.equal(review.headers.authorization, 'Bearer ann-token');
    assert.deepEqual(
      Object.keys(review.headers).filter((name) => /^(?:impersonate|x-)/.test(name)), [], 'nothing else says who it is',
    );
    review.answer(201, KNOWN);
    assert.equal(await redeemed, 'ann-token');
    const [one, other] = await Promise.all([viewers.viewerOf('ann-token'), viewers.viewerOf('ann-token')]);
    assert.ok(one !== undefined && one === other);
    assert.equal(server.requests, 1);
  });

  it('share one queue of simulations, in which each user has turns of their own', async (test) => {
    const of = test.mock.method(Simulations.prototype, 'of');
    await signedIn('ann-token', 'ann');
    await signedIn('ann-second-token', 'ann');
    await signedIn('bob-token', 'bob');
    const calls = of.mock.calls.map((call) => ({ queue: call.this, viewer: call.arguments[0] }));
    assert.deepEqual(calls.map(({ viewer }) => viewer), ['ann', 'ann', 'bob']);
    assert.equal(new Set(calls.map(({ queue }) => queue)).size, 1, 'they share one thread');
  });

  it('do not share screens', async () => {
    assert.notEqual((await signedIn('ann-token')).screens, (await signedIn('bob-token')).screens);
  });

  it('are checked once, however often they ask at the same time', async () => {
    const both = Promise.all([viewers.viewerOf('ann-token'), viewers.viewerOf('ann-token')]);
    (await asked()).answer(201, KNOWN);
    const [one, other] = await both;
    assert.equal(one, other);
    assert.equal(server.requests, 1);
  });

  for (const [what, code, body] of [
    ['a token that is not known', 401, status(401, 'Unauthorized', 'Unauthorized')],
    ['nobody', 201, { metadata: {}, status: { userInfo: { username: 'system:anonymous' } } }],
    ['an answer without a name', 201, { metadata: {} }],
  ] as const) {
    it(`are not ${what}`, async () => {
      const admitted = viewers.viewerOf('some-token');
      (await asked()).answer(code, body);
      assert.equal(await admitted, undefined);
    });
  }

  it('do not have tokens that are none, and nobody is asked about those', async () => {
    for (const text of ['', ' ', 'two words', 'a\r\nimpersonate-user: admin', 'ü', 'x'.repeat(20_000), '==']) {
      assert.equal(await viewers.viewerOf(text), undefined, text.slice(0, 40));
    }
    assert.equal(server.requests, 0);
  });

  it('are told that they cannot be checked and no more, and the log why, once until it goes again', async () => {
    const fails = async (): Promise<void> => {
      const admitted = viewers.viewerOf('ann-token');
      (await asked()).answer(500, status(500, 'InternalError', 'etcd is away'));
      await assert.rejects(admitted, (error) => (
        error instanceof SignInRefused && error.statusCode === 503
          && error.message === 'Tokens cannot be checked now. Try again in a moment.'
      ));
    };
    await fails();
    await fails();
    assert.equal(logged.length, 1);
    assert.match(logged.join(), /etcd is away/);
    await signedIn('ann-token');
    await server.stop();
    await assert.rejects(async () => viewers.viewerOf('bob-token'), (error) => (
      error instanceof SignInRefused && !/[0-9]/.test(error.message)
    ));
    assert.match(logged[1] ?? '', /127\.0\.0\.1|ECONNREFUSED/);
  });

  it('are told no more of a kubeconfig that cannot be read', async () => {
    const broken = new ClusterViewers({
      open: () => Promise.reject(new AppError('KubeconfigInvalid', '/etc/secret/config is broken')),
      signal: ended.signal, logger: SILENT,
    });
    await assert.rejects(broken.redeem('ann-token'), (error) => (
      error instanceof SignInRefused && !error.message.includes('/etc')
    ));
  });

  it('are not checked more than 16 at a time', async () => {
    const admitted = Array.from({ length: 16 }, (_, index) => viewers.viewerOf(`token-${index}`));
    await assert.rejects(viewers.viewerOf('one-more'), (error) => (
      error instanceof SignInRefused && error.statusCode === 429
    ));
    for (let answered = 0; answered < 16; answered += 1) (await asked()).answer(201, known(`user-${answered}`));
    await Promise.all(admitted);
    await signedIn('one-more');
  });

  it('are no more than 32 who look, and those who do not give way', async () => {
    const looking = [];
    for (let index = 0; index < 31; index += 1) looking.push(await signedIn(`token-${index}`));
    const gone: number[] = [];
    looking.forEach((viewer, index) => viewer.onEnd(() => gone.push(index)));
    const idle = await signedIn('idle');
    const next = await signedIn('next');
    next.onEnd(() => undefined);
    idle.onEnd(() => gone.push(31));
    assert.deepEqual(gone, [31], 'the idle one has been signed out');
    const refused = viewers.viewerOf('one-more');
    (await asked()).answer(201, KNOWN);
    await assert.rejects(refused, (error) => error instanceof SignInRefused && error.statusCode === 429);
  });

  it('take four places as one user, and those of theirs who do not look give way', async () => {
    const gone: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      (await signedIn(`ann-${index}`, 'ann')).onEnd(() => void gone.push(index));
    }
    const refused = viewers.viewerOf('ann-5');
    (await asked()).answer(201, KNOWN);
    await assert.rejects(refused, (error) => (
      error instanceof SignInRefused && error.statusCode === 429 && error.message.startsWith('4 places')
    ));
    await signedIn('bob-token', 'bob');
    assert.equal(gone.length, 0);
    const idle = await signedIn('eve-0', 'eve');
    for (let index = 1; index < 5; index += 1) (await signedIn(`eve-${index}`, 'eve')).onEnd(() => undefined);
    idle.onEnd(() => void gone.push(-1));
    assert.deepEqual(gone, [-1], 'the one of theirs that nobody looked with has been signed out');
  });

  it('take sixteen places as ServiceAccounts of one namespace, whatever their names', async () => {
    const account = (namespace: string, index: number) => `system:serviceaccount:${namespace}:a-${index}`;
    for (let index = 0; index < 16; index += 1) {
      (await signedIn(`t-${index}`, account('shop', index))).onEnd(() => undefined);
    }
    const refused = viewers.viewerOf('one-more');
    (await asked()).answer(201, known(account('shop', 17)));
    await assert.rejects(refused, /ServiceAccounts of namespace shop/);
    await signedIn('other', account('blog', 1));
    await signedIn('person', 'ann');
  });

  it('are signed out, with what they look at, once the API server does not know their token any more', async () => {
    const viewer = await signedIn('ann-token');
    const signedOut = new Promise<void>((resolve) => {
      viewer.onEnd(resolve);
    });
    viewer.screens.open({ screen: 'targets', filters: {} });
    const review = await asked('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews');
    review.answer(401, status(401, 'Unauthorized', 'Unauthorized'));
    await signedOut;
    const again = viewers.viewerOf('ann-token');
    (await asked()).answer(401, status(401, 'Unauthorized', 'Unauthorized'));
    assert.equal(await again, undefined);
  });
});
