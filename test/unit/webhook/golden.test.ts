// Every mutation and refusal, spelled out: NAME.input.yaml is a pod (or a Pod with a note in comments), NAME.output.yaml what the webhook makes
// of it. `npm run test:update-golden` writes the outputs anew; a change of them is to be read before it is committed.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import type { Pod } from '../../../api/core.ts';
import { isElected } from '../../../model/pod.ts';
import { sealedManifestOf } from '../../../model/sealed-manifest.ts';
import { restoreSourcePod } from '../../../model/source-manifest.ts';
import { environment } from '../../../process/config.ts';
import { review, type Reviewed } from '../../support/admission.ts';

// Compiled tests are one folder deeper than their sources.
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'golden', 'webhook');
const LEAST_PAIRS = 40;
const names = readdirSync(FOLDER).filter((file) => file.endsWith('.input.yaml')).map((file) => file.replace('.input.yaml', '')).toSorted();

/** The output file: a refusal, or the patch and the pod that it leads to. */
function printed({ response, patch, pod }: Reviewed): string {
  const { allowed, status, warnings } = response;
  const outcome = allowed ? (patch.length === 0 ? 'unchanged' : 'patched') : 'denied';
  const told = { outcome, ...(status && { reason: status.reason, message: status.message }), ...(warnings && { warnings }) };
  return stringify(allowed && patch.length > 0 ? { ...told, patch, pod } : told, { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('golden pods', () => {
  it(`are at least ${LEAST_PAIRS}, each with its output`, () => {
    assert.ok(names.length >= LEAST_PAIRS, String(names.length));
    if (environment().updateGolden) return;
    const outputs = readdirSync(FOLDER).filter((file) => file.endsWith('.output.yaml'));
    assert.deepEqual(outputs.toSorted(), names.map((name) => `${name}.output.yaml`).toSorted());
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
      it(`${name}: the manifest holds the pod as it came, but for injected sidecars`, () => {
        const { pod, response } = review(input);
        const sealed = sealedManifestOf(pod.metadata);
        if (!response.allowed || name.includes('injected') || sealedManifestOf(input.metadata) !== undefined) return;
        assert.deepEqual(restoreSourcePod(sealed!.manifest), { kind: 'restored', pod: input });
      });
    }
  }
});
