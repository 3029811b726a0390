// The attacks that have a number: what is tried, and what happens. Tests name the numbers in their titles (`C2-18: …`),
// and a page shows both.
import { readdirSync, readFileSync } from 'node:fs';
import { formerAttacksTable, type AttackRun } from '../attackers/former-attacks.ts';

/** An attack. */
export interface Attack {
  readonly id: number;
  readonly attack: string;
  readonly answer: string;
}

const attack = (id: number, what: string, answer: string): Attack => ({ id, attack: what, answer });

/** All of them. */
export const ATTACKS: readonly Attack[] = [
  attack(
    1, 'A kubeconfig in a Secret names a program or a plugin for its credentials', 'KubeconfigRefused; nothing is run',
  ),
  attack(2, 'A kubeconfig in a Secret names files of the process that reads it', 'KubeconfigRefused; no file is read'),
  attack(
    3, 'A kubeconfig leads to the metadata service, to this machine, to plain HTTP, or to a server that redirects',
    'refused; redirects are errors',
  ),
  attack(4, 'A kubeconfig switches certificate checks off, names a proxy or another server name', 'KubeconfigRefused'),
  attack(
    5, "A tenant's Target names a Secret of another namespace",
    'the field does not exist; Secrets are read beside the Target alone',
  ),
  attack(
    6, 'A user writes annotations and labels that are ours', 'refused on elected pods, without a meaning on others',
  ),
  attack(7, 'A pod elects itself in a namespace that has not opted in', 'admitted as it is; it stays here'),
  attack(8, 'A pod claims to be another one than the API server stored', 'refused, or of no effect on what runs'),
  attack(
    9, 'A pod asks for more by being elected: privileges, host access, a node, another account',
    'proxy and delegate show it all, so the policies of both clusters decide',
  ),
  attack(
    10, 'Somebody who may create pods here has the source act for him where he may not',
    'the source acts under an identity that the target confines',
  ),
  attack(
    11, 'An elected pod has objects of other kinds, or cluster-wide ones, follow it',
    'a fixed list of kinds, of its namespace, that the pod names',
  ),
  attack(
    12, 'A pod names a Secret so that it is copied into a cluster where more people read it',
    'only what pods name is copied, and only where those pods run',
  ),
  attack(
    13, 'A target sends statuses that are false, huge or of another shape',
    'taken field by field, cut to size, passed over where the shape is wrong',
  ),
  attack(14, 'A target claims room that it has not', 'its candidate is refused or times out, and others are asked'),
  attack(
    15, 'A target labels itself so that it attracts what is meant for others',
    'five keys are shown, and labels of the administrator win',
  ),
  attack(16, 'A source reads or writes in a target beyond what is its own', '403 by RBAC or by the admission policy'),
  attack(17, "A source touches another source's objects", '403 by the admission policy'),
  attack(18, 'A stranger posts reviews to the webhook', 'no connection, or nothing that is worth having'),
  attack(19, 'Bodies that are too large or come too slowly', 'refused by their announcement, or cut after seconds'),
  attack(20, 'Bodies that are no JSON, or JSON to choke on', '400, and the next one is served'),
  attack(21, 'The key `__proto__` in a pod', 'data like any other'),
  attack(22, 'Keys that every object of JavaScript inherits', 'data like any other'),
  attack(23, 'Keys with slashes, tildes or nothing in them', 'escaped; the patch applies'),
  attack(24, 'A pod so large that its patch would be too', 'a dozen operations for any pod'),
  attack(
    25, 'Annotations so long that ours have no room beside them',
    'admitted within the limit, or refused with the figures',
  ),
  attack(
    26, 'A pod of hundreds of containers and thousands of variables',
    'admitted, or refused for want of room, without taking long',
  ),
  attack(
    27, 'An expression that keeps a backtracking engine busy', 'an engine that is linear, and a bound on expressions',
  ),
  attack(28, 'Names that are as long as they may be, or look alike', 'kept letter by letter'),
  attack(29, 'Quantities that are none, or beyond all bounds', 'read exactly, or named as wrong; never NaN'),
  attack(30, 'A token to join is used again, late, or by somebody else', 'refused with the reason, and an Event'),
  attack(31, 'A signing request names another cluster', 'names follow from who asks, not from the request'),
  attack(
    32, 'A peer at the gateway is somebody else, or bytes are changed on the way',
    'no session, or it ends; nothing that was changed is passed on',
  ),
  attack(33, "A peer announces ranges that are another's, or the whole world", 'refused, and said so'),
  attack(
    34, "A member of a clusterset publishes for another member", 'refused: whose it is follows from the certificate',
  ),
  attack(35, 'A secret leaks into what Isthmus says', 'no output holds it'),
  attack(36, 'Names with line breaks and escape sequences forge lines of the log', 'one line of JSON for each record'),
  attack(
    37, 'One tenant makes so many pods, events or series that others starve', 'turns by namespace, bounded labels',
  ),
  attack(38, 'Clusters send pods in a circle', 'a cluster is no target of itself, and a delegate is not elected again'),
  attack(39, 'Paths of exec and logs lead elsewhere', 'canonical names only'),
  attack(40, 'Exec and logs past the access rules', 'the API server is asked about this very pod'),
  attack(41, 'Streams that flood, never read or never end', 'held back, bounded, ended'),
  attack(42, 'Old TLS, another cipher, an old session', 'refused'),
  attack(
    43, 'Our webhook, policies or kinds are changed by somebody', 'no right of ours lets others; doctor tells of it',
  ),
  attack(
    44, 'A dependency or the image is tampered with', 'a lock file, no scripts, few packages, a bill of materials',
  ),
  attack(45, 'Parsers fed with whatever breaks parsers', 'a million inputs each, led by coverage'),
];

