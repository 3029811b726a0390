// Whether joined clusters are compatible and healthy: versions, clocks, targets and their credentials, sources, CIDRs.
// Pure.
import { findCondition } from '../../model/objects/conditions.ts';
import { serverStateOf } from '../../model/delegate/availability-reasons.ts';
import { doOverlap, parseRange } from '../../model/network/ip-range.ts';
import type { ClustersetMember } from '../../api/kinds/gateway.ts';
import { containerOf, foundOr, type DoctorFacts, type Finding, type ServerProbe } from './doctor-facts.ts';

/** Kubernetes version in which ValidatingAdmissionPolicy is GA, which isolates sources. */
const FIRST_MINOR = 30;
/** Allowed skew of kubelets (Kubernetes "Version Skew Policy"); a virtual node is a kubelet to its source. */
const MAX_SKEW = 3;
/** Tokens are validated by their issuer's clock: beyond a minute some are rejected. In ms. */
const CLOCK_ERROR_MS = 60_000;
const CLOCK_WARNING_MS = 5_000;
/** Part of a token's lifetime after which it should have been renewed: two thirds, plus room for an outage. */
const OVERDUE = 0.8;

/** Versions of Kubernetes and of Isthmus. */
export function checkVersions(facts: DoctorFacts): readonly Finding[] {
  const { kubernetes, version } = facts;
  const findings = [...ownVersion(facts), ...skewOfTargets(facts), ...skewOfDeployments(facts)];
  return foundOr(findings, 'Versions', `Isthmus ${version}, Kubernetes ${kubernetes ?? 'of unknown version'}`);
}

function ownVersion({ kubernetes }: DoctorFacts): readonly Finding[] {
  if ((minorOf(kubernetes) ?? FIRST_MINOR) >= FIRST_MINOR) return [];
  const remedy =
    `Upgrade it to 1.${FIRST_MINOR} or later: without policies, sources are not isolated from each other.`;
  return [{
    check: 'Versions', severity: 'error', subject: 'this cluster',
    message: `Kubernetes ${kubernetes} has no admission policies`, remedy,
  }];
}

function skewOfTargets({ kubernetes, targets }: DoctorFacts): readonly Finding[] {
  const own = minorOf(kubernetes);
  return targets.flatMap(({ name, kubernetes: there }): readonly Finding[] => {
    const minor = minorOf(there);
    if (minor === undefined || own === undefined || Math.abs(minor - own) <= MAX_SKEW) return [];
    const remedy = 'Upgrade the older one: fields of pods that its API server does not know are lost.';
    return [{
      check: 'Versions', severity: 'warning', subject: `target ${name}`,
      message: `it has Kubernetes ${there}, this cluster ${kubernetes}`, remedy,
    }];
  });
}

function skewOfDeployments({ deployments, version }: DoctorFacts): readonly Finding[] {
  return deployments.flatMap((deployment): readonly Finding[] => {
    const { image = '' } = containerOf(deployment);
    const tag = /:([^:/]+)$/.exec(image.replace(/@.*/, ''))?.[1]; // a digest alone tells no version
    if (tag === undefined || tag === version || tag === `v${version}`) return [];
    const remedy = 'Use the same version of both: upgrade the chart, or this program.';
    return [{
      check: 'Versions', severity: 'warning', subject: `Deployment ${deployment.metadata.name}`,
      message: `it runs ${image}, this program is ${version}`, remedy,
    }];
  });
}

function minorOf(version: string | undefined): number | undefined {
  const minor = /^v?1\.(\d+)/.exec(version ?? '')?.[1];
  return minor === undefined ? undefined : Number(minor);
}

