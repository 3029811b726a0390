import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withProgressNotice } from '../../../../cli/output/progress-notice.ts';

describe('who waits', () => {
  it('is told what for after a second, and not before', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const lines: string[] = [];
    let end: (text: string) => void = () => undefined;
    const waited =
      withProgressNotice('looking', new Promise<string>((resolve) => (end = resolve)), (line) => lines.push(line));
    t.mock.timers.tick(999);
    assert.deepEqual(lines, []);
    t.mock.timers.tick(1);
    assert.deepEqual(lines, ['looking …']);
    end('done');
    assert.equal(await waited, 'done');
  });

  it('is told nothing when it is over in time, or fails', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const lines: string[] = [];
    await withProgressNotice('looking', Promise.resolve(), (line) => lines.push(line));
    await assert.rejects(
      withProgressNotice('looking', Promise.reject(new Error('no')), (line) => lines.push(line)), /no/,
    );
    t.mock.timers.tick(5_000);
    assert.deepEqual(lines, []);
  });
});