/** A test that names an attack. */
export interface NamedTest {
  readonly id: number;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly title: string;
}

const SUITES = ['unit', 'laws', 'integration'];
/** Titles as they stand in the code; parts that are put in stay as they are written. */
const TITLES = /\b(?:it|describe)\(\s*(?:`([^`]*)`|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/g;

/** All tests of the repository that name attacks, by the names of their files; `root` ends in a slash. */
export function namedTests(root: URL): readonly NamedTest[] {
  const files = ['test/architecture.test.ts', ...SUITES.flatMap(
    (suite) => readdirSync(new URL(`test/${suite}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts'))
      .map((path) => `test/${suite}/${path}`),
  )];
  return files.toSorted().flatMap((file) => [...sourceOf(new URL(file, root)).matchAll(TITLES)].flatMap(
    (found) => testsOf(file, found[1] ?? found[2] ?? found[3] ?? ''),
  ));
}

/** A source file, its titles in one piece each: long ones are concatenated over lines. */
function sourceOf(file: URL): string {
  return readFileSync(file, 'utf8').replaceAll(/(['"`]) \+\s+\1/g, '');
}

function testsOf(file: string, title: string): readonly NamedTest[] {
  return [...new Set([...title.matchAll(/\bC2-(\d+)\b/g)].map(([, id]) => Number(id)))].map(
    (id) => ({ id, file, title: plain(title) }),
  );
}

function plain(title: string): string {
  return title.replace(
    /\bC2-\d+\b(?:(?:, | and )\bC2-\d+\b)*:? ?/g, '',
  ).replace(/ ?\(\)/, '').replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'").replaceAll('|', '\\|').trim();
}

/** The page; `runs` are those of the attacks that once got through. */
export function attacksPage(tests: readonly NamedTest[], runs: readonly AttackRun[]): string {
  const rows = ATTACKS.map(({ id, attack: what, answer }) => {
    const named = tests.filter((test) => test.id === id)
      .map(({ file, title }) => `\`${file.replace(/^test\//, '').replace(/\.test\.ts$/, '')}\`: ${title}`);
    return `| C2-${id} | ${what} | ${answer} | ${named.join('<br>')} |`;
  });
  return `# Attacks, and the tests that make them

Printed from the titles of the tests by \`npm run update-golden\`; a test fails where an attack has none. \`npm test\`
makes all of them. What reads foreign bytes is fuzzed besides.

| | Attack | What happens | Tests |
|---|---|---|---|
${rows.join('\n')}

## The twelve findings, before and after

What got through at commit 6ea8936, in its forms, made again by \`npm run soak -- former-attacks -- CHECKOUT\`: the same
attacks on the sandbox of each checkout, over plain HTTP and its command line.
**gets through** in the last column is open.

- The sources of a sandbox are let into all namespaces at \`privileged\`, the widest that Isthmus grants.
- An honest pod runs before all, and before those on tenants' Targets. Figures are of 2 vCPU that others use, too.
- Each row can fail: all got through at 6ea8936. On a checkout of f954910 without parts of the mends, 22 rows of nine
  findings got through again: all but 5, 7 and 8. Taken out were the limits of admission records, three validations of
  the policy for sources, those of tokens and JoinRequests, paths of \`overrides\`, addresses of tenants' Targets, the
  list of conditions, and the look at owners in \`unpeer\`.

${formerAttacksTable(runs)}`;
}
