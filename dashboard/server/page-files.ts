// The files of the page: read once from the compiled browser folder, and only those that are listed here.
import { readFile } from 'node:fs/promises';
import type { PageAccess } from './page-access.ts';
import { ICON, STYLE } from './page-style.ts';

/** A file as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly text: string;
}

const SCRIPTS = [
  ...[
    'actions', 'elements', 'main', 'page-frame', 'parts', 'placement-screens', 'pod-lists', 'pod-screen',
    'screen-stream', 'session', 'target-map', 'targets-screen',
  ].map((name) => `dashboard/browser/${name}.js`),
  'dashboard/wire/actions.js', 'dashboard/wire/routes.js', 'cli/output/text-table.js',
];
const COMPILED = new URL('../../', import.meta.url);
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

/** All files by their path below `/assets/`. */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const scripts = await Promise.all(SCRIPTS.map(async (path) => {
    const text = await readFile(new URL(path, COMPILED), 'utf8');
    return [path, { type: 'text/javascript; charset=utf-8', text: text.replace(SOURCE_MAP, '') }] as const;
  }));
  return new Map([
    ...scripts,
    ['style.css', { type: 'text/css; charset=utf-8', text: STYLE }],
    ['icon.svg', { type: 'image/svg+xml', text: ICON }],
  ]);
}

/** The document of every address: it holds nothing but the names of the page's files, and how viewers sign in. */
export function documentFor(signIn: PageAccess['signIn']): PageFile {
  return { type: 'text/html; charset=utf-8', text: DOCUMENT.replace('<html', `<html data-sign-in="${signIn}"`) };
}

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Isthmus</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
<script type="module" src="/assets/dashboard/browser/main.js"></script>
</head>
<body>
<noscript>This page shows live data and needs JavaScript. "isthmus status" prints the same in a terminal.</noscript>
</body>
</html>
`;
