// The certificate library's dependency injection needs the metadata calls of the abandoned Reflect proposal. These are
// the three it uses, stored in a WeakMap; a real polyfill, if loaded, is left alone. Import this file before
// `@peculiar/x509`.

const metadata = new WeakMap<object, Map<unknown, unknown>>();

function defineMetadata(key: unknown, value: unknown, target: object): void {
  const entries = metadata.get(target) ?? new Map<unknown, unknown>();
  metadata.set(target, entries.set(key, value));
}

function getOwnMetadata(key: unknown, target: object): unknown {
  return metadata.get(target)?.get(key);
}

function getMetadata(key: unknown, target: object): unknown {
  for (let holder: object | null = target; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
    if (metadata.get(holder)?.has(key)) return getOwnMetadata(key, holder);
  }
  return undefined;
}

if (!('getMetadata' in Reflect)) Object.assign(Reflect, { defineMetadata, getOwnMetadata, getMetadata });
