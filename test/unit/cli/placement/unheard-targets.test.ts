// `explain` and `plan` where something does not answer, or may not be read: they say so, and call nothing absent that
// they have not seen.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { AnsweringApiServer, type Answer, type ServedObjects } from '../../../support/answering-api-server.ts';
import { aProxy } from '../../../support/builders.ts';
import { isthmusHere } from '../../../support/command-in-process.ts';
import { status } from '../../../support/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/served-source.ts';

const servers: AnsweringApiServer[] = [];
let dir: string;
let manifest: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-plan-'));
  manifest = join(dir, 'app.yaml');
  await writeFile(
    manifest,
    `kind: Pod\nmetadata: {name: web, namespace: team-a, annotations: {${ELECT_ANNOTATION}: ""}}\nspec: {containers: ` +
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