/** Reports clocks of this machine, of this cluster and of its targets that differ. */
export function checkClocks({ server, targets }: DoctorFacts): readonly Finding[] {
  const check = 'Clocks';
  const own: ServerProbe = typeof server === 'object' ? server : { aheadMs: 0, uncertainMs: 0, certificate: undefined };
  const looks = targets.flatMap(({ name, server: there }) => (
    typeof there === 'object' ? [
      [
        `target ${name}`, there.aheadMs - own.aheadMs, there.uncertainMs + own.uncertainMs, 'that of this cluster',
      ] as const,
    ] : []
  ));
  const here =
    typeof server === 'object' ? [['this cluster', own.aheadMs, own.uncertainMs, 'this machine'] as const] : [];
  const findings = [...here, ...looks].flatMap(([subject, aheadMs, uncertainMs, of]): readonly Finding[] => {
    const off = Math.abs(aheadMs) - uncertainMs;
    if (off < CLOCK_WARNING_MS) return [];
    const message =
      `its clock is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${of}`;
    return [{
      check, severity: off >= CLOCK_ERROR_MS ? 'error' : 'warning', subject, message,
      remedy: 'Use NTP on both: if clocks differ, tokens, invitations and leases are rejected or expire early.',
    }];
  });
  return foundOr(findings, check, `${here.length + looks.length} clocks agree`);
}

/** Each target is Ready. */
export function checkTargets({ targets }: DoctorFacts): readonly Finding[] {
  const check = 'Targets';
  const findings = targets.map(({ name, object, problem, server, isUnauthorized }): Finding => {
    const subject = `target ${name}`;
    if (problem !== undefined) return {
      check, severity: 'error', subject, message: problem,
      remedy:
        `Peer again, or give its Secret a kubeconfig that may be used; "isthmus unpeer ${name}" removes the target.`,
    };
    const ready = findCondition(object.status?.conditions, 'Ready');
    if (ready === undefined) return {
      check, severity: 'error', subject, message: 'no component has processed it yet',
      remedy: 'Start Isthmus in this cluster ("isthmus run", with the component virtual-node).',
    };
    if (ready.status === 'True' && isUnauthorized === true) return {
      check, severity: 'error', subject, message: 'it still shows Ready, but no longer accepts the credentials',
      remedy: remedyFor('Unauthorized', name),
    };
    if (ready.status === 'True') return { check, severity: 'ok', subject, message: 'it is Ready' };
    const reachable = typeof server === 'string' ? `. From here: ${server}` : '';
    return {
      check, severity: 'error', subject, message: `${ready.reason}: ${ready.message}${reachable}`,
      remedy: remedyFor(ready.reason, name),
    };
  });
  return foundOr(findings, check, 'it has no targets');
}

function remedyFor(reason: string | undefined, name: string): string {
  if (reason === 'Unauthorized' || reason === 'SecretMissing') {
    return `Its credentials are worth nothing: ask for an invitation and join again, after "isthmus unpeer ${name} ` +
      '--force".';
  }
  if (reason === 'Forbidden') {
    return 'Run "isthmus install" in the target again; then look at its (Cluster)Source there ("kubectl get ' +
      'clustersources").';
  }
  if (['fails', 'unknown'].includes(serverStateOf(reason ?? ''))) {
    return `Look whether its API server runs and can be reached from this cluster; "isthmus unpeer ${name} --force" ` +
      'leaves a target that is gone for good.';
  }
  return `Do what the message says; docs/reasons.md explains the reason. "isthmus unpeer ${name}" removes the target.`;
}

