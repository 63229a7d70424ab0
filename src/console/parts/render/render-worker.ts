/** Colours code and sets formulas. In a worker, because a hostile text can keep either of them busy; the page ends it then. */
import type { RenderJob, Rendered } from './render-messages.ts';

const page = globalThis as {
  postMessage: (message: { id: number; rendered: unknown }) => void;
  addEventListener: (type: 'message', listener: (event: { data: { id: number; job: RenderJob } }) => void) => void;
};

async function render(job: RenderJob): Promise<Rendered<RenderJob>> {
  if (job.kind === 'code') return (await import('./colour-code.ts')).colourCode(job.code, job.language);
  return (await import('./set-maths.ts')).setMaths(job.text, job.isBlock);
}

page.addEventListener('message', ({ data: { id, job } }) => {
  render(job).then(
    (rendered) => page.postMessage({ id, rendered }),
    () => page.postMessage({ id, rendered: undefined }),
  );
});
