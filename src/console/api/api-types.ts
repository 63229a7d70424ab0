import type { describedRoutes } from '../../http/routes/gateway/described-routes.ts';

/** Every route of the gateway, with the schemas that its OpenAPI document is made of. */
type Routes = ReturnType<typeof describedRoutes>;

/** `GET /api/runs/:id`. */
export type Route = keyof Routes;

type Output<Schema> = Schema extends { _zod: { output: infer Value } } ? Value : unknown;
type Input<Schema> = Schema extends { _zod: { input: infer Value } } ? Value : unknown;
type Json<Answer> = Answer extends { content: { 'application/json': infer Schema } } ? Output<Schema> : never;
type Answers<Name extends Route> = Routes[Name]['answers'];
type Successful<Name extends Route> = Answers<Name>[keyof Answers<Name> & (200 | 201 | 202)];

/** The JSON that a route answers with when it has done what it was asked. */
export type AnswerOf<Name extends Route> = Json<Successful<Name>>;

/** The JSON that a route takes. */
export type BodyOf<Name extends Route> = Routes[Name] extends { body: { schema: infer Schema } } ? Input<Schema> : undefined;

export type Run = AnswerOf<'GET /api/runs/:id'>;
export type RunSummary = AnswerOf<'GET /api/runs'>['data'][number];
export type ToolServer = AnswerOf<'GET /api/tool-servers/:id'>;
export type Report = ToolServer['report'];
export type Preset = AnswerOf<'GET /api/presets/:id'>;
export type Model = AnswerOf<'GET /api/models'>['data'][number];
