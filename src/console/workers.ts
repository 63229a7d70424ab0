/** The workers of the console. The policy of the page allows no others. */
const scripts = {
  session: () => new URL('./api/session-worker.ts', import.meta.url).href,
  pdf: () => new URL('./pages/chat/pdf/pdf-worker.ts', import.meta.url).href,
  render: () => new URL('./parts/render/render-worker.ts', import.meta.url).href,
};

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => { createScriptURL: (url: string) => string };
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

export function startWorker(name: keyof typeof scripts): Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const isAllowed = (url: string): boolean => Object.values(scripts).some((script) => script() === url);
  policy ??= trustedTypes?.createPolicy('toolwharf', { createScriptURL: (url) => (isAllowed(url) ? url : '') });
  const url = scripts[name]();
  return new Worker(policy?.createScriptURL(url) ?? url, { type: 'module' });
}
