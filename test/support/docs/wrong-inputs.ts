// Every command with words that it can run with, from which wrong ones are made. DIR stands for a folder of the test's
// own.
import type { Command, Option } from 'commander';

/** Words after which a command would begin to work, without a kubeconfig of its cluster. */
export const RIGHT_WORDS: Readonly<Record<string, readonly string[]>> = {
  'check-uninstall': [], 'install': [], 'uninstall': [], 'run': [], 'status': [], 'doctor': [],
  'peer': ['--source-kubeconfig', 'DIR/refused.yaml', '--target-kubeconfig', 'DIR/refused.yaml', '--name', 'us'],
  'invite': ['--name', 'us'], 'join': ['TOKEN'], 'approve': ['invitation-1'],
  'adopt': ['us', '--target-kubeconfig', 'DIR/refused.yaml'],
  'migrate admiralty': [], 'migrate rollback': [],
  'unpeer': ['us'], 'cordon': ['us'], 'drain': ['us'], 'uncordon': ['us'], 'failback': ['us'],
  'allow': ['namespace', 'shop'], 'disallow': ['namespace', 'shop'],
  'offload': ['namespace', 'shop'], 'unoffload': ['namespace', 'shop'],
  'move': ['pod/web', '--to', 'us'], 'get': ['targets'], 'explain': ['pod/web'],
  'export argocd': ['--repo', 'https://git.example/apps'], 'export flux': ['--source', 'GitRepository/apps'],
  'export kueue': [],
  'logs': ['web'], 'exec': ['web', 'date'], 'port-forward': ['web', '8080:80'],
  'plan': ['-f', 'DIR/pod.yaml'], 'convert': ['-f', 'DIR/lost.yaml'],
  'lint': ['-f', 'DIR/lost.yaml'],
  'replay': ['DIR/decisions'], 'verify': [], 'bundle': ['--output', 'DIR/bundle.tar.gz'],
  'completion': ['bash'], 'version': [], 'ui': [], 'ui-server': ['--tls-folder', 'DIR'],
  'gateway run': [], 'gateway node': ['--wireguard', 'DIR/none'], 'gateway rotate-key': [], 'gateway leave': [],
  'gateway join': ['TOKEN', '--cluster-id', 'a'],
  'gateway show connections': [], 'gateway show endpoints': [], 'gateway show gateways': [], 'gateway diagnose': [],
  'gateway verify': ['b', '--endpoint', 'http://127.0.0.1:1'],
  'gateway benchmark': ['b', '--endpoint', 'http://127.0.0.1:1'],
  'gateway kubeconfig': ['b', '--kubeconfig', 'DIR/refused.yaml'],
  'broker deploy': ['--url', 'https://broker.example'], 'broker run': [], 'broker token': [], 'broker revoke': ['b'],
  'service run': [], 'service export': ['web'], 'service unexport': ['web'], 'service list': [], 'service stub': [],
  'sandbox build': [], 'sandbox up': [], 'sandbox demo': [], 'sandbox down': ['--dir', 'DIR/none'],
};

/** More that is wrong with single commands, in place of the right words. */
export const WRONG_WORDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  plan: [
    [], ['-f', 'DIR/missing.yaml'], ['-f', 'DIR/empty'], ['-f', 'DIR/text.txt'], ['-f', 'DIR/nothing.yaml'],
    ['-f', 'DIR/pod.yaml', '--snapshot', 'DIR/text.txt'],
    ['-f', 'DIR/pod.yaml', '--snapshot', 'DIR/snapshot', '--without', 'z'],
    ['--snapshot', 'DIR/snapshot', '--record', 'DIR'],
  ],
  convert: [
    [], ['-f', 'DIR/missing.yaml'], ['-f', 'DIR/empty'], ['-f', 'DIR/text.txt'], ['-f', 'DIR/nothing.yaml'],
    ['-f', 'DIR/binary'], ['-f', 'DIR/untyped.yaml'], ['-f', 'DIR/lost.yaml'], ['-f', 'DIR/lost.yaml', '-n', 'A B'],
  ],
  lint: [
    [], ['-f', 'DIR/missing.yaml'], ['-f', 'DIR/empty'], ['-f', 'DIR/text.txt'], ['-f', 'DIR/nothing.yaml'],
    ['-f', 'DIR/binary'], ['-f', 'DIR/pod.yaml', '-n', 'A B'],
  ],
  replay: [['DIR/missing'], ['DIR'], ['DIR/binary'], ['DIR/nothing.yaml'], ['DIR/text.txt']],
  completion: [['BASH'], ['tcsh'], [''], ['bash', 'zsh'], ['bash', '--shell'], ['bash', '--help=1']],
  version: [['-o', 'json'], [''], ['1', '2'], ['--help=1'], ['--kubeconfig', 'DIR/refused.yaml']],
  get: [['pod'], ['pods', '-n', 'A B'], ['targetz'], ['po/web/x'], ['']],
  'export argocd': [['shop/us', '--repo', 'https://git.example/apps'], ['A B', '--repo', 'https://git.example/apps']],
  'export flux': [['--source', 'apps'], ['--source', 'HelmChart/apps'], ['--source', 'GitRepository/a/b']],
  'export kueue': [['us'], ['shop/us'], [''], ['--name', 'A B']],
  explain: [['deploy/web'], ['pod/'], ['web', '-o', 'xml'], ['']],
  logs: [['pod/web', '--since', 'yesterday'], ['job/x/y'], ['']],
  'port-forward': [['web'], ['web', '0'], ['web', 'http'], ['web', '1:99999']],
  drain: [['A B'], ['a/b/c'], [''], ['us', '--timeout-seconds', '0']],
  move: [['web'], ['web', '--to', 'A B'], ['job/web', '--to', 'us']],
  allow: [['pod', 'shop'], ['namespace', 'kube-system'], ['namespace', 'A B']],
  offload:
    [['pod', 'shop'], ['namespace', 'shop', '--selector', '=='], ['namespace', 'shop', '--mapping', 'DefaultName']],
  join: [['nonsense'], [''], ['a.b.c']],
  'gateway join': [['nonsense', '--cluster-id', 'a'], ['nonsense', '--cluster-id', 'A B']],
  'gateway benchmark': [['A B'], ['b', '--endpoint', 'nonsense'], ['']],
  'gateway kubeconfig': [['A B', '--kubeconfig', 'DIR/refused.yaml'], ['b', '--kubeconfig', 'DIR/text.txt']],
  'broker deploy': [['--url', 'http://broker.example'], ['--url', 'nonsense']],
  'sandbox build': [['all'], [''], ['--tools=1'], ['--dir', 'DIR'], ['--help=1'], ['--tool']],
  'sandbox up': [['--targets', '0'], ['--targets'], ['--dir']],
  'sandbox down': [['--dir'], ['all'], [''], ['--directory', 'DIR'], ['--help=1']],
  'sandbox demo': [['--dir'], ['all'], [''], ['--targets', '2'], ['--help=1']],
};

