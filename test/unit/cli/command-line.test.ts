// How a process ends whose output cannot be written, or that is interrupted.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLUSTER_TARGET_NAME_LABEL, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { AnsweringApiServer } from '../../support/doubles/answering-api-server.ts';
import { aProxy, PROXY_UID } from '../../support/objects/builders.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import { servedSource, servedTarget } from '../../support/doubles/served-source.ts';

const MAIN = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));
/** Its conversion has remarks, which go to standard error. */
const REMARKED = 'test/golden/convert/admiralty-article.input.yaml';
const servers: AnsweringApiServer[] = [];
after(async () => void (await Promise.all(servers.map((server) => server.stop()))));

describe('output that cannot be written', () => {
  for (const words of [['version'], ['completion', 'bash'], ['install', '--dry-run'], ['--help']]) {
    it(`is an error of ${words.join(' ')}`, async () => {
      const child =
        spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] });
      assert.ok(child.stderr !== null);
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      assert.deepEqual(
        [stderr, code], ['isthmus: error (OutputFailed): the output cannot be written: no space left on device.\n', 1],
      );
    });
  }

  it('because its reader has gone ends quietly, as a program does that gets SIGPIPE', async () => {
    const child = spawn(process.execPath, [MAIN, 'install', '--dry-run'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    assert.deepEqual([stderr, code], ['', 141]);
  });

  it('on standard error does not break off what the command does', async () => {
    const child =
      spawn(process.execPath, [MAIN, 'convert', '-f', REMARKED], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.destroy();
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    assert.match(stdout, /^apiVersion/);
    assert.equal(code, 0);
  });
});

describe('texts from clusters', () => {
  it('do not steer the terminal', async () => {
    const { target, ...served } = servedTarget('us', '');
    const message = 'broken\u001b]0;owned\u0007\r\u009b2J';
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Refused', message }] as const;
    const broken = { ...served, target: { ...target, status: { conditions } } };
    const server = await AnsweringApiServer.start(servedSource([broken]));
    servers.push(server);
    const kubeconfig = await server.kubeconfig();
    const { stdout } = await isthmus('get', 'targets', '-o', 'wide', '--kubeconfig', kubeconfig);
    assert.match(stdout, /broken\\u001b\]0;owned\\u0007\\u000d\\u009b2J\n$/);
    const json = await isthmus('get', 'targets', '-o', 'json', '--kubeconfig', kubeconfig);
    assert.ok(JSON.stringify(JSON.parse(json.stdout)).includes(JSON.stringify(message)));
  });
});

describe('words that no command has', () => {
  it('are told like any error, with what was meant and where to read on', async () => {
    const { stderr, code } = await isthmus('get', 'targets', '--outptu', 'json');
    assert.deepEqual([stderr, code], [
      `isthmus: error (BadInput): unknown option '--outptu'. Did you mean --output? See "isthmus get --help".\n`, 1,
    ]);
  });
});

describe('Ctrl-C', () => {
  it('ends "logs -f" with 130 and no word', async () => {
    const target = await AnsweringApiServer.start((_method, { pathname }) => {
      if (pathname.endsWith('/pods')) return [200, {
        kind: 'List', metadata: {},
        items: [{
          metadata: { namespace: 'team-a', name: 'web-abc', labels: { [PARENT_UID_LABEL]: PROXY_UID } },
          spec: { containers: [] },
        }],
      }];
      return pathname.endsWith('/log') ? 'stream' : [404, 'no'];
    });
    servers.push(target);
    const served = servedTarget('us', target.kubeconfigText());
    const node =
      { ...served.node, metadata: { ...served.node.metadata, labels: { [CLUSTER_TARGET_NAME_LABEL]: 'us' } } };
    const proxy = aProxy(
      (pod) => ({ ...pod, spec: { ...pod.spec, nodeName: virtualNodeName({ kind: 'ClusterTarget', name: 'us' }) } }),
    );
    const source = await AnsweringApiServer.start(servedSource([{ ...served, node }], { pods: [proxy] }));
    servers.push(source);
    const child = spawn(
      process.execPath, [MAIN, 'logs', '-f', 'web', '-n', 'team-a', '--kubeconfig', await source.kubeconfig()],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const ended = once(child, 'exit');
    const stderr = text(child.stderr);
    const [line] = await once(child.stdout, 'data');
    assert.equal(String(line), 'a line\n');
    child.kill('SIGINT');
    assert.deepEqual([await stderr, ...(await ended)], ['', 130, null]);
  });
});
