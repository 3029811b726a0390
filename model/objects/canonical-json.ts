// One text for one value: what digests are made of. The order of fields does not count, nor a field that is null or undefined: API servers
// print fields in an order of their own, and null for what was never set.

/** JSON (RFC 8259) with the fields of objects sorted by their names, without those that are null or undefined. Cheap: it runs for each event of a pod. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'null' : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(fields).toSorted()) {
    const field = fields[name];
    if (field === null || field === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}
