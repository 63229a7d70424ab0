import { render } from 'preact';
import { Router } from 'wouter-preact';
import { watchAccess } from './api/access.ts';
import { basePath } from './api/base-path.ts';
import { watchCaller } from './api/caller.ts';
import { takeKeyFromAddress } from './api/offered-key.ts';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';

void takeKeyFromAddress();
// A link with another key may be opened in this tab.
addEventListener('hashchange', () => void takeKeyFromAddress());
watchAccess();
watchCaller();
applyTheme();
document.body.replaceChildren();
render(
  <Router base={basePath}>
    <App />
  </Router>,
  document.body,
);
