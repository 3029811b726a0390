// Habits of kubectl that explain and plan share: the namespace of the kubeconfig's context, and several `-f`.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { namespaceIn } from '../../../../cli/clusters/cluster-flags.ts';
import type { ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { aProxy } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

interface Kubeconfig {
  readonly contexts: readonly { readonly name: string; readonly context: object }[];
}

let dir: string;
let source: AnsweringApiServer;
let plain: string;
let ofTeam: string;

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(dir, name), text);
  return join(dir, name);
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-habits-'));
  source = await AnsweringApiServer.start(servedSource([servedTarget('bare', '')], { pods: [aProxy()] }));
  const config = parse(source.kubeconfigText()) as Kubeconfig;
  const contexts =
    config.contexts.map(({ name, context }) => ({ name, context: { ...context, namespace: 'team-a' } }));
  plain = await file('plain.kubeconfig', source.kubeconfigText());
  ofTeam = await file('team.kubeconfig', stringify({ ...config, contexts }));
});
after(async () => {
  await source.stop();
  await rm(dir, { recursive: true, force: true });
});

const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, annotations: {${ELECT_ANNOTATION}: ""}}\n` +
    'spec: {containers: [{name: a, image: b}]}\n';

describe("the namespace of the kubeconfig's context", () => {
  it('is the one that a command works in, unless another is given', () => {
    const connection = { namespace: 'team-a' } as ClusterConnection;
    assert.deepEqual(
      [namespaceIn({ connection }, undefined), namespaceIn({ connection }, 'b'),
        namespaceIn({ connection: {} as ClusterConnection }, undefined)],
      ['team-a', 'b', 'default'],
    );
  });

  it('is where explain looks for the pod', async () => {
    const there = await isthmusHere('explain', 'pod/web', '--kubeconfig', ofTeam);
    assert.match(there.stdout, /ClusterTarget\/bare/, there.stderr);
    const elsewhere = await isthmusHere('explain', 'pod/web', '--kubeconfig', plain);
    assert.match(elsewhere.stderr, /There is no pod web in namespace default/);
  });

  it('is that of objects of plan that name none', async () => {
    const manifest = await file('one.yaml', pod('one'));
    const { stdout, stderr } = await isthmusHere('plan', '-f', manifest, '--kubeconfig', ofTeam);
    assert.match(stdout, /team-a\/one/, stderr);
  });
});

it('plan reads every file that is named with -f', async () => {
  const [one, two] = await Promise.all(['one', 'two'].map((name) => file(`${name}.yaml`, pod(name))));
  const words = ['plan', '-f', one ?? '', '-f', two ?? '', '--kubeconfig', ofTeam, '-o', 'json'];
  const { stdout } = await isthmusHere(...words);
  const { pods } = JSON.parse(stdout) as { readonly pods: readonly { readonly pod: string }[] };
  assert.deepEqual(pods.map(({ pod: name }) => name), ['team-a/one', 'team-a/two']);
});
