// What a new user met in the first hour, tried by hand, and which test holds that it stays mended. Each row names a
// test by its file and its name.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';

/** What was found, with the file below `test` and the beginning of a test's name. */
const FINDINGS: Readonly<Record<string, readonly (readonly [file: string, name: string])[]>> = {
  'explain and plan said of a target that hangs that its Secret is missing': [
    ['unit/cli/placement/unheard-targets.test.ts', 'says of a target that hangs that it does not answer'],
    ['unit/cli/placement/unheard-targets.test.ts', 'says that a Secret is missing only where it is'],
  ],
  'status and doctor said "none" of what they could not read': [
    ['unit/cli/doctor/unread.test.ts', 'ends with one sentence when nobody listens at the port'],
    ['unit/cli/doctor/unread.test.ts', 'learns from status what is unknown, not that there is nothing'],
    ['unit/cli/doctor/unread.test.ts', 'learns from doctor once what he may not read'],
  ],
  'a cordoned target looked Ready, and no column counted its pods': [
    ['unit/cli/get/get.test.ts', 'shows a cordoned target as kubectl shows a node'],
    ['unit/cli/get/target-table.test.ts', 'counts the pods of each, and shows a cordon'],
    ['unit/virtual-node/node/target-status.test.ts', 'says that its node is cordoned'],
    ['unit/virtual-node/node/node-events.test.ts', 'tells on the node that its target was lost, and why'],
  ],
  'a pod that was elected wrongly was told of an untolerated taint, or of nothing; elect: "false" elected': [
    ['integration/admission/elected-wrongly.test.ts', 'says of '],
    ['integration/admission/elected-wrongly.test.ts', 'that runs here for want of the right label is told by an Event'],
    ['integration/admission/elected-wrongly.test.ts', 'with elect: "false" stays here'],
  ],
  'pods of a target that was deleted stayed Running and Ready on a node that was gone': [
    ['unit/delegate-controller/feedback/feedback-plan.test.ts', 'one that was removed is told of at once'],
  ],
  'kubectl debug of an elected pod hung': [
    [
      'integration/admission/elected-wrongly.test.ts',
      'is refused at once, with what to do: no kubelet runs the proxy pod',
    ],
  ],
  'a candidate that nobody decides about waited for ever, without an Event': [
    ['unit/scheduler/cycle/cluster-cache.test.ts', 'does not wait on while the target decides about later ones'],
    ['unit/scheduler/reporting/placement-event.test.ts', 'tells by the reason of the condition what the pod waits for'],
  ],
  'plan placed DaemonSets, took namespaces for granted, and dropped all files but the last': [
    ['unit/cli/plan/plan.test.ts', 'a DaemonSet is refused'],
    ['unit/cli/plan/plan.test.ts', 'a namespace that does not exist takes no pod'],
    ['unit/cli/plan/plan.test.ts', 'a target that refuses the namespace gets none of its pods'],
    ['unit/cli/placement/kubectl-habits.test.ts', 'plan reads every file that is named with -f'],
  ],
  'a policy that leaves no target was Ready; heartbeats were of the year 1': [
    ['unit/scheduler/policies/policy-status.test.ts', 'says that no target is left to its pods'],
    ['unit/virtual-node/node/virtual-node.test.ts', 'says when it was reported, again after five minutes'],
  ],
  'values of the chart were rendered that do nothing, hold up every drain, or stop the process': [
    ['integration/chart.test.ts', 'makes no PodDisruptionBudget that would hold up every drain'],
    ['integration/chart.test.ts', 'refuses '],
    ['unit/manifests/files.test.ts', 'knows the scores that the scheduler knows'],
  ],
  'commands ended with 0 after wrong input, a full disk or Ctrl-C, or printed EISDIR': [
    ['unit/cli/command-line.test.ts', 'is an error of '],
    ['unit/cli/command-line.test.ts', 'ends "logs -f" with 130 and no word'],
    ['unit/cli/placement/replay.test.ts', 'holds no decision'],
    ['unit/cli/output/error-text.test.ts', 'tells of '],
    ['unit/cli/wrong-input.test.ts', 'has every command'],
  ],
  'notes of the chart and advice of install named options that no command has': [
    ['unit/cli/advice.test.ts', 'advise five commands'],
    ['unit/cli/advice.test.ts', 'can be typed for a '],
  ],
  'the image was in no registry, and no page said how to bring it there; an example waited for ever': [
    ['unit/manifests/oci-image.test.ts', 'has our layer on top of those of the base image'],
    ['integration/release.test.ts', 'is an archive that Helm renders, with a private image by digest'],
    ['soak/peers/registries.test.ts', 'pushes image and chart, also when everything is typed twice'],
    [
      'soak/peers/registries.test.ts',
      'installs by one command objects that name the registry, the digest and the Secret',
    ],
    ['unit/docs/pages.test.ts', 'has no example whose pods wait for a target'],
  ],
  "README's figures contradicted the pages of results": [['unit/docs/readme.test.ts', 'claims what was measured']],
  'habits of kubectl users met unknown options': [
    ['unit/cli/get/get.test.ts', 'shows one: '],
    ['unit/cli/get/get.test.ts', 'with -w shows what is there'],
    ['unit/cli/examples.test.ts', 'are of every command, and of no other'],
    ['unit/cli/completion.test.ts', 'offers kinds, targets and pods'],
    ['unit/cli/streams/workload-pods.test.ts', 'takes a running pod and says which'],
  ],
  'delegates could be found by the UID of their pod alone': [
    ['unit/model/delegate/pod-chaperon.test.ts', 'is found by the name of its pod'],
  ],
  'plurals collided with Gateway API, Cluster API and core': [
    ['unit/manifests/install.test.ts', 'collide with no kind of Kubernetes'],
  ],
  'the sandbox did not say what it simulates, and Jobs of its demo never ended': [
    ['unit/sandbox/sandbox-command.test.ts', 'says before anything is typed what is simulated'],
    ['integration/sandbox.test.ts', "completes delegates of a Job's pods"],
  ],
  'a Service of elected pods had no endpoints, and no word about it': [
    ['unit/delegate-controller/follow/follow-annotations-controller.test.ts', 'says that it has no endpoints here'],
  ],
  'the metric of readiness, the reasons and the pages contradicted what happens': [
    ['unit/virtual-node/node/target-status.test.ts', 'says ready exactly when the condition says so'],
    ['unit/docs/reasons.test.ts', 'say after how many seconds a pod is told that nobody has processed it'],
    ['unit/docs/reasons.test.ts', 'of tokens that do not hold are on the page of joining'],
    ['integration/chart.test.ts', 'gives the one Deployment what controllerManager says'],
    ['integration/chart.test.ts', 'says what the Job before an uninstall is like under its own name'],
  ],
  'labels that all nodes of a target agree on were missing from its virtual node': [
    ['unit/delegate-controller/capacity/cluster-summary.test.ts', 'shows the labels on which all nodes'],
  ],
  'alerts named no page, and queries of the dashboard were tried by nobody': [
    ['unit/manifests/monitoring.test.ts', 'have a severity, a time, a sentence and a place on the page'],
    ['unit/manifests/monitoring.test.ts', 'has a unit and a sentence for each panel'],
    ['unit/manifests/monitoring.test.ts', 'is what Grafana reads'],
    ['soak/page/queries.test.ts', 'are the alerts, as promtool would check them'],
    ['soak/page/queries.test.ts', 'every query of alerts and dashboard gives an answer'],
  ],
  'kubeconfigs of clouds were refused, and nothing said how to allow them': [
    ['unit/kubernetes/credentials/local-access.test.ts', 'runs the program that the installation names'],
    ['unit/kubernetes/credentials/local-access.test.ts', 'a program where none is named'],
    ['unit/kubernetes/credentials/exec-plugin.test.ts', 'leaves the first answer in use until it expires'],
    ['unit/targets/target-kubeconfig.test.ts', 'of a ClusterTarget in the namespace of a team'],
    ['soak/access/cloud-kubeconfigs.test.ts', 'goes on with the next token before one expires'],
    ['soak/access/cloud-kubeconfigs.test.ts', 'stops no other target'],
    ['soak/access/cloud-kubeconfigs.test.ts', 'is reached through the proxy, logs and all'],
    ['integration/chart.test.ts', 'gives exec plugins a home'],
  ],
  'pods that fit nowhere waited although a target has an autoscaler': [
    ['unit/scheduler/decision/filters.test.ts', 'may have another one like them, without a declaration'],
    ['integration/shared/autoscaled-target.test.ts', 'goes to the one target whose nodes Karpenter makes'],
    ['integration/shared/autoscaled-target.test.ts', 'is told why where no target shows an autoscaler'],
  ],
};

describe('what a new user met in the first hour', () => {
  for (const [finding, tests] of Object.entries(FINDINGS)) {
    it(`is held by tests: ${finding}`, async () => {
      assert.ok(tests.length > 0);
      for (const [file, name] of tests) {
        const text = await readFile(fileURLToPath(new URL(`../../../test/${file}`, import.meta.url)), 'utf8');
        const isThere = text.includes(name) || text.replaceAll("\\'", "'").includes(name);
        assert.ok(isThere, `${file} has no test "${name}"`);
      }
    });
  }
});
