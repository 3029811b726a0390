// `explain` and `plan` where something does not answer, or may not be read: they say so, and call nothing absent that
// they have not seen.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { AnsweringApiServer, type Answer, type ServedObjects } from '../../../support/doubles/answering-api-server.ts';
import { aProxy } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

const servers: AnsweringApiServer[] = [];
let dir: string;
let manifest: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-plan-'));
  manifest = join(dir, 'app.yaml');
  await writeFile(
    manifest,
    'apiVersion: v1\nkind: Pod\n' +
      `metadata: {name: web, namespace: team-a, annotations: {${ELECT_ANNOTATION}: ""}}\nspec: {containers: ` +
      '[{name: a, image: b}]}\n',
  );
});
after(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await rm(dir, { recursive: true, force: true });
});

async function start(served: ServedObjects | ((method: string, url: URL) => Answer)): Promise<AnsweringApiServer> {
  const server = await AnsweringApiServer.start(served);
  servers.push(server);
  return server;
}

/** A target that has room, and answers writes so. */
async function roomyTarget(
  name: string, answerToWrite: (url: URL) => Answer,
): Promise<ReturnType<typeof servedTarget>> {
  const room = { cpu: '4', memory: '8Gi', pods: '110' };
  const summary = {
    metadata: { name: 'singleton', resourceVersion: '1' }, allocatable: room, free: room,
    nodeGroups: [{ holes: [{ count: 1, free: room }] }],
  };
  const server = await AnsweringApiServer.start({
    namespaces: [{ metadata: { name: 'kube-system', uid: `cluster-${name}` } }],
    clustersummaries: [summary], podchaperons: [], pods: [],
  }, answerToWrite);
  servers.push(server);
  const { target, ...served } = servedTarget(name, server.kubeconfigText());
  return { ...served, target: { ...target, spec: { ...target.spec, delegation: 'PodChaperon' } } };
}

const commands = { explain: ['explain', 'pod/web', '-n', 'team-a'], plan: ['plan', '-f', ''] };

for (const [name, [command = '', ...words]] of Object.entries(commands)) {
  const run = async (source: AnsweringApiServer) =>
    isthmusHere(command, ...words.map((word) => word || manifest), '--kubeconfig', await source.kubeconfig());

  describe(name, () => {
    it('says of a target that hangs that it does not answer, and nothing else', async () => {
      const hanging = await start(() => 'hang');
      const source = await start(servedSource([servedTarget('slow', hanging.kubeconfigText())], { pods: [aProxy()] }));
      const { stdout, stderr } = await run(source);
      assert.match(stdout, /✗ Available: Unreachable: its API server has not answered within 5 s/);
      assert.doesNotMatch(stdout, /SecretMissing|does not exist|NoSummary|Connecting/);
      assert.equal(stderr, '');
    });

    it('says that a Secret is missing only where it is', async () => {
      const bare = servedTarget('bare', '');
      const { stdout } = await run(await start({ ...servedSource([bare], { pods: [aProxy()] }), secrets: [] }));
      assert.match(stdout, /✗ Available: SecretMissing: Secret isthmus-system\/bare does not exist/);
    });

    it('says of a Secret that may not be read that it may not', async () => {
      const hidden = servedSource([servedTarget('hidden', '')], { pods: [aProxy()] });
      const { secrets: _none, ...rest } = hidden;
      const { stdout } = await run(await start(rest));
      assert.match(stdout, /✗ Available: SecretUnreadable: Secret isthmus-system\/hidden cannot be read/);
      assert.doesNotMatch(stdout, /does not exist/);
    });

    it('asks the target that comes first whether it would take the pod, and creates nothing', async () => {
      const asked: string[] = [];
      const answer = (status_: number, reason: string, message: string) => (url: URL): Answer => {
        asked.push(url.search);
        return status_ === 201
          ? [201, { metadata: { resourceVersion: '2' } }]
          : [status_, status(status_, reason, message)];
      };
      const lonely = await roomyTarget('lonely', answer(404, 'NotFound', 'namespaces "team-a" not found'));
      const willing = await roomyTarget('willing', answer(201, '', ''));
      const alone = await run(await start(servedSource([lonely], { pods: [aProxy()] })));
      assert.match(alone.stdout, /✗ NotRejected: NamespaceMissing: namespace team-a does not exist there/);
      const both = await run(await start(servedSource([lonely, willing], { pods: [aProxy()] })));
      assert.match(
        both.stdout,
        name === 'plan'
          ? /→ ClusterTarget\/willing/
          : /^ClusterTarget\/willing is the only target that can take the pod/m,
      );
      assert.deepEqual([...new Set(asked)], ['?dryRun=All']);
    });

    it('ends with one sentence where the targets may not be read', async () => {
      const source = await start((_method, { pathname }) => {
        const plural = pathname.split('/').at(-1) ?? '';
        if (pathname.endsWith('/kube-system')) return [200, { metadata: { name: 'kube-system', uid: 'u' } }];
        return [403, status(403, 'Forbidden', `${plural} is forbidden: User "eve" cannot list it`)];
      });
      const { stdout, stderr, code } = await run(source);
      assert.deepEqual([stdout, code], ['', 1]);
      assert.match(stderr, /^isthmus: error from server \(Forbidden\): \w+ is forbidden: User "eve" cannot list it\n$/);
    });
  });
}