/** Tokens are valid and renewed. */
export function checkCredentials({ targets, nowMs, server }: DoctorFacts): readonly Finding[] {
  const check = 'Credentials';
  const now = nowMs + (typeof server === 'object' ? server.aheadMs : 0);
  const findings = targets.flatMap(({ name, token, isRenewed }): readonly Finding[] => {
    if (token === undefined) return [];
    const subject = `token of target ${name}`;
    const until = new Date(token.untilMs).toISOString();
    if (now >= token.untilMs) return [{
      check, severity: 'error', subject, message: `it expired at ${until}`,
      remedy: `Ask for an invitation and join again, after "isthmus unpeer ${name} --force", or peer again.`,
    }];
    if (now < token.fromMs + (token.untilMs - token.fromMs) * OVERDUE) return [];
    const remedy = isRenewed
      ? 'Start the component peering in this cluster, and check that it can reach the target.'
      : 'It is not renewed, because peering did not create it: write a new kubeconfig into its Secret.';
    return [{ check, severity: 'warning', subject, message: `it expires at ${until} and was not renewed`, remedy }];
  });
  const tokens = targets.filter(({ token }) => token !== undefined);
  return foundOr(findings, check, `${tokens.length} tokens are valid`);
}

/** Each source has its identity and is confined to its own objects. */
export function checkSources({ sources }: DoctorFacts): readonly Finding[] {
  const check = 'Sources';
  const findings = sources.flatMap(({ metadata, status }): readonly Finding[] => {
    const subject = metadata.namespace === undefined
      ? `ClusterSource ${metadata.name}`
      : `Source ${metadata.namespace}/${metadata.name}`;
    const [ready, guarded] = ['Ready', 'Guarded'].map((type) => findCondition(status?.conditions, type));
    const finding = (
      severity: Finding['severity'], reason: string | undefined, message: string | undefined, remedy: string,
    ): Finding => ({ check, severity, subject, message: `${reason}: ${message}`, remedy });
    const found: Finding[] = [];
    if (ready === undefined) found.push({
      check, severity: 'error', subject, message: 'its identity has not been created yet',
      remedy: 'Start the component peering in this cluster.',
    });
    else if (ready.status !== 'True') {
      found.push(finding('error', ready.reason, ready.message, 'Correct its spec as the message says.'));
    }
    if (guarded !== undefined && guarded.status !== 'True') {
      found.push(finding('warning', guarded.reason, guarded.message, 'Set spec.clusterID.'));
    }
    return found;
  });
  return foundOr(findings, check, `${sources.length} sources may send pods here`);
}

/** Members of the clusterset have distinct pod CIDRs, or global CIDRs. */
export function checkRanges({ members }: DoctorFacts): readonly Finding[] {
  const check = 'CIDRs';
  const findings =
    members.flatMap((one, index) => members.slice(index + 1).flatMap((other) => overlapsOf(check, one, other)));
  return foundOr(findings, check, `no ranges of ${members.length} members overlap`, 'the clusterset');
}

function overlapsOf(check: string, one: ClustersetMember, other: ClustersetMember): readonly Finding[] {
  const subject = `${one.spec.clusterID} and ${other.spec.clusterID}`;
  const pairs = rangesOf(one).flatMap(
    (left) => rangesOf(other).filter((right) => doOverlap(left.range, right.range))
      .map((right) => [left, right] as const),
  );
  return pairs.map(([left, right]): Finding => {
    const message = `${left.what} ${left.range.text} and ${right.what} ${right.range.text} overlap`;
    const areMapped = left.what === 'pods' && right.what === 'pods'
      && [one, other].every(({ spec }) => (spec.globalCIDR ?? []).length > 0);
    if (areMapped) return { check, severity: 'ok', subject, message: `${message}; pods have global addresses` };
    return {
      check, severity: 'error', subject, message,
      remedy: left.what === 'pods' && right.what === 'pods'
        ? 'Join both gateways again, with the broker giving global ranges, so that pods get addresses of their own.'
        : 'Give one of the clusters other ranges: those of Services cannot be mapped.',
    };
  });
}

function rangesOf({ spec }: ClustersetMember) {
  const parsed = (what: 'pods' | 'Services', texts: readonly string[] = []) => texts.flatMap((text) => {
    const range = parseRange(text);
    return range === undefined ? [] : [{ what, range }];
  });
  return [...parsed('pods', spec.clusterCIDR), ...parsed('Services', spec.serviceCIDR)];
}
