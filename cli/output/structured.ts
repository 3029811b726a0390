// Values for programs: `-o json` and `-o yaml`. Pure.
import { stringify } from 'yaml';
import { FOR_KUBECTL } from '../../model/objects/yaml-limits.ts';

/** A value as JSON or YAML; undefined for other formats. */
export function structured(value: unknown, output: string | undefined): string | undefined {
  if (output === 'json') return JSON.stringify(value, undefined, 2);
  return output === 'yaml' ? stringify(value, FOR_KUBECTL).trimEnd() : undefined;
}
