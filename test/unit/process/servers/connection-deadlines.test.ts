import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { keepDeadlines, type ConnectionDeadlines } from '../../../../process/servers/connection-deadlines.ts';

const DEADLINES: ConnectionDeadlines =
  { headers: 30, request: 50, unused: 1_200, unusedInCrowd: 60, unusedAtEnd: 40, crowd: 2, checkEvery: 60_000 };

/** A connection as the server sees it. */
class FakeSocket extends EventEmitter {
  bytesRead = 0;
  destroyed = false;
  readonly written: string[] = [];

  write(text: string): void {
    this.written.push(text);
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

class Scene {
  readonly server = new EventEmitter();
  #now = 0;
  readonly keeper = keepDeadlines(this.server, 'connection', DEADLINES, () => this.#now);

  open(): FakeSocket {
    const socket = new FakeSocket();
    this.server.emit('connection', socket);
    return socket;
  }

  /** The headers of a request have been read; gives what tells of its body and its answer. */
  headersOf(socket: FakeSocket, bytes: number): {
    readonly message: { complete: boolean }; readonly reply: EventEmitter
  } {
    socket.bytesRead += bytes;
    const message = { socket: socket as unknown as Socket, complete: false };
    const reply = new EventEmitter();
    this.server.emit('request', message, reply);
    return { message, reply };
  }

  /** Looks so many ms after the beginning. */
  look(ms: number): void {
    this.#now = ms;
    this.keeper.check();
  }
}

/** Opens a scene, and closes its server afterwards. */
function scene(act: (scene: Scene) => void): () => void {
  return () => {
    const made = new Scene();
    act(made);
    made.server.emit('close');
  };
}

const LATE = /^HTTP\/1\.1 408 /;

describe('deadlines of connections', () => {
  it('leave one alone that has sent nothing', scene((scene) => {
    const socket = scene.open();
    scene.look(1_000);
    assert.deepEqual([socket.destroyed, socket.written], [false, []]);
  }));

  it('end it without a word after a client would have', scene((scene) => {
    const socket = scene.open();
    scene.look(1_300);
    assert.deepEqual([socket.destroyed, socket.written], [true, []]);
  }));

  it('end it soon once the server is to close, at once when it has been silent for long', scene((scene) => {
    const old = scene.open();
    scene.look(100);
    const fresh = scene.open();
    const asking = scene.open();
    const { message } = scene.headersOf(asking, 10);
    message.complete = true;
    scene.keeper.end();
    assert.deepEqual([old, fresh, asking].map(({ destroyed }) => destroyed), [true, false, false]);
    scene.look(150);
    assert.deepEqual([old, fresh, asking].map(({ destroyed }) => destroyed), [true, true, false]);
    assert.deepEqual([...old.written, ...fresh.written], [], 'without a word');
  }));

  it('end it sooner in a crowd', scene((scene) => {
    const sockets = [scene.open(), scene.open(), scene.open()];
    scene.look(50);
    assert.deepEqual(sockets.map(({ destroyed }) => destroyed), [false, false, false]);
    scene.look(200);
    assert.deepEqual(sockets.map(({ destroyed }) => destroyed), [true, true, true]);
  }));

  it('count from the first byte of a request, however old the connection is', scene((scene) => {
    const socket = scene.open();
    scene.look(900);
    socket.bytesRead = 10;
    scene.look(1_000);
    scene.look(1_030);
    assert.ok(!socket.destroyed);
    scene.look(1_031);
    assert.ok(socket.destroyed);
    assert.match(socket.written[0] ?? '', LATE);
  }));

  it('give a body its time, and then end it', scene((scene) => {
    const socket = scene.open();
    scene.headersOf(socket, 100);
    scene.look(45);
    assert.ok(!socket.destroyed);
    scene.look(200);
    assert.ok(socket.destroyed);
  }));

  it('leave a request alone that is being answered', scene((scene) => {
    const socket = scene.open();
    const { message } = scene.headersOf(socket, 100);
    message.complete = true;
    scene.look(5_000);
    assert.ok(!socket.destroyed);
  }));

  it('leave one alone that has been answered, whose idleness is for the server to end', scene((scene) => {
    const socket = scene.open();
    const { message, reply } = scene.headersOf(socket, 100);
    message.complete = true;
    reply.emit('close');
    scene.look(5_000);
    assert.ok(!socket.destroyed);
  }));

  it('count a second request from its own first byte', scene((scene) => {
    const socket = scene.open();
    scene.headersOf(socket, 100).reply.emit('close');
    scene.look(5_000);
    socket.bytesRead += 1;
    scene.look(5_010);
    scene.look(5_040);
    assert.ok(!socket.destroyed);
    scene.look(5_041);
    assert.ok(socket.destroyed);
    assert.deepEqual(socket.written, [], 'it could be taken for an answer');
  }));

  it('end a connection with a second request before the first was answered', scene((scene) => {
    const socket = scene.open();
    scene.headersOf(socket, 100).message.complete = true;
    scene.headersOf(socket, 100);
    assert.ok(socket.destroyed);
  }));

  it('forget connections that have closed', scene((scene) => {
    const socket = scene.open();
    socket.emit('close');
    scene.look(5_000);
    assert.ok(!socket.destroyed);
  }));
});
