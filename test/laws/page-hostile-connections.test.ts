// Attacks on the page's server by other programs of the machine, and by a viewer's own tabs gone wild: what is refused
// costs the viewer nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { AnyScreen } from '../../dashboard/wire/screens.ts';
import { openScreen, startViewedPage, type ScriptedPage } from '../support/page/scripted-screens.ts';

const TIMES = { gather: 5, heartbeat: 20, stuck: 30_000 };
const MANY = 1_000;
const MOST_SCREENS = 32;

describe('the page server under attack', () => {
  let page: ScriptedPage;
  let token: string;

  before(async () => void ({ page, token } = await startViewedPage(TIMES)));
  after(() => page.server.close());

  /** A connection that has sent these bytes; `ended` resolves to what was answered before it was closed. */
  function attacker(bytes: string): { readonly socket: Socket; readonly ended: Promise<string> } {
    const socket = connect(page.server.port, '127.0.0.1');
    const parts: Buffer[] = [];
    socket.on('data', (part) => void parts.push(part));
    socket.on('error', () => undefined); // a connection that was refused ends with one
    socket.write(bytes);
    return { socket, ended: new Promise((resolve) => {
      socket.once('close', () => resolve(Buffer.concat(parts).toString('latin1')));
    }) };
  }

  const requestFor = (path: string, bearer: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${page.server.port}\r\nauthorization: Bearer ${bearer}\r\n\r\n`;

  /** The viewer gets a screen; waits for their turn as a browser does. */
  async function viewerIsServed(): Promise<void> {
    for (;;) {
      const stream = await openScreen(page, token, '/targets').catch(() => undefined);
      if (stream === undefined) continue;
      await stream.until(({ screen }) => screen === 'targets');
      stream.end();
      return;
    }
  }

  it('serves the viewer after a thousand connections that say nothing', async () => {
    const attackers = Array.from({ length: MANY }, () => attacker(''));
    await viewerIsServed();
    for (const { socket } of attackers) socket.destroy();
  });

  it('serves the viewer after a thousand requests that never end', async () => {
    const unfinished = `GET /api/screens/targets HTTP/1.1\r\nhost: 127.0.0.1:${page.server.port}\r\nx-slow: `;
    const attackers = Array.from({ length: MANY }, () => attacker(unfinished));
    await viewerIsServed();
    assert.ok(page.screens.openNow <= 1, 'an attacker without a token looks at nothing');
    for (const { socket } of attackers) socket.destroy();
    await page.screens.opens(0);
  });

  it('opens 32 screens of a thousand that are asked for at once, and none without the token', async () => {
    const guessers = Array.from({ length: MANY / 2 }, () => attacker(requestFor('/api/screens/pods', 'guessed')));
    const tabs = Array.from({ length: MANY / 2 }, () => attacker(requestFor('/api/screens/pods', token)));
    const answers = await Promise.all(guessers.map(({ ended }) => ended));
    assert.ok(answers.every((answer) => answer === '' || answer.startsWith('HTTP/1.1 401 ')));
    assert.ok(page.screens.openNow <= MOST_SCREENS);
    for (const { socket } of tabs) socket.destroy();
    await Promise.all(tabs.map(({ ended }) => ended));
    await page.screens.opens(0);
    await viewerIsServed();
  });

  it('opens and closes a thousand screens one after the other, and keeps none of them', async () => {
    for (let opened = 0; opened < MANY; opened += 1) {
      const { socket } = attacker(requestFor('/api/screens/pods', token));
      await once(socket, 'data');
      socket.destroy();
      if (opened % MOST_SCREENS === MOST_SCREENS - 1) await page.screens.opens(0);
    }
    await page.screens.opens(0);
  });

  it('sends a slow client the last state and not all that it has missed', async () => {
    const stream = attacker(requestFor('/api/screens/pods', token));
    await page.screens.opens(1);
    stream.socket.pause();
    const filler = 'x'.repeat(1_000_000);
    const screenOf = (total: number): AnyScreen =>
      ({ screen: 'pods', rows: [], total, targets: [filler], unreadable: [] });
    const follower = await openScreen(page, token, '/pods');
    for (let total = 1; total <= 100; total += 1) {
      page.screens.show('/pods', screenOf(total));
      await follower.until((screen) => screen.screen === 'pods' && screen.total === total);
    }
    follower.end();
    let [text, seen] = ['', [] as number[]];
    stream.socket.on('data', (part) => {
      text += part.toString('latin1');
      seen = [...text.matchAll(/"total":(\d+)/g)].map(([, total]) => Number(total));
      if (seen.at(-1) === 100) stream.socket.destroy();
    });
    stream.socket.resume();
    await stream.ended;
    assert.equal(seen.at(-1), 100);
    assert.ok(seen.length < 50, `${seen.length} of 100 snapshots were kept for it`);
  });

  for (const [what, bytes, status] of [
    ['another host before ours', 'GET / HTTP/1.1\r\nhost: evil.example\r\nhost: 127.0.0.1:PORT\r\n\r\n', 421],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['an address of another host', 'GET http://evil.example/targets HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\n\r\n', 404],
    ['a proxy request', 'CONNECT evil.example:443 HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\n\r\n', ''],
    ['an upgrade', 'GET /api/screens/targets HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\nconnection: upgrade\r\n' +
      'upgrade: websocket\r\n\r\n', 401],
    ['a body of two lengths', 'POST /session HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\norigin: http://127.0.0.1:PORT\r\n' +
      'content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    it(`answers ${what} with ${status === '' ? 'nothing' : status}`, async () => {
      const { socket, ended } = attacker(bytes.replaceAll('PORT', String(page.server.port)));
      const closing = once(socket, 'end').then(() => socket.end(), () => undefined);
      socket.on('data', () => socket.end());
      const answer = await ended;
      await closing;
      assert.equal(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? '', String(status), answer);
    });
  }
});
