// Which namespaces Headlamp is asked for, and what it could not read for the viewer, in sentences: that is never shown
// as if there were none.
import type { UnreadablePart } from '../wire/screens.ts';
import type { HeadlampError, Listing, PluginLib } from './plugin-lib.ts';

/** What to say of a list that could not be read, by the plural of its kind: `pods`. */
export function unreadableOf(plural: string, { errors }: Pick<Listing, 'errors'>): UnreadablePart[] {
  return (errors ?? []).map((error) => unreadablePartOf(plural, error, 'list'));
}

/** What to say of one error. */
export function unreadablePartOf(plural: string, error: HeadlampError, verb: 'get' | 'list'): UnreadablePart {
  const { cluster = '', namespace = '', message } = error;
  const where = [
    ...(namespace === '' ? [] : [`namespace ${namespace}`]), ...(cluster === '' ? [] : [`cluster ${cluster}`]),
  ].join(', ');
  return {
    what: where === '' ? plural : `${plural} of ${where}`, why: message,
    advice: adviceFor(plural, error, verb),
  };
}

function adviceFor(plural: string, { status }: HeadlampError, verb: string): string {
  if (status === 404) return 'Check that Isthmus is installed in this cluster.';
  if (status !== 401 && status !== 403) return 'Reload the page. If this lasts, check the connection to the cluster.';
  return plural === 'pods'
    ? 'Select a namespace that you may read, or ask an administrator for permission to list pods.'
    : `Ask an administrator for permission to ${verb} ${plural}.`;
}

/** What cannot be read, in one line. */
export function unreadableText({ what, why, advice }: UnreadablePart): string {
  return `Cannot show ${what}: ${why.replace(/\.$/, '')}. ${advice}`;
}

/**
 * The namespaces that the viewer has selected in Headlamp. Lists are asked for these alone, so that a viewer who may
 * read one namespace sees it, and so that Headlamp asks once for what it shows itself. They are in Headlamp's state,
 * which plugins may read; all namespaces where it has another form.
 */
export function selectedNamespaces({ ReactRedux, React }: PluginLib): readonly string[] {
  const selected = ReactRedux.useSelector(
    (state) => (state as { readonly filter?: { readonly namespaces?: unknown } }).filter?.namespaces,
  );
  return React.useMemo(() => namesIn(selected), [selected]);
}

function namesIn(selected: unknown): readonly string[] {
  return selected instanceof Set ? [...selected].filter((name) => typeof name === 'string') : [];
}
