import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { EventStream } from '../../../../dashboard/server/event-stream.ts';
import type { OpenScreen } from '../../../../dashboard/wire/screen-source.ts';

describe('a screen that cannot be made', () => {
  it('ends its stream, and nothing else', async () => {
    let fail = (): void => undefined;
    let isBroken = false;
    const steps = new EventEmitter();
    const closed = once(steps, 'closed');
    const screen = {
      current: () => {
        if (isBroken) throw new TypeError('what a stranger has written');
        return { screen: 'pod' };
      },
      onChange: (listener: () => void) => void (fail = listener),
      close: () => void steps.emit('closed'),
    } as unknown as OpenScreen;
    const server = createServer((_request, answer) => new EventStream(answer, screen, '').open({}));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [answer] = (await once(get(`http://127.0.0.1:${port}`), 'response')) as [IncomingMessage];
    assert.match(String((await once(answer, 'data'))[0]), /"screen":"pod"/);
    answer.on('error', () => undefined); // it is cut off
    isBroken = true;
    fail();
    await closed;
    server.close();
    await once(server, 'close');
  });
});
