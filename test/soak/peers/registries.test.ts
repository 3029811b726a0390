// The page on registries, typed: into a registry that is not ours, which asks for a user and has a certificate of a
// private CA, and from there into a cluster.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { environment } from '../../../process/config.ts';
import { version } from '../../../process/version.ts';
import { ensurePackagingTools } from '../../../sandbox/build/packaging-tools.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';
import { sessionScript, stepsOf } from '../../support/docs/documented-session.ts';
import { writeBaseImage } from '../../support/real-nodes/oci-base.ts';
import { documents, type Ended } from '../../support/peers/packaging.ts';
import { ensureRegistryProgram, PrivateRegistry, REGISTRY_USER } from '../../support/peers/private-registry.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const deadline = AbortSignal.timeout(390_000);
const HOST = 'registry.example.com';
const IMAGE = `${HOST}/platform/isthmus:${version()}`;
const steps = stepsOf(textOf('docs/image-registries.md'));
/** Steps that push, and that install what was pushed. */
const [PUSHING, INSTALLING] = [steps.slice(0, 3), steps.slice(3)];

type PodObject = KubernetesObject & {
  readonly spec: { readonly template: { readonly spec: {
    readonly imagePullSecrets?: readonly object[]; readonly containers: readonly { readonly image: string }[];
  } } };
};

let folder: string;
let registry: PrivateRegistry;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-registries-'));
  const program = await ensureRegistryProgram(deadline);
  const { helm, kubectl } = await ensurePackagingTools(environment(), () => undefined, deadline);
  await mkdir(join(folder, 'files')); // release.test.ts has the real ones
  await writeFile(join(folder, 'files', 'package.json'), '{}');
  // `npm run release --` would build the checkout first, while other tests run in it
  const npm = [
    `shift 3; PATH='${environment().inherited['PATH']}'; unset HTTPS_PROXY;`,
    process.execPath, join(ROOT, 'build/manifests/release.js'), '--from', join(folder, 'files'),
    '--created-at', '2026-01-02T03:04:05Z',
  ];
  const tools = { crane: [program, 'crane'], helm, kubectl, npm };
  await mkdir(join(folder, 'bin'));
  for (const [name, words] of Object.entries(tools)) await tool(name, words);
  registry = await PrivateRegistry.start(program, join(folder, 'registry'), [HOST, 'index.docker.io'], deadline);
  await mirrorBaseImage();
}, { timeout: 390_000 });
after(async () => {
  await registry?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A program on the PATH of the session. */
async function tool(name: string, words: readonly string[]): Promise<void> {
  await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${words.join(' ')} "$@"\n`);
  await chmod(join(folder, 'bin', name), 0o755);
}

/** Types a script, as a user with a home of its own whose network has the registry alone. */
function typed(script: string, more: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const env = {
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: join(folder, 'home'), HTTPS_PROXY: registry.proxyUrl,
    SSL_CERT_FILE: registry.authorityFile, NAME: REGISTRY_USER.name, PASSWORD: REGISTRY_USER.password,
    ...more,
  };
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code ?? -1) }));
  });
}

async function succeeds(script: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout, stderr, code } = await typed(script, more);
  assert.equal(code, 0, `${script}: ${stderr}`);
  return stdout;
}

/** What the page takes from docker.io, where it needs no login. */
async function mirrorBaseImage(): Promise<void> {
  const from = join(folder, 'mirrored');
  await writeBaseImage(from);
  await succeeds([
    'set -e', `printf %s "$PASSWORD" | crane auth login index.docker.io --username "$NAME" --password-stdin`,
    `crane push ${from} docker.io/library/node:24-bookworm-slim`,
  ].join('\n'));
}

describe('the page on registries', { timeout: 390_000 }, () => {
  it('pushes image and chart, also when everything is typed twice', async () => {
    assert.equal(PUSHING.length, 3);
    const script = `${sessionScript(PUSHING)}\nfind release -type f | sort | xargs sha256sum`;
    const [first, again] = [await succeeds(script), await succeeds(script)];
    assert.equal(again, first, 'the build is reproducible');
    const [, digest = ''] = /image\.digest=(sha256:[0-9a-f]{64})/.exec(first) ?? [];
    assert.equal((await succeeds(`crane digest ${IMAGE}`)).trim(), digest);
    await succeeds(`crane pull --format=oci ${IMAGE} pulled`);
    assert.deepEqual(registry.called, [HOST, 'index.docker.io'].map((host) => `${host}:443`).toSorted());
  });

  it('needs the login and the CA', async () => {
    const elsewhere = { HOME: join(folder, 'other-home') };
    const commands = { crane: `crane digest ${IMAGE}`, helm: steps[2]!.commands.split('\n')[1]! };
    for (const command of Object.values(commands)) {
      const [stranger, unbelieving] = [await typed(command, elsewhere), await typed(command, { SSL_CERT_FILE: '' })];
      assert.match(stranger.stderr, /UNAUTHORIZED|credential not found/);
      assert.match(unbelieving.stderr, /certificate signed by unknown authority/);
      assert.ok(stranger.code !== 0 && unbelieving.code !== 0);
    }
  });

  describe('in a cluster', () => {
    let sandbox: Sandbox;
    const inCluster = (script: string) => succeeds(script, { KUBECONFIG: sandbox.clusters[0]!.kubeconfigPath });

    before(async () => {
      sandbox = await startTestSandbox(
        { dir: join(folder, 'sandbox'), targets: 0, nodes: 0, gpus: 0, audit: false }, deadline,
      );
    });
    after(() => sandbox?.stop());

    it('installs by one command objects that name the registry, the digest and the Secret', async () => {
      assert.deepEqual(INSTALLING.map(({ commands }) => /^helm (.*\\\n)*.*\n$/.test(commands)), [true]);
      await inCluster(sessionScript(INSTALLING));
      await inCluster(sessionScript(INSTALLING));
      const digest = (await succeeds(`crane digest ${IMAGE}`)).trim();
      const objects = documents(await inCluster(
        'helm get manifest isthmus -n isthmus-system; echo ---; helm get hooks isthmus -n isthmus-system',
      ));
      const withPods =
        objects.filter((object): object is PodObject => /^(Deployment|DaemonSet|Job)$/.test(object.kind ?? ''));
      assert.deepEqual(new Set(withPods.map(({ kind }) => kind)), new Set(['Deployment', 'Job']));
      for (const { metadata, spec: { template: { spec } } } of withPods) {
        assert.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }], metadata.name);
        assert.deepEqual(spec.containers.map(({ image }) => image), [`${HOST}/platform/isthmus@${digest}`]);
      }
      const stored = await inCluster(
        "kubectl get deployments -n isthmus-system -o jsonpath='{.items[*].spec.template.spec.containers[*].image}'",
      );
      assert.deepEqual([...new Set(stored.split(' '))], [`${HOST}/platform/isthmus@${digest}`]);
    });

    it('makes a Secret with which the image can be pulled', async () => {
      const home = join(folder, 'node');
      await inCluster([
        `mkdir -p ${home}/.docker`,
        "kubectl get secret registry -n isthmus-system -o jsonpath='{.data.\\.dockerconfigjson}' | base64 -d " +
          `> ${home}/.docker/config.json`,
      ].join('\n'));
      await succeeds(`crane pull --format=oci ${IMAGE} ${home}/pulled`, { HOME: home });
    });
  });
});
