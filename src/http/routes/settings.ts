import type { FastifyPluginCallback } from 'fastify';

/** A setting as an administrator sees it. */
export interface ShownSetting {
  name: string;
  origin: 'environment' | 'file' | 'default';
  /** For people; `set` for a secret, null where nothing is set. */
  value: string | null;
}

export interface SettingRouteOptions {
  settings: readonly ShownSetting[];
  /** Every limit by its name. */
  limits: Readonly<Record<string, number>>;
  version: string;
}

/** `GET /api/settings` for administrators: what is in force, where it comes from, and no secret. */
export const settingRoutes: FastifyPluginCallback<SettingRouteOptions> = (app, { settings, limits, version }, done) => {
  app.get('/api/settings', () => ({ version, data: settings, limits }));
  done();
};
