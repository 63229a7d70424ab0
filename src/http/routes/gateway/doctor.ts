import type { FastifyPluginAsync } from 'fastify';
import type { Section } from '../../../core/finding.ts';

interface DoctorRouteOptions {
  /** Examines the gateway within a time limit; requests during an examination share it. */
  examine: () => Promise<Section[]>;
}

/** `GET /api/doctor`, for administrators: what `toolwharf doctor` says, about the gateway that answers. */
export const doctorRoute: FastifyPluginAsync<DoctorRouteOptions> = async (app, { examine }) => {
  app.get('/api/doctor', async (_request, reply) => {
    const sections = await examine();
    const data = sections.flatMap(({ title, findings }) =>
      findings.map(({ level, text, cure }) => ({ about: title, level, message: text, cure })),
    );
    reply.header('cache-control', 'no-store');
    return { broken: data.filter(({ level }) => level === 'broken').length, data };
  });
};
