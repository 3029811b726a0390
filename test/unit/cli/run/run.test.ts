import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checksAtStart } from '../../../../cli/run/run.ts';
import type { Component } from '../../../../cli/run/run-options.ts';
import { freePorts } from '../../../../sandbox/processes/free-ports.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmus, RunningCommand } from '../../../support/processes/command-line.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';

describe('a process that starts while the API server', () => {
  const serverOf = (code: number, reason: string) => AnsweringApiServer.start(() => [code, status(code, reason, 'no')]);

  it('cannot serve yet says what it waits for, is alive but not ready meanwhile, and can be stopped', async () => {
    const [server, [port = 0]] = [await serverOf(503, 'ServiceUnavailable'), await freePorts(1)];
    const command = new RunningCommand(
      'run', '--webhook-port', '0', '--health-host', '127.0.0.1', '--health-port', String(port),
      '--kubeconfig', await server.kubeconfig(),
    );
    await command.line(/waiting for the API server/);
    const answers = ['healthz', 'readyz'].map((page) => fetch(`http://127.0.0.1:${port}/${page}`));
    assert.deepEqual((await Promise.all(answers)).map(({ status }) => status), [200, 503]);
    await command.stop();
    await server.stop();
  });

  it('does not know its credentials ends with that reason', async () => {
    const server = await serverOf(401, 'Unauthorized');
    const { code, stderr } = await isthmus('run', '--webhook-port', '0', '--kubeconfig', await server.kubeconfig());
    await server.stop();
    assert.equal(code, 1);
    assert.match(stderr, /error from server \(Unauthorized\)/);
  });

  it('permits nothing ends with that reason', async () => {
    const server = await serverOf(403, 'Forbidden');
    const kubeconfig = await server.kubeconfig();
    const { code, stderr } = await isthmus('run', '--components', 'scheduler', '--kubeconfig', kubeconfig);
    await server.stop();
    assert.equal(code, 1);
    assert.match(stderr, /error from server \(Forbidden\)/);
  });
});

describe('what a process is not ready without, from its start', () => {
  const rows: readonly (readonly [components: readonly Component[], waitsFor: readonly string[], source?: boolean])[] =
    [
    [['webhook'], ['webhook']],
    [['scheduler'], ['targets', 'proxies']],
    [['delegate-controller'], ['targets', 'proxies']],
    [['virtual-node'], ['targets', 'proxies']],
    [['delegate-controller', 'peering'], [], false],
    [['discovery'], []],
    [['scheduler', 'discovery'], ['targets', 'proxies']],
    [['webhook', 'scheduler', 'delegate-controller', 'virtual-node'], ['webhook', 'targets', 'proxies']],
  ];
  for (const [components, waitsFor, source = true] of rows) {
    it(`${components.join(', ')}${source ? '' : ' of a cluster that is no source'}: ${waitsFor.join(', ')}`, () => {
      const checks = checksAtStart({ components, source });
      assert.deepEqual(Object.keys(checks), waitsFor);
      for (const holds of Object.values(checks)) assert.equal(holds(), false);
    });
  }
});
