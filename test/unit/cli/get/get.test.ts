// `isthmus get` with the flags of kubectl, against a server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Pod } from '../../../../api/objects/core.ts';
import { DELEGATE_NAME_ANNOTATION, TARGET_ANNOTATION } from '../../../../api/objects/keys.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { aProxy, annotated, labelled, named } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

let server: AnsweringApiServer;
let flags: readonly string[];
before(async () => {
  const [us, eu] = [servedTarget('us', ''), servedTarget('eu', '')];
  const cordoned = {
    ...eu, node: { ...eu.node, spec: { unschedulable: true } },
    target: { ...eu.target, metadata: { ...eu.target.metadata, labels: { tier: 'own' } } },
  };
  server = await AnsweringApiServer.start(
    servedSource([us, cordoned], {
      pods: [
        aProxy(), aProxy(named('api'), labelled({ app: 'api' })),
        { ...aProxy(named('local')), spec: { containers: [], schedulerName: 'default-scheduler' } } as Pod,
      ],
    }),
  );
  flags = ['--kubeconfig', await server.kubeconfig()];
});
after(() => server.stop());

const get = async (...words: readonly string[]) => isthmusHere('get', ...words, ...flags);
/** Lines without what grows, with single spaces. */
const linesOf = (text: string) =>
  text.trimEnd().split('\n').map((line) => line.replaceAll(/ +/g, ' ').replace(/ \d+\w+$/, ''));

describe('isthmus get pods of a user who has a Role in one namespace', () => {
  const placed = aProxy(
    annotated({ [TARGET_ANNOTATION]: 'ClusterTarget/us', [DELEGATE_NAME_ANNOTATION]: 'web-1' }),
  );
  const ofRole = (_method: string, { pathname }: URL): Answer => (
    pathname === '/api/v1/namespaces/team-a/pods'
      ? [200, { kind: 'List', metadata: { resourceVersion: '9' }, items: [placed] }]
      : [403, status(403, 'Forbidden', `${pathname} is forbidden: User "dev"`)]
  );
  let restricted: AnsweringApiServer;
  before(async () => {
    restricted = await AnsweringApiServer.start(ofRole);
  });
  after(() => restricted.stop());

  it('shows those of the namespace, and says that it could not read what their targets show', async () => {
    const { stdout, stderr, code } =
      await isthmusHere('get', 'pods', '-n', 'team-a', '--kubeconfig', await restricted.kubeconfig());
    assert.equal(code, 0, stderr);
    assert.deepEqual(linesOf(stdout), [
      'NAMESPACE NAME STATUS TARGET NODE STATUS THERE AGE', 'team-a web Pending us <none> Unknown',
    ]);
    assert.match(stderr, /^isthmus: what targets show of these pods is left out: .* forbidden: User "dev"\. It takes /);
  });

  it('ends with what the server says of all namespaces, as kubectl does', async () => {
    const { stdout, stderr, code } = await isthmusHere('get', 'pods', '--kubeconfig', await restricted.kubeconfig());
    assert.deepEqual(
      [stdout, stderr, code],
      ['', 'isthmus: error from server (Forbidden): /api/v1/pods is forbidden: User "dev"\n', 1],
    );
  });
});

describe('isthmus get', () => {
  it('shows a cordoned target as kubectl shows a node', async () => {
    assert.deepEqual(linesOf((await get('targets')).stdout), [
      'NAME STATUS PODS FREE CPU FREE MEM GPU RTT AGE',
      'eu Unknown,SchedulingDisabled 0 <none> <none> <none> <none>',
      'us Unknown 0 <none> <none> <none> <none>',
    ]);
  });

  for (const words of [['target', 'us'], ['target/us'], ['ctg', 'us']]) {
    it(`shows one: ${words.join(' ')}`, async () => {
      assert.deepEqual(
        linesOf((await get(...words, '--no-headers')).stdout), ['us Unknown 0 <none> <none> <none> <none>'],
      );
    });
  }

  it('prints one object by itself, several as a List', async () => {
    assert.equal(JSON.parse((await get('target', 'us', '-o', 'json')).stdout).kind, 'ClusterTarget');
    assert.equal(JSON.parse((await get('targets', 'us', 'eu', '-o', 'json')).stdout).kind, 'List');
  });

  it('says which names there are not, after those that there are', async () => {
    const { stdout, stderr, code } = await get('targets', 'us', 'nope', '-o', 'name');
    assert.deepEqual(
      [stdout, stderr, code], ['clustertarget/us\n', 'isthmus: error (NotFound): targets "nope" not found.\n', 1],
    );
  });

  it('says of a pod that it is not elected', async () => {
    const { stderr, code } = await get('pods', 'team-a/local', 'nope');
    assert.equal(code, 1);
    assert.match(stderr, /pods "nope" not found\. Pod team-a\/local is not elected: only pods with annotation /);
    assert.match((await get('pods', 'web', 'local', '-n', 'elsewhere')).stderr, /pods "web", "local" not found\.$/m);
  });

  it('selects by labels, as the server does', async () => {
    assert.equal((await get('targets', '-l', 'tier=own', '-o', 'name')).stdout, 'clustertarget/eu\n');
    assert.equal((await get('pods', '-l', 'app=api', '-o', 'name')).stdout, 'pod/api\n');
    await get('nodes', '-l', 'a=b');
    assert.match(decodeURIComponent(server.calls.at(-2) ?? ''), /\/nodes\?.*labelSelector=[^&]+,a=b/);
  });

  it('takes -A, which all namespaces are shown with anyway, over --namespace', async () => {
    assert.equal((await get('pods', '-n', 'nowhere', '-o', 'name')).stdout, '');
    assert.equal((await get('pods', '-n', 'nowhere', '-A', '-o', 'name')).stdout, 'pod/web\npod/api\n');
  });

  it('prints parts of the objects', async () => {
    assert.equal((await get('targets', '-o', 'jsonpath={.items[*].metadata.name}')).stdout, 'us eu\n');
    assert.equal((await get('target', 'us', '-o', 'jsonpath={.spec.kubeconfigSecret.name}')).stdout, 'us\n');
  });

  it('has nothing to print of nothing', async () => {
    assert.equal((await get('sources', '--no-headers').catch(() => ({ stdout: '' }))).stdout, '');
    assert.equal((await get('pods', '-n', 'nowhere')).stdout, 'No elected pods.\n');
  });

  it('with -w shows what is there, and goes on until it is stopped', async () => {
    const main = fileURLToPath(new URL('../../../../cli/main.js', import.meta.url));
    const child =
      spawn(process.execPath, [main, 'get', 'targets', '-w', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(line);
      if (lines.length === 3) child.kill('SIGINT');
    }
    assert.deepEqual([lines.map((line) => line.split(' ')[0]), await ended], [['NAME', 'eu', 'us'], [130, null]]);
  });
});
