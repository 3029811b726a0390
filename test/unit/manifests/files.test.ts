import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { MAX_WEIGHT, SCORE_NAMES } from '../../../api/kinds/placement-policy.ts';
import { chartTemplates } from '../../../manifests/chart.ts';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../../manifests/objects/crds.ts';
import { GENERATED_FOLDERS, manifestFiles, toYaml } from '../../../manifests/files.ts';
import { installManifests } from '../../../manifests/install.ts';
import { kustomizeFiles } from '../../../manifests/kustomize.ts';
import { packagedWebhookConfiguration } from '../../../manifests/objects/webhook-configuration.ts';

/** The checkout's own folder, seen from the compiled test. */
const folder = new URL('../../../../manifests/', import.meta.url);

/** What the schema of the chart says of score weights. */
interface ScoreSchema {
  readonly properties: { readonly scheduler: { readonly properties: { readonly scoreWeights: {
    readonly propertyNames: { readonly enum: readonly string[] };
    readonly additionalProperties: { readonly maximum: number };
  } } } };
}

const sorted = (objects: readonly unknown[]): string[] => objects.map((object) => JSON.stringify(object)).toSorted();

describe('the generated manifests', () => {
  for (const { path, text } of manifestFiles()) {
    it(`${path} is current; \`npm run manifests\` makes it so`, async () => {
      assert.equal(await readFile(new URL(path, folder), 'utf8'), text);
    });
  }

  it('are all the files there are in the folders that hold nothing else', async () => {
    const there = (await readdir(folder, { recursive: true })).filter(
      (path) => path.endsWith('.yaml') && GENERATED_FOLDERS.some((generated) => path.startsWith(`${generated}/`)),
    );
    const generated = manifestFiles().map(({ path }) => path)
      .filter((path) => GENERATED_FOLDERS.some((name) => path.startsWith(`${name}/`)));
    assert.deepEqual(there.toSorted(), generated.toSorted());
  });

  it('hold together every object of a default installation once: those of the Kustomize files', () => {
    const files = kustomizeFiles();
    const paths = [
      'common/rbac.yaml', ...['source', 'target', 'self'].map((side) => `components/permissions-${side}/rbac.yaml`),
      'components/source/webhook-configuration.yaml', 'components/source/proxy-policy.yaml',
    ];
    const generated = paths.flatMap(
      (path) => { const file = files[path]; return file !== undefined && 'objects' in file ? file.objects : []; },
    );
    const address = { installNamespace: 'isthmus-system' };
    const installed = installManifests(address).map(
      (object) => (object.kind === 'MutatingWebhookConfiguration' ? packagedWebhookConfiguration(address) : object),
    );
    assert.deepEqual(sorted([...generated, ...customResourceDefinitions()]), sorted(installed));
  });

  it('have the definitions once, where the Kustomize base takes them from', () => {
    const base = kustomizeFiles()['common/kustomization.yaml'];
    assert.ok(base !== undefined && 'kustomization' in base && (base.kustomization['resources'] as string[]).includes(
      '../../crds',
    ));
    const { resources } = parse(manifestFiles().find(({ path }) => path === 'crds/kustomization.yaml')?.text ?? '') as {
      readonly resources: readonly string[]
    };
    assert.deepEqual(
      resources,
      manifestFiles().map(({ path }) => path).filter(
        (path) => /^crds\/(?!kustomization)/.test(path),
      ).map((path) => basename(path)).toSorted(),
    );
    // Kinds that others serve as well come with what needs them.
    assert.deepEqual(
      manifestFiles()
        .filter(({ path, text }) => path.startsWith('kustomize/') && text.includes('kind: CustomResourceDefinition'))
        .map(({ path }) => path),
      ['kustomize/components/service-discovery/crds.yaml'],
    );
  });

  it('name every file of the Kustomize folders in a kustomization, and none that is missing', () => {
    const files = kustomizeFiles();
    for (const [path, file] of Object.entries(files)) {
      if (!('kustomization' in file)) continue;
      const named =
        (['resources', 'components'] as const).flatMap((key) => (file.kustomization[key] ?? []) as readonly string[]);
      const beside = Object.keys(files).filter((other) => dirname(other) === dirname(path) && other !== path).map(
        (other) => basename(other),
      );
      assert.deepEqual(named.filter((name) => name.endsWith('.yaml')).toSorted(), beside.toSorted(), path);
      for (const name of named.filter((one) => !one.endsWith('.yaml') && one !== '../../crds')) {
        assert.ok(files[`${join(dirname(path), name)}/kustomization.yaml`] !== undefined, `${path}: ${name}`);
      }
    }
  });
});

describe('the generated templates of the chart', () => {
  it('have nothing in a description that Helm would take for an expression', () => {
    for (const definition of [...customResourceDefinitions(), ...serviceDiscoveryCrds()]) {
      assert.ok(!JSON.stringify(definition).includes('{{'), definition.metadata.name);
    }
  });

  it('keep definitions when the chart is uninstalled', () => {
    const templates = chartTemplates().filter(({ path }) => path.startsWith('templates/crds/'));
    assert.equal(templates.length, customResourceDefinitions().length + serviceDiscoveryCrds().length);
    for (const { path, text } of templates) assert.match(text, /helm\.sh\/resource-policy: keep/, path);
  });

  it('ask for the values where a configuration has defaults', () => {
    const text = chartTemplates().find(({ path }) => path.endsWith('webhook-configuration.yaml'))?.text ?? '';
    assert.equal(text.match(/include "isthmus\.clientConfig"/g)?.length, 6);
    assert.equal(text.match(/include "isthmus\.injectCertificateAuthority"/g)?.length, 2);
    assert.equal(text.match(/if \.Values\.webhook\.refuseUntilReached/g)?.length, 2);
    for (const value of ['failurePolicy', 'reinvocationPolicy']) {
      assert.ok(text.includes(`${value}: {{ .Values.webhook.${value} }}`));
    }
    assert.ok(!/service:\n/.test(text));
  });
});

describe('the schema of the values', () => {
  it('knows the scores that the scheduler knows', async () => {
    const schema =
      JSON.parse(await readFile(new URL('helm/isthmus/values.schema.json', folder), 'utf8')) as ScoreSchema;
    const { propertyNames, additionalProperties } = schema.properties.scheduler.properties.scoreWeights;
    assert.deepEqual(propertyNames.enum, SCORE_NAMES);
    assert.equal(additionalProperties.maximum, MAX_WEIGHT);
  });
});

describe('toYaml', () => {
  it('gives back what went in, one document for each object, without anchors', () => {
    const shared = { app: 'x' };
    const objects = [{ kind: 'A', metadata: { name: 'a', labels: shared } }, {
      kind: 'B', metadata: { name: 'b: "*"', labels: shared },
    }];
    const text = toYaml(objects);
    assert.doesNotMatch(text, /&a\d/);
    assert.deepEqual(parseAllDocuments(text).map((document) => document.toJS() as unknown), objects);
  });
});
