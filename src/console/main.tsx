import { render } from 'preact';
import { watchAccess } from './api/access.ts';
import { watchCaller } from './api/caller.ts';
import { takeKeyFromAddress } from './api/offered-key.ts';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';

void takeKeyFromAddress();
// A second link of a start, followed in a tab that is open.
addEventListener('hashchange', () => void takeKeyFromAddress());
watchAccess();
watchCaller();
applyTheme();
document.body.replaceChildren();
render(<App />, document.body);
