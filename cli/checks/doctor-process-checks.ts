// Whether the components run: by their Leases, the webhook by a dry run, certificates by their dates. Pure.
import type { Lease } from '../../api/objects/core.ts';
import { WEBHOOK_CONFIGURATION_NAME } from '../../manifests/objects/webhook-configuration.ts';
import { certificateDates } from './certificate-dates.ts';
import { hasPermissions } from './doctor-install-checks.ts';
import { containerOf, foundOr, type DoctorFacts, type Finding, type Validity } from './doctor-facts.ts';

/** A certificate that expires this soon, in ms, is not being renewed. */
const SOON_MS = 7 * 86_400_000;
const LEASE_PREFIX = 'isthmus-';
/** Components with leader election. */
const LEADER_ELECTED: ReadonlySet<string> =
  new Set(['scheduler', 'delegate-controller', 'virtual-node', 'peering', 'discovery']);
/** Those of them that have no Lease of their own beside others. */
const LED_BY_OTHERS: ReadonlySet<string> = new Set(['peering', 'discovery']);
/** By which one sees what is installed. */
const PERMISSIONS: ReadonlySet<string> = new Set(['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings']);
/** How long after its expiry a Lease should have a new holder, if any replica runs. In ms. */
const TAKEN_OVER_MS = 30_000;

/** Reports components without a leader. A Lease of one that no longer runs here says nothing. */
export function checkComponents(facts: DoctorFacts): readonly Finding[] {
  const check = 'Components';
  const { leases, installNamespace, nowMs, server } = facts;
  const clusterNow = nowMs + (typeof server === 'object' ? server.aheadMs : 0);
  const held = new Map(leases.flatMap((lease) => {
    const { name = '' } = lease.metadata;
    const component = name.slice(LEASE_PREFIX.length);
    return name.startsWith(LEASE_PREFIX) && LEADER_ELECTED.has(component) ? [[component, lease] as const] : [];
  }));
  const found = [...held].flatMap(([subject, lease]): readonly Finding[] => {
    const { holder, since } = holderOf(lease, clusterNow);
    if (holder !== undefined) return [{ check, severity: 'ok', subject, message: `${holder} is the leader` }];
    return isUnused(facts, subject) ? [] : [{
      check, severity: 'error', subject, message: `no replica is the leader${since}`,
      remedy: `Restart it: "isthmus run --components ${subject}", or look at the pods of its Deployment.`,
    }];
  });
  const neverLed = runsOf(facts).flatMap(
    ({ deployment, leased }) => leased.filter((component) => !held.has(component)).map((subject): Finding => ({
      check, severity: 'error', subject, message: `no replica of Deployment ${deployment} has ever been the leader`,
      remedy: `Look why: "kubectl describe pods -n ${installNamespace} -l app.kubernetes.io/name=${deployment}".`,
    })),
  );
  const findings = [...found, ...neverLed];
  return findings.length > 0 ? findings : [{
    check, severity: 'error', subject: 'this cluster', message: 'no component runs here',
    remedy: 'Run "isthmus run", or install the chart.',
  }];
}

/** What the Deployments run: all their components, and those that have a Lease of their own there. */
function runsOf({ deployments }: DoctorFacts) {
  return deployments.map((deployment) => {
    const { args = [] } = containerOf(deployment);
    const all = args[args.indexOf('--components') + 1]?.split(',').filter((one) => LEADER_ELECTED.has(one)) ?? [];
    const others = all.filter((component) => !LED_BY_OTHERS.has(component));
    return { deployment: deployment.metadata.name, all, leased: others.length === 0 ? all : others };
  });
}

/** Whether a component was left out of the installation, or has come to run beside others, which are leased for it. */
function isUnused(facts: DoctorFacts, component: string): boolean {
  const isRead = facts.unread.every(({ what }) => !PERMISSIONS.has(what));
  return (isRead && !hasPermissions(facts, `${LEASE_PREFIX}${component}`))
    || runsOf(facts).some(({ all, leased }) => all.includes(component) && !leased.includes(component));
}

/** Which process is the leader, or since when there is none; `now` by the cluster's clock. */
function holderOf({ spec = {} }: Lease, now: number): { readonly holder: string | undefined; readonly since: string } {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec;
  const isHeld = holderIdentity !== '' && now - Date.parse(renewTime) < leaseDurationSeconds * 1_000 + TAKEN_OVER_MS;
  return { holder: isHeld ? holderIdentity : undefined, since: renewTime === '' ? '' : ` since ${renewTime}` };
}

