import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnyScreen } from '../../../../dashboard/wire/screens.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { AppError } from '../../../../process/errors.ts';
import { sampleScreens } from '../../../support/page/sample-screens.ts';
import {
  openScreen, signIn, startScriptedPage, startViewedPage, type ScriptedPage,
} from '../../../support/page/scripted-screens.ts';

const TIMES = { gather: 5, heartbeat: 20, stuck: 100 };
const screenOf = (total: number): AnyScreen => ({ screen: 'pods', rows: [], total, targets: [], unreadable: [] });

describe('the page server', () => {
  let page: ScriptedPage;
  let token: string;

  before(async () => void ({ page, token } = await startViewedPage(TIMES)));
  after(() => page.server.close());

  const headersOf = (more: Readonly<Record<string, string>> = {}) => ({ authorization: `Bearer ${token}`, ...more });

  /** Node's own client sets any Host, as a browser does after DNS rebinding. */
  async function asked(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const sent = request({ host: '127.0.0.1', port: page.server.port, path, headers, agent: false }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return answer.resume();
  }

  it('gives the same document for every address, with nothing of a cluster or a secret in it', async () => {
    const texts = await Promise.all(['/', '/pods?namespace=shop', '/pods/shop/web', '/pending'].map(async (path) => {
      const answer = await fetch(page.origin + path);
      assert.equal(answer.status, 200);
      return answer.text();
    }));
    assert.equal(new Set(texts).size, 1);
    assert.ok(!texts[0]?.includes(token) && !texts[0]?.includes(page.key));
    assert.equal((await fetch(`${page.origin}/nothing`)).status, 404);
  });

  it('has the security headers on every answer, refusals included', async () => {
    for (const path of [
      '/', '/nothing', '/assets/style.css', '/assets/nothing', '/api/screens/targets', '/api/nothing',
    ]) {
      const answer = await fetch(page.origin + path);
      assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
      assert.equal(answer.headers.get('x-frame-options'), 'DENY', path);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(answer.headers.get('access-control-allow-origin'), null, path);
      await answer.body?.cancel();
    }
    const stream = await openScreen(page, token, '/targets');
    assert.match(stream.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    stream.end();
  });

  it('exchanges the key once', async () => {
    const { key: body, origin } = page;
    const again = await fetch(`${origin}/session`, { method: 'POST', body, headers: { origin } });
    assert.equal(again.status, 401);
    assert.ok(!(await again.text()).includes(token));
  });

  it('reads no more of a key than a key is long', async () => {
    const answer = await fetch(
      `${page.origin}/session`, { method: 'POST', body: 'k'.repeat(100_000), headers: { origin: page.origin } },
    );
    assert.equal(answer.status, 413);
  });

  for (const [what, headers, status] of [
    ['DNS rebinding', { host: 'evil.example' }, 421],
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['no token', { authorization: '' }, 401],
    ['a wrong token', { authorization: 'Bearer nope' }, 401],
  ] as const) {
    it(`sends nothing to ${what}, though all else is right`, async () => {
      const opened = page.screens.opened.length;
      const own = headersOf({ host: `127.0.0.1:${page.server.port}` });
      assert.equal((await asked('/api/screens/targets', { ...own, ...headers })).statusCode, status);
      assert.equal((await asked('/api/logs/shop/web/web', { ...own, ...headers })).statusCode, status);
      assert.equal(page.screens.opened.length, opened, 'a screen was opened');
    });
  }

  it('serves the files of the page and no others', async () => {
    for (const path of ['style.css', 'icon.svg', 'dashboard/browser/main.js', 'dashboard/wire/routes.js']) {
      const answer = await fetch(`${page.origin}/assets/${path}`);
      assert.equal(answer.status, 200, path);
      assert.ok((await answer.text()).length > 100, path);
    }
    for (const path of [
      'dashboard/ui-command.js', 'dashboard/server/session.js', '../package.json', '..%2f..%2fpackage.json',
      'dashboard/browser/..%2fui-command.js', '%2e%2e/%2e%2e/package.json',
    ]) assert.equal((await fetch(`${page.origin}/assets/${path}`)).status, 404, path);
  });

  it('sends a screen, and each change of it as a whole', async () => {
    const stream = await openScreen(page, token, '/pods');
    await stream.until((screen) => screen.screen === 'pods' && screen.total > 1);
    page.screens.show('/pods', screenOf(7));
    await stream.until((screen) => screen.screen === 'pods' && screen.total === 7);
    stream.end();
    await page.screens.opens(0);
  });

  it('does not repeat what the page has', async () => {
    const first = await openScreen(page, token, '/targets');
    await first.until(() => true);
    first.end();
    const again = await openScreen(page, token, '/targets', { 'last-event-id': first.lastId });
    await again.heartbeats(2);
    assert.equal(again.received, 0);
    again.end();
  });

  it('sends a change at once, and holds back only those that follow soon', async () => {
    const slow = await startScriptedPage({ ...TIMES, gather: 2 ** 31 - 1 });
    slow.screens.show('/pods', screenOf(1));
    const stream = await openScreen(slow, await signIn(slow), '/pods');
    await stream.until((screen) => screen.screen === 'pods' && screen.total === 1);
    slow.screens.show('/pods', screenOf(2));
    await stream.until((screen) => screen.screen === 'pods' && screen.total === 2);
    slow.screens.show('/pods', screenOf(3));
    await stream.heartbeats(3);
    assert.equal(stream.received, 2);
    stream.end();
    await slow.server.close();
  });

  it('sends several changes at once as one', async () => {
    const stream = await openScreen(page, token, '/pods');
    await stream.until(() => true);
    const { received } = stream;
    for (let total = 1_000; total < 1_100; total += 1) page.screens.show('/pods', screenOf(total));
    await stream.until((screen) => screen.screen === 'pods' && screen.total === 1_099);
    assert.ok(stream.received - received < 10, `${stream.received - received} snapshots for 100 changes`);
    stream.end();
  });

  it('disconnects a client that reads nothing, and gives up what it looked at', async () => {
    await page.screens.opens(0);
    const socket = connect(page.server.port, '127.0.0.1').pause();
    const closed = once(socket, 'close');
    socket.on('error', () => undefined);
    socket.write(
      `GET /api/screens/pods HTTP/1.1\r\nhost: 127.0.0.1:${page.server.port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    await page.screens.opens(1);
    const filler = 'x'.repeat(1_000_000);
    for (let turn = 0; page.screens.openNow > 0; turn += 1) {
      page.screens.show('/pods', { screen: 'pods', rows: [], total: turn, targets: [filler], unreadable: [] });
      await nextTurn();
    }
    socket.resume();
    await closed;
    page.screens.show('/pods', screenOf(1));
  });

  it('opens no more than 32 screens, whoever asks for a thousand, and more when some are closed', async () => {
    const streams = await Promise.all(Array.from({ length: 32 }, () => openScreen(page, token, '/targets')));
    for (let refused = 0; refused < 200; refused += 1) {
      const answer = await fetch(`${page.origin}/api/screens/targets`, { headers: headersOf() });
      assert.equal(answer.status, 429);
      assert.match(await answer.text(), /Close some tabs/);
    }
    assert.equal(page.screens.openNow, 32);
    for (const stream of streams) stream.end();
    await page.screens.opens(0);
    const next = await openScreen(page, token, '/targets');
    await next.until(() => true);
    next.end();
  });

  it('gives the log of a container as plain text, and of nothing else', async () => {
    page.screens.logText = '<script>alert(1)</script>';
    const answer = await fetch(`${page.origin}/api/logs/shop/web-1/web`, { headers: headersOf() });
    assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(await answer.text(), '<script>alert(1)</script>');
    for (const path of ['Shop/web-1/web', 'shop/..%2f..%2fsecrets/web', 'shop/web-1']) {
      assert.equal((await fetch(`${page.origin}/api/logs/${path}`, { headers: headersOf() })).status, 404, path);
    }
  });

  it('writes nothing: there is no way to post but the key and actions', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await fetch(`${page.origin}/api/screens/targets`, { method, headers: headersOf() });
      assert.equal(answer.status, 405, method);
    }
  });

  describe('asked to act', () => {
    const act = (kind: string, target: string, headers = headersOf({ origin: page.origin })) =>
      post(kind, JSON.stringify({ target }), headers);
    const post = async (kind: string, body: string, headers = headersOf({ origin: page.origin })) => {
      const answer = await fetch(`${page.origin}/api/actions/${kind}`, { method: 'POST', body, headers });
      return [answer.status, ((await answer.json()) as { readonly message: string }).message] as const;
    };

    it('does what the page asks for, once, and tells what was done', async () => {
      assert.deepEqual(await act('cordon', 'eu-west'), [200, 'Done: cordon eu-west.']);
      assert.deepEqual(await act('drain', 'shop/asia'), [200, 'Done: drain shop/asia.']);
      assert.deepEqual(page.screens.acted.splice(0), [
        { kind: 'cordon', target: 'eu-west' }, { kind: 'drain', target: 'shop/asia' },
      ]);
    });

    it('moves pods and approves clusters', async () => {
      const long = 'x'.repeat(253);
      for (const action of [
        { kind: 'move', namespace: 'shop', name: long, target: 'eu-west' },
        { kind: 'approve', discovery: 'argo', cluster: 'Büro "1"', entry: 'Secret argocd/buero' },
        { kind: 'approve', discovery: 'argo', cluster: 'eu', entry: 'x'.repeat(800), clusterId: 'uid-1' },
      ] as const) {
        const { kind, ...fields } = action;
        assert.equal((await post(kind, JSON.stringify(fields)))[0], 200);
        assert.deepEqual(page.screens.acted.splice(0), [action]);
      }
    });

    it('does two things at a time and refuses more, until one has ended', async () => {
      const [first, second] = [page.screens.holdAct(), page.screens.holdAct()];
      const held = [act('drain', 'eu-west'), act('drain', 'asia')];
      await Promise.all([first.begun, second.begun]);
      const [status, message] = await act('cordon', 'us-east');
      assert.equal(status, 429);
      assert.match(message, /^2 of your actions are in progress\. Wait until one has ended/);
      first.end();
      await Promise.race(held);
      assert.deepEqual(await act('cordon', 'us-east'), [200, 'Done: cordon us-east.']);
      second.end();
      assert.deepEqual((await Promise.all(held)).map(([code]) => code), [200, 200]);
      assert.equal(page.screens.acted.splice(0).length, 3);
    });

    it('counts no action that has failed', async () => {
      page.screens.actRefusal = new AppError('NotFound', 'no such target');
      for (let failed = 0; failed < 5; failed += 1) assert.equal((await act('cordon', 'eu'))[0], 404);
      [page.screens.actRefusal] = [undefined, page.screens.acted.splice(0)];
      assert.equal((await act('cordon', 'eu'))[0], 200);
      page.screens.acted.splice(0);
    });

    it('takes no body that is not that of the action', async () => {
      const bodies = ['eu-west', '', '{}', '[]', 'null', '{"target":1}', '{"target":""}', '{"target":"a","x":"b"}'];
      for (const body of bodies) {
        assert.equal((await post('cordon', body))[0], 400, body);
      }
      assert.equal((await post('move', '{"namespace":"shop","name":"web"}'))[0], 400);
      assert.equal((await post('cordon', JSON.stringify({ target: 'x'.repeat(5_000) })))[0], 413);
      assert.deepEqual(page.screens.acted, []);
    });

    it('does nothing else, and nothing for another site', async () => {
      for (const kind of ['delete', 'cordon/', '', '..%2fcordon', 'constructor']) {
        assert.equal((await act(kind, 'eu-west'))[0], 404, kind);
      }
      assert.equal((await act('cordon', 'eu-west', headersOf({ origin: 'https://evil.example' })))[0], 403);
      assert.equal((await act('cordon', 'eu-west', headersOf()))[0], 403);
      assert.equal((await act('cordon', 'eu-west', { origin: page.origin } as never))[0], 401);
      assert.deepEqual(page.screens.acted, []);
    });

    for (const [error, status] of [
      [new ApiError(403, 'Forbidden', 'User "ann" cannot patch nodes'), 403],
      [new ApiError(500, 'InternalError', 'etcd is away'), 502],
      [new AppError('BadInput', 'no such name'), 400], [new AppError('NotFound', 'no such target'), 404],
      [new AppError('Timeout', 'pods have not gone'), 504],
    ] as const) {
      it(`tells why nothing was done: ${error.message}`, async () => {
        page.screens.actRefusal = error;
        assert.deepEqual(await act('cordon', 'eu-west'), [status, error.message]);
        [page.screens.actRefusal] = [undefined, page.screens.acted.splice(0)];
      });
    }
  });

  it('closes every stream when it ends', async () => {
    const other = await startScriptedPage(TIMES);
    other.screens.show('/targets', sampleScreens().get('/targets') as AnyScreen);
    const stream = await openScreen(other, await signIn(other), '/targets');
    await stream.until(() => true);
    await other.server.close();
    await stream.ended;
    assert.equal(other.screens.openNow, 0);
  });
});
