import { render } from 'preact';
import { watchAccess } from './api/access.ts';
import { takeKeyFromAddress } from './api/key.ts';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';

takeKeyFromAddress();
// A second link of a start, followed in a tab that is open.
addEventListener('hashchange', takeKeyFromAddress);
watchAccess();
applyTheme();
document.body.replaceChildren();
render(<App />, document.body);
