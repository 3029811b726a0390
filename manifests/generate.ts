// `npm run manifests`: writes the generated manifests into the checkout that this compiled file belongs to.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GENERATED_FOLDERS, manifestFiles } from './files.ts';

const folder = new URL('../../manifests/', import.meta.url);

// removes obsolete files
for (const generated of GENERATED_FOLDERS) await rm(new URL(generated, folder), { recursive: true, force: true });
for (const { path, text } of manifestFiles()) {
  const file = fileURLToPath(new URL(path, folder));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  console.log(`manifests/${path}`);
}
