// The checks of `isthmus doctor`, in dependency order. Each is a pure function of the facts.
import { checkAdmiralty } from './doctor-admiralty-check.ts';
import { checkCrds, checkRights, checkUnread } from './doctor-install-checks.ts';
import { checkDrift } from './doctor-drift-checks.ts';
import type { DoctorFacts, Finding } from './doctor-facts.ts';
import {
  checkClocks, checkCredentials, checkRanges, checkSources, checkTargets, checkVersions,
} from './doctor-peer-checks.ts';
import { checkCertificates, checkComponents, checkWebhook } from './doctor-process-checks.ts';

const CHECKS: readonly ((facts: DoctorFacts) => readonly Finding[])[] = [
  checkUnread, // what could not be read passes no other check
  checkVersions,
  checkAdmiralty,
  checkCrds,
  checkRights,
  checkComponents,
  checkWebhook,
  checkCertificates,
  checkClocks,
  checkTargets,
  checkCredentials,
  checkSources,
  checkRanges,
  checkDrift,
];

/** All findings. */
export function diagnose(facts: DoctorFacts): readonly Finding[] {
  return CHECKS.flatMap((check) => check(facts));
}

/** Whether something is broken now. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

const MARKS = { ok: '✓', warning: '!', error: '✗' } as const;

/** The findings for people, each problem with its remedy; passed checks are summarized or listed one by one. */
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