/** Commands that run until they are stopped, and wait for a server or show what it refuses. */
export const SERVICES: ReadonlySet<string> =
  new Set(['run', 'ui', 'ui-server', 'gateway run', 'gateway node', 'broker run', 'service run']);

/** Kubeconfigs that lead to no cluster. */
export const BAD_KUBECONFIGS = ['missing.yaml', 'empty', 'text.txt', 'nothing.yaml', 'binary'] as const;
/** Servers that do not say what is there. */
export const BAD_SERVERS = ['refused', 'unauthorized', 'forbidden', 'login-page'] as const;

/** Commands that have nothing to say against a cluster without Isthmus. */
const CONTENT_WITH_BARE: ReadonlySet<string> = new Set(['check-uninstall', 'uninstall', 'bundle']);

/** All commands that do something, with their names. */
export function leavesOf(command: Command, parents: readonly string[] = []): readonly (
  readonly [name: string, Command]
)[] {
  return command.commands.flatMap((each) => {
    const names = [...parents, each.name()];
    return each.commands.length > 0 ? leavesOf(each, names) : [[names.join(' '), each] as const];
  });
}

/** Every way in which the words of a command are tried wrong. */
export function wrongWords(name: string, command: Command): readonly (readonly string[])[] {
  const right = RIGHT_WORDS[name] ?? [];
  const needs =
    command.registeredArguments.some(({ required }) => required) || command.options.some(({ mandatory }) => mandatory);
  const takesMore = command.registeredArguments.at(-1)?.variadic === true;
  const kubeconfig = kubeconfigFlag(command);
  const values = command.options.flatMap((option) => wrongValues(option).map((words) => [...right, ...words]));
  const rest = kubeconfig === undefined ? [] : wrongClusters(name, kubeconfig).map((words) => [...right, ...words]);
  return [
    ...(needs ? [[]] : []), [...right, '--nonsense'], [...right, '-Z'], ...(takesMore ? [] : [[...right, 'extra']]),
    ...[...values, ...(WRONG_WORDS[name] ?? [])].map((words) => withCluster(name, kubeconfig, words)), ...rest,
  ];
}

/** The first flag of a command that names a kubeconfig. */
function kubeconfigFlag({ options }: Command): string | undefined {
  return options.find(({ long }) => long?.endsWith('kubeconfig') === true)?.long ?? undefined;
}

/** What is wrong must not depend on the kubeconfig of whoever runs the test. */
function withCluster(name: string, kubeconfig: string | undefined, words: readonly string[]): readonly string[] {
  if (kubeconfig !== '--kubeconfig' || words.includes('--kubeconfig')) return words;
  return [...words, '--kubeconfig', SERVICES.has(name) ? 'DIR/missing.yaml' : 'DIR/bare.yaml'];
}

/** Kubeconfigs and servers that are of no use. */
function wrongClusters(name: string, kubeconfig: string): readonly (readonly string[])[] {
  const isAsked = !SERVICES.has(name) && name !== 'gateway kubeconfig';
  const servers = isAsked ? [...BAD_SERVERS, ...(CONTENT_WITH_BARE.has(name) ? [] : ['bare'])] : [];
  const hasContext = kubeconfig === '--kubeconfig' && name !== 'gateway kubeconfig';
  return [
    ...BAD_KUBECONFIGS.map((file) => [kubeconfig, `DIR/${file}`]),
    ...(hasContext ? [[kubeconfig, 'DIR/refused.yaml', '--context', 'nope']] : []),
    ...servers.map((server) => [kubeconfig, `DIR/${server}.yaml`]),
  ];
}

/** An option with a value that it cannot have. */
function wrongValues({ long, required, optional, parseArg, argChoices }: Option): readonly (readonly string[])[] {
  const isChecked = parseArg !== undefined || argChoices !== undefined;
  return isChecked && (required || optional) ? [[long ?? '', 'A B']] : [];
}
