// Words that this project once used in place of the field's terms. None may come back into documentation, comments or
// messages of production code. Each has the term to use instead.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TOP_FOLDERS } from '../../support/rules/architecture.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DOCS = ['README.md', 'docs'];
const FOLDERS = [...Object.keys(TOP_FOLDERS), 'benchmarks'];
/** Records of their time stay as they were written. */
const RECORDS = ['docs/adr', 'docs/results'];

/** A phrase that must not come back, and what to write. */
type Phrase = readonly [phrase: RegExp, instead: string];

const NOWHERE: readonly Phrase[] = [
  [/\bis no quantity\b/, 'is not a valid quantity'],
  [/\bas kubectl finds it\b/, 'the kubectl default'],
  [/\bbehind the back of\b/, 'in the background'],
  [/\bgone with the next word\b/i, 'cleared by the next status update'],
  [/(?<!name: ')\bkept-summary\b/, 'pod-mode-summary'],
  [/\bonly who is asked asks\b/i, 'queried on demand, cached'],
  [/\bpeace with the injectors\b/i, 'compatibility with sidecar injectors'],
  [/\bis it well\b/i, 'health checks'],
  [/\bthat knows its server to be slow\b/i, 'extends leaseDurationSeconds when renewals are slow'],
  [/\bin no hole\b|\bholes by groups\b/i, 'free capacity by node shape'],
  [/\bnothing of ours\b/, 'without Isthmus'],
  [/\b(?:made|begun|began) anew\b/, 'recreated, restarted'],
  [/\bbroken off\b/, 'interrupted'],
  [/\bwhat (?:becomes|became|comes) of\b/i, 'what happens to, outcome'],
  [/\bin an orderly way\b/, 'gracefully'],
  [/\b(?:has|have|had|get|gets) (?:its|their) turns?\b/, 'is tried'],
  [/\b(?:is|are|be|was|were) let in(?:to)?\b|\blets? (?:it|them|nobody|sources) in\b/, 'admit, allow'],
  [/\bsigns? of life\b/, 'heartbeat'],
  [/\bfor ever\b/, 'indefinitely'],
  [/\bthe (?:live )?word of\b|\b(?:the target|the user)'s word\b/i, 'status, or an uncached read'],
  [/\b(?:is|was|are|were|not) heard\b/, 'answers, sends heartbeats'],
  [/\b(?:is|are|was|were|been) taken back\b/, 'deleted, withdrawn, rolled back'],
  [/\bfar (?:side|cluster|gateway|end)\b/, 'remote'],
  [/\bwhen left out\b/, 'default:'],
  [/\bgood no more\b/, 'no longer valid'],
  [/\bhalf-way\b/, 'while'],
  [/\boutside of (?:the|a|an|its|our)\b/, 'outside the'],
  [/\bthe finalizers? off\b|\bfinalizers? (?:is|are) taken off\b/, 'removes the finalizer'],
  [/\breckon(?!ed by)/i, 'compute'],
  [/\badmission (?:would )?refuses?\b/i, 'denies'],
  [/\btargets? (?:that )?refuses?\b(?! \()/i, 'rejects'],
  [/\bAdmiraltyLives\b|\bNotMadeAnew\b/, 'AdmiraltyActive, NotRecreated'],
  [/\bleads? to (?:the same|another|this|which|a) cluster/, 'points to'],
  [/\b[Ww]hoever (?:may|can|writes|changes)\b/, 'anyone who can'],
  [/\b(?:[Tt]he|[Ii]ts|an?) bind\b(?! (?:verb|mount|address)\b)/, 'binding'],
  [/\bis no (?:valid|member|snapshot|token|certificate|elected pod|YAML|PEM|directory|review|list)\b/, 'is not a'],
];

/** What folders were called, on pages about them. */
const OF_FOLDERS: readonly Phrase[] = [
  [/\bfloors?\b/i, 'top-level folder'], [/\brooms\b|\ba room \(|\| Room \|/i, 'folder'],
];
const ABOUT_FOLDERS: readonly string[] = ['CONTRIBUTING.md', 'docs/architecture.md', 'docs/glossary.md'];

/** Words of the code that users never read; the glossary says what they mean. */
const NOT_IN_DOCS: readonly Phrase[] = [[/\bcables?\b/i, 'gateway connection'], [/(?<!-)\brights\b/, 'permissions']];

const NOT_IN_CODE: readonly Phrase[] = [
  [/\b\w*(?:PATIENCE|PatienceMs)\w*\b|\bpatienceMs\b/, 'TIMEOUT_MS'],
  [/\bLOOK(?:_EVERY)?_MS\b|\blookFor\b/, 'INTERVAL_MS, POLL_INTERVAL_MS, pollUntil'],
  [/\bShell (?:of|in|:)/, 'what it reconciles'],
  [/\bawaitsKubelet\b/, 'isGracefulDeletion'], [/\bisGivenUp\b|\bgivenUp\b/, 'isAbandoned'],
  [/\bLostTargets?\b|\blostForMs\b/, 'outages'],
  [/\bGroupHead\b|\b(?:NodeGroup|Target|Recorded)Traits\b/, 'NodeTemplate, VirtualNodeInfo'],
  [/\bturnDown\b|\bnoteRefusal\b/, 'noteRejection'],
  [/\blentTo\b|\bstopsUnconfirmed\b|\blettingGo\b/i, 'allocatableFor, deletesUnconfirmed, removal of the finalizer'],
  [/\b(?:Kubeconfig|Object|Secret|Copies|Target)Place\b/, 'ref, NamespacedName'],
  [/\bincarnation\b/i, 'instance ID'], [/\bunlessSent\b|\bbriefly\(/, 'withConnectTimeout, metadataOnly'],
  [/\bunderlayMtu\b|\boverlayAddress\b/, 'pathMtu, tunnelAddress'], [/\btakenKeys\b/, 'copiedAnnotationKeys'],
  [/\bACTED_ON\b|\bAsked(?:Pod|Streams|Request)\b/, 'DENIED_DOMAINS, RequestedStreams'],
  [/\b(?:Access|Join|ResourceShare|Source|Node)Verdict\b/, 'AccessResult, JoinDecision, …Admission, NodeSupport'],
  [/\b(?:Placement|Recorded|WhatIf|ClusterDecision|Policy)World\b/, 'PlacementContext, RecordedState, …Context'],
  [/\bPodMemory\b|\bmemoryOf\b/, 'PodState, podStateOf'],
  [/\b(?:Call|Connection|Kubelet)Gate\b/, 'InFlightLimiter, HandshakeLimiter, KubeletProxy'],
  [/\bisGated\b/, 'isSchedulingGated'],
  [/\b(?:Heap|Target)Figures\b|\bFiguresDiffer\b/, 'HeapSize, TargetGauges, measurements'],
  [/\bgaps: readonly\b/, 'unreadable'], [/\bOpenRows\b/, 'EligibleRows'], [/\bhear\(/, 'observe, noteAnswer'],
];

function filesBelow(path: string, extension: string): readonly string[] {
  if (path.endsWith(extension)) return [path];
  const found = readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' });
  const paths = found.filter((one) => one.endsWith(extension)).map((one) => join(path, one));
  return paths.filter((one) => !RECORDS.some((record) => one.startsWith(`${record}/`)));
}

/** Text as one line per paragraph of comment or message, so that a phrase is found across line breaks. */
const flowing = (text: string): string => text
  .replaceAll(/(['"`]) \+\s+\1/g, '')
  .replaceAll(/\s*\n\s*(?:\/\/|\*)? ?/g, ' ');

function findings(
  paths: readonly string[], phrases: readonly Phrase[], read: (path: string) => string,
): readonly string[] {
  return paths.flatMap((path) => {
    const text = flowing(read(path));
    return phrases.flatMap(([phrase, instead]) => {
      const found = phrase.exec(text);
      return found === null ? [] : [`${path}: "${found[0]}"; write: ${instead}`];
    });
  });
}

const fromDisk = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('words that were replaced', () => {
  it('are in no page of documentation', () => {
    const pages = DOCS.flatMap((path) => filesBelow(path, '.md'));
    assert.ok(pages.length > 20);
    assert.deepEqual(findings(pages, NOWHERE, fromDisk), []);
    assert.deepEqual(findings(pages.filter((page) => page !== 'docs/glossary.md'), NOT_IN_DOCS, fromDisk), []);
  });

  it('are on no page about folders', () => {
    const pages = [...ABOUT_FOLDERS, ...Object.keys(TOP_FOLDERS).map((folder) => `${folder}/README.md`)];
    assert.deepEqual(findings(pages, OF_FOLDERS, fromDisk), []);
  });

  it('are in no comment and no message', () => {
    const sources = FOLDERS.flatMap((folder) => filesBelow(folder, '.ts'));
    assert.ok(sources.length > 300);
    assert.deepEqual(findings(sources, [...NOWHERE, ...NOT_IN_CODE], fromDisk), []);
  });

  it('are found, also across a line break of a comment', () => {
    const read = (): string => '// Pods are made\n// anew.\n/**\n * It is\n * no quantity.\n */';
    assert.equal(findings(['one.ts'], [...NOWHERE, ...NOT_IN_CODE], read).length, 2);
  });
});