/** The API server reaches the webhook, and the webhook elects pods. */
export function checkWebhook({ webhook, probe, targets }: DoctorFacts): readonly Finding[] {
  const check = 'Webhook';
  const subject = `MutatingWebhookConfiguration ${WEBHOOK_CONFIGURATION_NAME}`;
  const finding = (severity: Finding['severity'], message: string, remedy?: string): readonly Finding[] =>
    [{ check, severity, subject, message, ...(remedy !== undefined && { remedy }) }];
  if (targets.length === 0) return finding('ok', 'this cluster has no targets, and so elects no pods');
  if (webhook === undefined) {
    return finding('error', 'it does not exist, so pods are not elected', 'Run "isthmus install" in this cluster.');
  }
  if ((webhook.webhooks ?? []).some(({ clientConfig }) => (clientConfig.caBundle ?? '') === '')) {
    return finding(
      'error', 'it has no caBundle: the webhook has never run, so elected pods are denied',
      'Start the component webhook ("isthmus run", or its Deployment); it writes its CA itself.',
    );
  }
  switch (probe.kind) {
    case 'mutated':
      return finding('ok', 'an elected pod in a dry run came back as a proxy pod');
    case 'not-opted-in':
      return finding(
        'warning', 'no namespace has opted in, so nothing is elected, and the webhook could not be tested',
        'Run "kubectl label namespace NAME multicluster-scheduler=enabled".',
      );
    case 'bypassed':
      return finding(
        'error',
        `an elected pod of namespace ${probe.namespace} came back unchanged: the API server did not call the webhook`,
        'Run "isthmus install" again: the selectors of the configuration were changed. With failurePolicy Ignore ' +
          'the webhook may be down.',
      );
    case 'denied-by-others':
      return finding(
        'warning', `no namespace that has opted in takes the pod of a dry run, so it could not be tested: ` +
          probe.message,
      );
    case 'failed':
      return finding(
        'error', `the API server cannot reach it: ${probe.message}`,
        'Check that the webhook runs, that the API server can reach its Service or --webhook-url (firewalls, ' +
          'network policies), and that caBundle is its CA.',
      );
  }
}

/** Reports certificates that have expired or soon will. */
export function checkCertificates({ webhook, targets, server, nowMs }: DoctorFacts): readonly Finding[] {
  const check = 'Certificates';
  const bundle = Buffer.from(webhook?.webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
  const all: readonly (readonly [string, Validity | undefined, string])[] = [
    ...certificateDates(bundle).map(
      (validity) => [
        'authority of the webhook', validity,
        'Restart the webhook: it renews its own CA. Renew one that you provided (--webhook-certificate, ' +
          'cert-manager) yourself.',
      ] as const,
    ),
    [
      'certificate of this API server', typeof server === 'object' ? server.certificate : undefined,
      'Renew it with the tools of this cluster (kubeadm certs renew, or those of its provider).',
    ],
    ...targets.flatMap(({ name, authorities, server: there }) => [
      ...authorities.map(
        (validity) => [
          `authority in the kubeconfig of target ${name}`, validity,
          `Give this source a new kubeconfig: "isthmus peer" again, or "isthmus unpeer ${name}" and "isthmus join".`,
        ] as const,
      ),
      [
        `certificate of the API server of target ${name}`, typeof there === 'object' ? there.certificate : undefined,
        "It is renewed with the target's own tools.",
      ] as const,
    ]),
  ];
  const findings = all.flatMap(([subject, validity, remedy]) => (
    validity === undefined ? [] : judged(check, subject, { validity, remedy, nowMs })
  ));
  return foundOr(findings, check, 'all are valid for more than a week');
}

function judged(check: string, subject: string, { validity: { fromMs, untilMs }, remedy, nowMs }: {
  readonly validity: Validity; readonly remedy: string; readonly nowMs: number
}): readonly Finding[] {
  const until = new Date(untilMs).toISOString();
  if (nowMs < fromMs) return [{
    check, severity: 'error', subject, message: `it is not valid before ${new Date(fromMs).toISOString()}`,
    remedy: 'Correct the clocks of this machine and of the issuer.',
  }];
  if (nowMs >= untilMs) return [{ check, severity: 'error', subject, message: `it expired at ${until}`, remedy }];
  return untilMs - nowMs < SOON_MS
    ? [{ check, severity: 'warning', subject, message: `it expires at ${until}`, remedy }]
    : [];
}
