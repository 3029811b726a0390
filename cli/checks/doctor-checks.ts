// The checks of `isthmus doctor`, in dependency order. Each is a pure function of the facts.
import { checkAdmiralty } from './doctor-admiralty-check.ts';
import { checkCrds, checkPermissions, checkUnread } from './doctor-install-checks.ts';
import { checkDrift } from './doctor-drift-checks.ts';
import { ADMIRALTY_WEBHOOKS, LEASES_OF_ADMIRALTY, TRIAL_POD, type DoctorFacts, type Finding } from './doctor-facts.ts';
import {
  checkClocks, checkCredentials, checkRanges, checkSources, checkTargets, checkVersions,
} from './doctor-peer-checks.ts';
import { checkRegistries } from './doctor-registry-check.ts';
import { checkCertificates, checkComponents, checkWebhook } from './doctor-process-checks.ts';

/** A check, and what it reads: resources by their plural, and other facts by name. */
interface Check {
  readonly name: string;
  readonly run: (facts: DoctorFacts) => readonly Finding[];
  /** Skipped if any of these cannot be read. */
  readonly needs: readonly string[];
  /** If one of these cannot be read, errors are reported and `ok` is not. */
  readonly optionalNeeds?: readonly string[];
}

const TARGETS = ['clustertargets', 'targets'];

const CHECKS: readonly Check[] = [
  { name: 'Access', run: checkUnread, needs: [] },
  { name: 'Versions', run: checkVersions, needs: [], optionalNeeds: ['version', ...TARGETS, 'deployments'] },
  {
    name: 'Admiralty', run: checkAdmiralty, needs: [],
    optionalNeeds: [ADMIRALTY_WEBHOOKS, LEASES_OF_ADMIRALTY, ...TARGETS],
  },
  { name: 'CRDs', run: checkCrds, needs: ['customresourcedefinitions'] },
  {
    name: 'Permissions', run: checkPermissions,
    needs: ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'],
  },
  { name: 'Components', run: checkComponents, needs: ['leases'] },
  { name: 'Webhook', run: checkWebhook, needs: ['mutatingwebhookconfigurations', 'namespaces', TRIAL_POD, ...TARGETS] },
  {
    name: 'Certificates', run: checkCertificates, needs: [],
    optionalNeeds: ['mutatingwebhookconfigurations', ...TARGETS],
  },
  { name: 'Clocks', run: checkClocks, needs: [], optionalNeeds: TARGETS },
  { name: 'Targets', run: checkTargets, needs: [], optionalNeeds: TARGETS },
  { name: 'Credentials', run: checkCredentials, needs: [], optionalNeeds: [...TARGETS, 'secrets'] },
  { name: 'Registries', run: checkRegistries, needs: ['targetdiscoveries'] },
  { name: 'Sources', run: checkSources, needs: [], optionalNeeds: ['clustersources', 'sources'] },
  { name: 'CIDRs', run: checkRanges, needs: [], optionalNeeds: ['clustersetmembers'] },
  {
    name: 'Drift', run: checkDrift, needs: ['nodes', ...TARGETS],
    optionalNeeds: ['configmaps', 'secrets', 'secretcopies', 'placementpolicies'],
  },
];

/** All findings. What was not read is not judged. */
export function diagnose(facts: DoctorFacts): readonly Finding[] {
  const unread = new Set(facts.unread.map(({ what }) => (what.startsWith('Secret ') ? 'secrets' : what)));
  return CHECKS.flatMap(({ name, run, needs, optionalNeeds = [] }) => {
    const [missing, missingOptional] =
      [needs, optionalNeeds].map((kinds) => kinds.filter((kind) => unread.has(kind))) as [string[], string[]];
    if (missing.length > 0) return [notChecked(name, missing)];
    const findings = run(facts);
    return missingOptional.length === 0
      ? findings
      : [...findings.filter(({ severity }) => severity !== 'ok'), notChecked(name, missingOptional)];
  });
}

function notChecked(check: string, kinds: readonly string[]): Finding {
  return {
    check, severity: 'unknown', subject: 'this cluster',
    message: `not checked in full: ${kinds.join(', ')} could not be read`,
  };
}

/** Whether something is broken now, or may be. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error' || severity === 'unknown');
}

const MARKS = { ok: '✓', warning: '!', unknown: '?', error: '✗' } as const;

/** The findings as text, each problem with its remedy; passed checks are summarized or listed one by one. */
export function findingLines(findings: readonly Finding[], wide: boolean): string {
  const lines = [...new Set(findings.map(({ check }) => check))].flatMap((check) => {
    const own = findings.filter((finding) => finding.check === check);
    const shown = own.filter(({ severity }) => wide || severity !== 'ok');
    if (shown.length === 0) return [`${MARKS.ok} ${check}`];
    return shown.flatMap(({ severity, subject, message, remedy }) => [
      `${MARKS[severity]} ${check}: ${subject}: ${message}`, ...(remedy === undefined ? [] : [`    ${remedy}`]),
    ]);
  });
  return lines.join('\n');
}
