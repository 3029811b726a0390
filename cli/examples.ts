// Examples of every command, shown by `--help` and on the page of commands. A test runs each through the parser.
import type { Command } from 'commander';

/** What an example does, and its command line. */
export type Example = readonly [what: string, line: string];

const NAMED = 'isthmus-system';

/** By the command's name without `isthmus`. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  'install': [
    ['Install into the cluster of the current context, as source and target', 'isthmus install'],
    ['Install only what a target needs', 'isthmus install --role target --kubeconfig target.yaml'],
    ['See what would be applied', 'isthmus install --dry-run'],
  ],
  'check-uninstall': [['See what blocks an uninstall', 'isthmus check-uninstall --kubeconfig source.yaml']],
  'uninstall': [
    ['Uninstall, and keep the CRDs and their objects', 'isthmus uninstall'],
    ['Uninstall everything', 'isthmus uninstall --purge'],
  ],
  'run': [
    ['Run all components for the cluster of the current context', 'isthmus run'],
    ['Run those of a cluster that is only a source', 'isthmus run --no-target --kubeconfig source.yaml'],
  ],
  'peer': [[
    'Let a source use a target, with the kubeconfigs of both',
    'isthmus peer --source-kubeconfig source.yaml --target-kubeconfig target.yaml --name eu-west',
  ]],
  'invite': [[
    'Invite a source whose pods may run in namespace production',
    'isthmus invite --name eu-west --allow-namespace production --kubeconfig target.yaml',
  ]],
  'join': [['Join with the token that "isthmus invite" printed', 'isthmus join TOKEN --kubeconfig source.yaml']],
  'approve': [['Approve the cluster that waits', 'isthmus approve invitation-5d2c91a3f0 --kubeconfig target.yaml']],
  'adopt': [['See which pods would be taken over', 'isthmus adopt eu-west --target-kubeconfig target.yaml --dry-run']],
  'migrate admiralty': [
    ['See what would be done in a target', 'isthmus migrate admiralty --dry-run --kubeconfig target.yaml'],
    ['Migrate a source', 'isthmus migrate admiralty --target eu-west=target.yaml --kubeconfig source.yaml'],
  ],
  'migrate rollback': [[
    'Roll a source back', 'isthmus migrate rollback --target eu-west=target.yaml --kubeconfig source.yaml',
  ]],
  'unpeer': [
    ['Leave a target', 'isthmus unpeer eu-west'],
    ['Leave a target that is gone for good', 'isthmus unpeer eu-west --force'],
  ],
  'cordon': [['Keep new pods off a target', 'isthmus cordon eu-west']],
  'drain': [
    ['Keep new pods off a target and evict those that run there', 'isthmus drain eu-west'],
    ['Also evict pods without a controller', 'isthmus drain eu-west --evict-unmanaged'],
  ],
  'uncordon': [['Allow new pods again', 'isthmus uncordon eu-west']],
  'allow': [
    ['Let all sources run pods in a namespace', 'isthmus allow namespace production --kubeconfig target.yaml'],
    ['Let one source', 'isthmus allow namespace production --source berlin --kubeconfig target.yaml'],
  ],
  'disallow': [['Stop it', 'isthmus disallow namespace production --kubeconfig target.yaml']],
  'offload': [
    ['Elect all new pods of a namespace', 'isthmus offload namespace batch'],
    ['Only to targets in Europe', 'isthmus offload namespace batch --selector topology.kubernetes.io/region=eu'],
  ],
  'unoffload': [['Stop electing them', 'isthmus unoffload namespace batch']],
  'move': [['Move a pod to another target', 'isthmus move pod/web-7d9f8-4kq2x -n shop --to eu-west']],
  'failback': [['Return pods to a target that was lost', 'isthmus failback eu-west']],
  'status': [
    ['See a cluster at a glance', 'isthmus status'], ['For programs', 'isthmus status -o json'],
    ['As a map for a browser', 'isthmus status -o svg'],
  ],
  'doctor': [['Diagnose a cluster', 'isthmus doctor'], ['List everything healthy as well', 'isthmus doctor -o wide']],
  'get': [
    ['List targets', 'isthmus get targets'],
    ['List elected pods of all namespaces with their delegates, and what changes', 'isthmus get pods -A -w'],
    ['List those of a label in one namespace', 'isthmus get pods -n shop -l app=web'],
    ['Print one target', 'isthmus get target eu-west -o yaml'],
    [
      'Print names and clusters of all targets',
      String.raw`isthmus get targets -o jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.clusterID}{"\n"}{end}`,
    ],
  ],
  'export argocd': [
    [
      'Deploy an application to all targets that Argo CD knows',
      'isthmus export argocd --repo https://git.example/apps --path web',
    ],
  ],
  'export flux': [
    ['Deliver to the targets in Europe', 'isthmus export flux --source GitRepository/apps --selector region=eu'],
  ],
  'export kueue': [['Make two targets workers of MultiKueue', 'isthmus export kueue eu-west us-east']],
  'explain': [
    ['See why a pod was placed where it is, or why it waits', 'isthmus explain pod/web-7d9f8-4kq2x -n shop'],
    ['See every check and score', 'isthmus explain web-7d9f8-4kq2x -n shop -o wide'],
    ['As a table of targets by checks and scores', 'isthmus explain web-7d9f8-4kq2x -n shop -o matrix'],
  ],
  'ui': [
    ['Open the page in your browser', 'isthmus ui'],
    ['Start with one namespace, on a machine without a browser', 'isthmus ui -n shop --port 9000 --no-open'],
  ],
  'ui-server': [
    ['Serve the page in a cluster', 'isthmus ui-server --host isthmus.example.com --tls-folder /etc/isthmus/tls'],
  ],
  'logs': [
    ['Follow the log of an elected pod', 'isthmus logs -f web-7d9f8-4kq2x -n shop'],
    ['The last lines of a pod of a Deployment', 'isthmus logs deploy/web -n shop --tail 20'],
  ],
  'exec': [
    ['Run a command in an elected pod', 'isthmus exec web-7d9f8-4kq2x -n shop -- date'],
    ['Open a shell in a pod of a Deployment', 'isthmus exec -i -t deploy/web -n shop -- sh'],
  ],
  'port-forward': [
    ['Forward local port 8080 to port 80 of a pod', 'isthmus port-forward web-7d9f8-4kq2x -n shop 8080:80'],
    ['To a pod behind a Service, from a free local port', 'isthmus port-forward svc/web -n shop :80'],
  ],
  'plan': [
    ['See where the pods of a manifest would be placed', 'isthmus plan -f app.yaml'],
    ['Without a target, and with 4 more GPUs in another', 'isthmus plan -f app.yaml --without us --add 4xH100@eu-west'],
  ],
  'lint': [
    ['Check a folder of manifests before its pods are elected', 'isthmus lint -f deploy/'],
    ['For programs, with a namespace for objects that name none', 'isthmus lint -f app.yaml -n shop -o json'],
  ],
  'convert': [
    ['Print what a FederatedDeployment is in Isthmus', 'isthmus convert -f federated.yaml'],
    ['Convert policies of Karmada with the workloads that they select', 'isthmus convert -f policies -f workloads'],
  ],
  'replay': [['Replay the decisions of a log', 'isthmus replay decisions.log']],
  'verify': [
    ['Run a pod in each target, and time every step', 'isthmus verify'],
    ['In one target', 'isthmus verify eu-west -n shop'],
  ],
  'bundle': [['Write a support archive', 'isthmus bundle --output isthmus-bundle.tar.gz']],
  'completion': [['Complete commands, kinds, targets and pods in this shell', 'isthmus completion bash']],
  'version': [['Print the version', 'isthmus version']],
  'gateway run': [
    ['Run a gateway that others can dial', 'isthmus gateway run'],
    ['Run a gateway that can only dial out', 'isthmus gateway run --listen none'],
  ],
  'gateway node': [['Run the pod plane on this node', 'isthmus gateway node']],
  'gateway rotate-key': [['Rotate the key of the pod plane', 'isthmus gateway rotate-key']],
  'gateway join': [[
    'Join a clusterset',
    'isthmus gateway join TOKEN --cluster-id berlin --address gateway.berlin.example:4510 --cluster-cidr 10.1.0.0/16',
  ]],
  'gateway leave': [['Leave the clusterset', 'isthmus gateway leave']],
  'gateway show connections': [['See the gateway connections', 'isthmus gateway show connections']],
  'gateway show endpoints': [['Show the endpoints of gateways', 'isthmus gateway show endpoints']],
  'gateway show gateways': [['See the gateway processes', 'isthmus gateway show gateways']],
  'gateway diagnose': [['Check what this cluster needs to reach others', 'isthmus gateway diagnose']],
  'gateway verify': [['Test the route to a cluster', 'isthmus gateway verify berlin --endpoint http://127.0.0.1:8132']],
  'gateway benchmark': [['Measure latency and throughput', 'isthmus gateway benchmark berlin --calls 1000']],
  'gateway kubeconfig': [[
    'Print a kubeconfig that uses the gateway', 'isthmus gateway kubeconfig berlin --kubeconfig berlin.yaml',
  ]],
  'broker deploy': [['Deploy the broker of a clusterset', 'isthmus broker deploy --url https://broker.example']],
  'broker run': [['Run the broker outside a cluster', 'isthmus broker run --kubeconfig broker.yaml']],
  'broker token': [['Let a cluster join', 'isthmus broker token --cluster-id berlin']],
  'broker revoke': [['Revoke a member', 'isthmus broker revoke berlin']],
  'service run': [['Run service discovery', `isthmus service run --namespace ${NAMED}`]],
  'service export': [['Export a Service to all clusters', 'isthmus service export web -n shop']],
  'service unexport': [["Stop exporting it", 'isthmus service unexport web -n shop']],
  'service list': [['See the Services of all clusters', 'isthmus service list']],
  'service stub': [['Print the CoreDNS configuration', 'isthmus service stub']],
  'sandbox build': [['Build the control planes, once', 'isthmus sandbox build']],
  'sandbox up': [
    ['Start a source and two targets', 'isthmus sandbox up'],
    ['Start more, in the background', 'isthmus sandbox up --targets 4 --nodes 5 --gpus 8 --detach'],
  ],
  'sandbox demo': [['Watch pods of a source run in two targets', 'isthmus sandbox demo']],
  'sandbox down': [['Stop it', 'isthmus sandbox down']],
};

/** Adds them to the help of all commands below this one. */
export function addExamples(command: Command, parents: readonly string[] = []): void {
  for (const nested of command.commands) {
    const names = [...parents, nested.name()];
    const examples = EXAMPLES[names.join(' ')];
    if (examples !== undefined) nested.addHelpText('after', `\n${examplesText(examples)}`);
    addExamples(nested, names);
  }
}

/** As kubectl shows them. */
function examplesText(examples: readonly Example[]): string {
  return ['Examples:', ...examples.map(([what, line]) => `  # ${what}\n  ${quoted(line)}`)].join('\n');
}

/** As it is typed in a shell. */
export function quoted(line: string): string {
  return line.replace(/jsonpath=(.*)$/, "jsonpath='$1'");
}
