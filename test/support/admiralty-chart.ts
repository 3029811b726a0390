// A chart that is to Helm what Admiralty 0.17's is: definitions among its templates, with its labels and without an annotation that keeps them, a
// Deployment, and a Job after its deletion, which takes finalizers off.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ADMIRALTY_GROUP } from '../../api/resource-types.ts';
import { customResourceDefinitions } from '../../manifests/crds.ts';

const NAME = 'multicluster-scheduler';
const labels = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/instance': 'admiralty', 'app.kubernetes.io/managed-by': 'Helm' };
const selector = { 'app.kubernetes.io/name': NAME };
const template = { metadata: { labels: selector }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } };

/** Writes the chart into a folder that is not there yet. Its definitions are ours: those of Admiralty have the same names. */
export async function writeAdmiraltyChart(folder: string): Promise<void> {
  const definitions = customResourceDefinitions().filter(({ spec: { group } }) => group === ADMIRALTY_GROUP).map((definition) => ({ ...definition, metadata: { name: definition.metadata.name, labels } }));
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: `admiralty-${NAME}-controller-manager`, labels }, spec: { replicas: 1, selector: { matchLabels: selector }, template } };
  const hook = { 'helm.sh/hook': 'post-delete', 'helm.sh/hook-delete-policy': 'hook-succeeded' };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `admiralty-${NAME}-post-delete-hook`, labels, annotations: hook }, spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } } };
  await mkdir(join(folder, 'templates'), { recursive: true });
  await writeFile(join(folder, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: NAME, version: '0.17.0', appVersion: '0.17.0' }));
  await writeFile(join(folder, 'templates', 'all.yaml'), [...definitions, deployment, job].map((object) => stringify(object)).join('---\n'));
}
