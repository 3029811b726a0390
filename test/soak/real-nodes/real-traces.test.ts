// `npm run soak -- real-nodes`: a sandbox with real nodes that is killed leaves nothing on the machine once it is taken
// down: no process, interface, route, cgroup or folder, and every setting of the kernel as before.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DetachedSandbox, presentTraces } from '../../support/worlds/detached-sandbox.ts';

let sandbox: DetachedSandbox;

before(async () => {
  sandbox = await DetachedSandbox.make();
});
after(() => sandbox.remove());

describe('a sandbox with real nodes that was killed', () => {
  it('is cleared away', async () => {
    await sandbox.up(['--targets', '1', '--nodes', 'real', '--bare']);
    const record = await sandbox.record();
    const { traces } = record;
    assert.ok(traces !== undefined);
    const all = [...traces.interfaces, ...traces.cgroups];
    assert.deepEqual(await presentTraces(traces), all, 'while it runs all of it is there');
    process.kill(record.supervisor.pid, 'SIGKILL');
    assert.match(await sandbox.down(), /had died/);
    assert.deepEqual(await sandbox.leftovers(record), []);
  });
});
