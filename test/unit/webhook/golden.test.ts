// Every mutation and refusal, spelled out: NAME.input.yaml is a pod (or a Pod with a note in comments),
// NAME.output.yaml what the webhook makes of it. `npm run update-golden` writes the outputs anew; a change of them is
// to be read before it is committed.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION,
  NO_RESERVATION_ANNOTATION, ADMIRALTY_PREFIX, POD_GROUP_MIN_COUNT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION,
  SCORE_WEIGHTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { hasAdmissionRecord, restoreSourcePod } from '../../../model/proxy/admission-record.ts';
import { controllerOf, isElected } from '../../../model/pod/pod.ts';
import { environment } from '../../../process/config.ts';
import { review, type Reviewed } from '../../support/objects/admission.ts';

// Compiled tests are one folder deeper than their sources.
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'golden', 'webhook');
const LEAST_PAIRS = 40;
const names = readdirSync(FOLDER).filter(
  (file) => file.endsWith('.input.yaml'),
).map((file) => file.replace('.input.yaml', '')).toSorted();

/** The output file: a refusal, or the patch and the pod that it leads to. */
function printed({ response, patch, pod }: Reviewed): string {
  const { allowed, status, warnings } = response;
  const outcome = allowed ? (patch.length === 0 ? 'unchanged' : 'patched') : 'denied';
  const told =
    { outcome, ...(status && { reason: status.reason, message: status.message }), ...(warnings && { warnings }) };
  return stringify(
    allowed && patch.length > 0 ? { ...told, patch, pod } : told, { lineWidth: 0, aliasDuplicateObjects: false },
  );
}

describe('golden pods', () => {
  it(`are at least ${LEAST_PAIRS}, each with its output`, () => {
    assert.ok(names.length >= LEAST_PAIRS, String(names.length));
    if (environment().updateGolden) return;
    const outputs = readdirSync(FOLDER).filter((file) => file.endsWith('.output.yaml'));
    assert.deepEqual(outputs.toSorted(), names.map((name) => `${name}.output.yaml`).toSorted());
  });

  const inputs = names.map((name) => parse(readFileSync(join(FOLDER, `${name}.input.yaml`), 'utf8')) as Pod);
  const electedWith = (keys: readonly string[]): boolean => inputs.some(
    ({ metadata: { annotations = {} } }) => [ELECT_ANNOTATION, ...keys].every((key) => Object.hasOwn(annotations, key)),
  );

  it('have each annotation of users alone, and each two of them together', () => {
    const ofUsers = [
      NO_RESERVATION_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION,
      NO_PREFIX_LABEL_REGEXP_ANNOTATION,
    ];
    const others = [SCORE_WEIGHTS_ANNOTATION, POD_GROUP_MIN_COUNT_ANNOTATION];
    for (const key of [...ofUsers, ...others]) assert.ok(electedWith([key]), key);
    for (const one of ofUsers) {
      for (const other of ofUsers) assert.ok(electedWith([one, other]), `${one} with ${other}`);
    }
  });

  it('have a pod of each kind of workload, and of none', () => {
    const controllers = new Set(inputs.filter(isElected).map(({ metadata }) => controllerOf(metadata)?.kind));
    for (const kind of ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicationController', undefined]) {
      assert.ok(controllers.has(kind), kind);
    }
  });

  it('have each reason for which a pod is refused', () => {
    const reasons = new Set(inputs.map((input) => review(input).response.status?.reason));
    const all = [
      'AlreadyDelegate', 'BadConstraints', 'BadLabelPattern', 'BadPodGroup', 'DaemonSetPod', 'BadAdmissionRecord',
      'ForeignManifest', 'NodeNameSet', 'ReservedKey', 'ReservedScheduler', 'TwoConstraints',
    ];
    for (const reason of all) assert.ok(reasons.has(reason), reason);
  });

  for (const name of names) {
    const input = parse(readFileSync(join(FOLDER, `${name}.input.yaml`), 'utf8')) as Pod;
    const path = join(FOLDER, `${name}.output.yaml`);

    it(`${name}: the answer is as written`, () => {
      const output = printed(review(input));
      if (environment().updateGolden) writeFileSync(path, output);
      assert.equal(output, readFileSync(path, 'utf8'));
    });

    it(`${name}: asked again, the webhook changes nothing more`, () => {
      const first = review(input);
      if (!first.response.allowed) return;
      const second = review(first.pod);
      assert.deepEqual(second.patch, []);
      assert.equal(second.response.allowed, true);
      assert.deepEqual(second.pod, first.pod);
    });

    if (isElected(input)) {
      it(`${name}: the stored proxy and its record give the pod back as it came, but for injected sidecars`, () => {
        const { pod, response } = review(input);
        if (!response.allowed || name.includes('injected') || hasAdmissionRecord(input.metadata)) return;
        const { labels = {}, finalizers = [], ...metadata } = input.metadata;
        // no pod is made with them
        const { ephemeralContainers: _debug, ...spec } = input.spec as Pod['spec'] & { ephemeralContainers?: unknown };
        const ofOthers = finalizers.filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX));
        const others = Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX)));
        const user = {
          ...input, metadata: { ...metadata, labels: others, ...(ofOthers.length > 0 && { finalizers: ofOthers }) },
          spec,
        };
        assert.deepEqual(restoreSourcePod(pod), { kind: 'restored', pod: user });
      });
    }
  }
});
