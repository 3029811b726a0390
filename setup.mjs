// Makes a fresh clone ready: installs the locked packages when they are missing or out of date, then compiles.
// Plain JavaScript, because it runs before anything is installed. `--build` only compiles (npm calls it so after an install).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, chmodSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = dirname(fileURLToPath(import.meta.url));
const wanted = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).engines.node.replace('>=', '');

const isOlder = ([major, minor], [wantedMajor, wantedMinor]) => major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
const numbers = (version) => version.split('.').map(Number);

if (isOlder(numbers(process.versions.node), numbers(wanted))) {
  console.error(`Isthmus needs Node.js ${wanted} or newer; this is ${process.versions.node}. Install a current Node.js and run the command again.`);
  process.exit(1);
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: checkout, stdio: 'inherit', ...options });
  if (result.error) {
    console.error(`Could not run ${command}: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Packages are current when npm wrote its own record of them after the lock file last changed. */
function packagesAreCurrent() {
  const installed = join(checkout, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(checkout, 'package-lock.json')).mtimeMs;
}

/** Folders without sources: what is installed, compiled or kept by git. */
const SKIPPED = new Set(['node_modules', 'build', '.git']);

/** Paths of all files below a folder that the compiler reads, or that change what it has compiled, in a fixed order. */
function sourcesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).toSorted((one, other) => (one.name < other.name ? -1 : 1)).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sourcesIn(path);
    return /\.ts$|^tsconfig.*\.json$|^(package-lock\.json|rewrite-spreads\.mjs)$/.test(entry.name) ? [path] : [];
  });
}

/** A digest of all that the compiled files are made of: names and contents. */
function digestOfSources() {
  const digest = createHash('sha256');
  for (const path of sourcesIn(checkout)) {
    const content = readFileSync(path);
    digest.update(`${path} ${content.length}\n`).update(content);
  }
  return digest.digest('hex');
}

/** Removes compiled files whose sources are gone, since the compiler does not: a removed test must not run on. */
function removeOrphans(built, sources) {
  if (!existsSync(built)) return;
  for (const entry of readdirSync(built, { withFileTypes: true })) {
    const [path, source] = [join(built, entry.name), join(sources, entry.name)];
    if (entry.isDirectory()) removeOrphans(path, source);
    else if (/\.js(\.map)?$/.test(entry.name) && !existsSync(source.replace(/\.js(\.map)?$/, '.ts'))) rmSync(path);
  }
}

async function compile() {
  const compiler = join(checkout, 'node_modules', '.bin', 'tsc');
  if (!existsSync(compiler)) return; // an install without development packages brings its compiled files along
  const compiled = join(checkout, 'build', '.compiled');
  const digest = digestOfSources();
  if (existsSync(compiled) && readFileSync(compiled, 'utf8') === digest) return;
  rmSync(compiled, { force: true }); // until all is compiled
  removeOrphans(join(checkout, 'build'), checkout);
  run(compiler, ['--project', checkout]);
  run(compiler, ['--project', join(checkout, 'dashboard', 'browser')]); // with the types of a browser
  const { NEEDS_SPREADS, rewriteSpreads } = await import('./rewrite-spreads.mjs'); // needs an installed package
  if (NEEDS_SPREADS) rewriteSpreads(join(checkout, 'build'));
  const command = join(checkout, 'build', 'cli', 'main.js');
  if (existsSync(command)) chmodSync(command, 0o755);
  writeFileSync(compiled, digest);
}

if (process.argv.includes('--build') || packagesAreCurrent()) {
  await compile();
} else {
  console.error('Installing the packages that package-lock.json names …');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']); // compiles through the `prepare` script
}
