// What the server needs of whatever makes the screens.
import type { Action } from './actions.ts';
import type { Route } from './routes.ts';
import type { AnyScreen } from './screens.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

/** An open screen. */
export interface OpenScreen {
  /** What it shows now; undefined while nothing is known yet. */
  current(): AnyScreen | undefined;
  /** Calls back at each change. */
  onChange(listener: () => void): void;
  /** Closes the screen. */
  close(): void;
}

/** What the page shows. */
export interface ScreenSource {
  /** Opens a screen; close it when it is no longer shown. */
  open(route: Route): OpenScreen;
  /** The last lines of a container's log. Rejects with what its calls throw. */
  log(pod: NamespacedName, container: string): Promise<string>;
  /** Does something with the viewer's permissions. Resolves to what was done, in a sentence. Rejects as {@link log}. */
  act(action: Action): Promise<string>;
}
