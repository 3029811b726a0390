// The table "command × wrong input": every command, at least eight wrong inputs each, with what it prints and its exit
// code.
// `npm run update-golden` prints the file anew; read the difference before it is committed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { environment } from '../../../process/config.ts';
import { version } from '../../../process/version.ts';
import { AnsweringApiServer, type Answer } from '../../support/doubles/answering-api-server.ts';
import { runHere } from '../../support/processes/command-in-process.ts';
import { status } from '../../support/doubles/scripted-api-server.ts';
import { wholeProgram } from '../../support/processes/whole-program.ts';
import { leavesOf, RIGHT_WORDS, WRONG_WORDS, wrongWords } from '../../support/docs/wrong-inputs.ts';

const GOLDEN = fileURLToPath(new URL('../../../../test/golden/cli/wrong-input.txt', import.meta.url));
/** Kinds of Kubernetes that a cluster without Isthmus serves; nothing is in them. */
const OF_KUBERNETES = [
  'pods', 'nodes',
  'secrets', 'services', 'configmaps', 'serviceaccounts', 'events', 'leases', 'deployments', 'roles', 'rolebindings',
  'clusterroles', 'clusterrolebindings',
  'customresourcedefinitions', 'mutatingwebhookconfigurations', 'validatingwebhookconfigurations',
  'validatingadmissionpolicies', 'validatingadmissionpolicybindings', 'ingresses',
];

const servers: AnsweringApiServer[] = [];
let held: Socket;
let refusing: string;
let dir: string;

function forbidden(_method: string, { pathname }: URL): Answer {
  const resource = pathname.split('/').at(-1) ?? '';
  return [403, status(403, 'Forbidden', `${resource} is forbidden: User "eve" cannot do this`)];
}

async function kubeconfigOf(name: string, ...given: Parameters<typeof AnsweringApiServer.start>): Promise<void> {
  const server = await AnsweringApiServer.start(...given);
  servers.push(server);
  await writeFile(join(dir, `${name}.yaml`), server.kubeconfigText());
}

/**
 * `host:port` that refuses connections. Nobody else can listen there, as at a port that was given back: it is the local
 * end of a connection.
 */
async function refusingHost(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  held = connect((server.address() as AddressInfo).port, '127.0.0.1').unref();
  await once(held, 'connect');
  return `127.0.0.1:${held.localPort}`;
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-wrong-'));
  mkdirSync(join(dir, 'empty'));
  refusing = await refusingHost();
  await kubeconfigOf('unauthorized', () => [401, status(401, 'Unauthorized', 'Unauthorized')]);
  await kubeconfigOf('forbidden', forbidden);
  await kubeconfigOf('login-page', () => [200, '<html>Log in</html>']);
  await kubeconfigOf('bare', Object.fromEntries(OF_KUBERNETES.map((plural) => [plural, []])));
  await writeFile(join(dir, 'refused.yaml'), servers[0]?.kubeconfigText().replace(servers[0].host, refusing) ?? '');
  const pod =
    'kind: Pod\nmetadata: {name: web, annotations: {multicluster.admiralty.io/elect: ""}}\nspec: {containers: ' +
      '[{name: a, image: b}]}\n';
  const lost = 'apiVersion: core.liqo.io/v1beta1\nkind: ForeignCluster\nmetadata: {name: a}\n';
  const snapshot =
    JSON.stringify({ targets: [], policies: { isComplete: true, policies: [], namespaces: { $map: [] } }, placed: [] });
  const files = {
    'pod.yaml': `apiVersion: v1\n${pod}`, 'untyped.yaml': pod, 'lost.yaml': lost, 'text.txt': 'hello world\n', 'nothing.yaml': '',
    binary: Buffer.from([0, 255, 10, 7]), snapshot,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content);
});
after(async () => {
  held.destroy();
  await Promise.all(servers.map((server) => server.stop()));
  await rm(dir, { recursive: true, force: true });
});

/** Without what differs between runs. */
function steady(text: string): string {
  const hosts = [refusing, ...servers.map(({ host }) => host)];
  const plain = hosts.reduce(
    (shown, host) => shown.replaceAll(host, 'HOST'), text.replaceAll(dir, 'DIR').replaceAll(version(), 'VERSION'),
  );
  return plain.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').trimEnd();
}

/** The first lines, and how many more there are. */
function shortened(text: string): string {
  const lines = text.split('\n');
  return lines.length <= 4 ? text : [...lines.slice(0, 3), `… ${lines.length - 3} more lines`].join('\n');
}

const table = new Map<string, string>();

const leaves = leavesOf(await wholeProgram());

describe('command × wrong input', () => {

  it('has every command', () => {
    const names = leaves.map(([name]) => name);
    assert.deepEqual(Object.keys(RIGHT_WORDS).toSorted(), names.toSorted());
    assert.deepEqual(Object.keys(WRONG_WORDS).filter((name) => !names.includes(name)), []);
  });

  for (const [name, command] of leaves) {
    it(`${name} says what is wrong`, async () => {
      const tried: string[] = [];
      for (const words of wrongWords(name, command)) {
        const all = [...name.split(' '), ...words.map((word) => word.replace('DIR', dir))];
        const { stdout, stderr, code } = await runHere(await wholeProgram(all), ...all);
        const shown = words.map((word) => (/^[\w./:@=-]+$/.test(word) ? word : `'${word}'`)).join(' ');
        const told = [stdout, stderr].filter((text) => text !== '').map((text) => shortened(steady(text))).join('\n');
        tried.push(`$ isthmus ${`${name} ${shown}`.trim()}\n${told}\nexit ${code}`);
        assert.notEqual(code, 0, `${name} ${shown} ends well:\n${told}`);
        assert.notEqual(stderr + stdout, '', `${name} ${shown} says nothing`);
        assert.doesNotMatch(stderr, /\n +at .*:\d+:\d+|unexpected error|undefined|\[object/, `${name} ${shown}`);
        assert.doesNotMatch(stderr.replaceAll(/'[^']*'/g, ''), /\bE[A-Z]{3,}\b|ERR_/, `${name} ${shown}`);
        if (/(?:refused|unauthorized|forbidden|login-page)\.yaml$/.test(words.at(-1) ?? '') && !shown.includes(
          '--snapshot',
        )) {
          assert.doesNotMatch(
            told, /does not exist|There is no|None|none|no component/, `${name} ${shown} claims what it has not read`,
          );
        }
      }
      assert.ok(tried.length >= 8, `${name} has ${tried.length} wrong inputs`);
      table.set(name, tried.join('\n\n'));
    });
  }

  it('is what the golden file says; `npm run update-golden` makes it so', () => {
    const text = leaves.map(([name]) => `## isthmus ${name}\n\n${table.get(name) ?? ''}\n`).join('\n');
    if (environment().updateGolden) {
      mkdirSync(join(GOLDEN, '..'), { recursive: true });
      writeFileSync(GOLDEN, text);
    }
    const [now, golden] = [text, readFileSync(GOLDEN, 'utf8')].map((each) => each.split('\n\n'));
    const at = now?.findIndex((section, index) => section !== golden?.[index]) ?? 0;
    assert.deepEqual(
      now?.slice(Math.max(0, at), at + 3), golden?.slice(Math.max(0, at), at + 3), 'the first that differs',
    );
    assert.equal(text.length, readFileSync(GOLDEN, 'utf8').length);
  });
});
