// `npm run manifests`: writes the generated manifests into the checkout that this compiled file belongs to.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { manifestFiles } from './files.ts';

const folder = new URL('../../manifests/', import.meta.url);
const crdFolder = new URL('crds/', folder);

await rm(crdFolder, { recursive: true, force: true }); // a kind that is gone leaves no file behind
await mkdir(crdFolder, { recursive: true });
for (const { path, text } of manifestFiles()) {
  await writeFile(new URL(path, folder), text);
  console.log(`manifests/${path}`);
}
