/** The public API of the package: everything an operator's module needs to define functions, toolsets and hooks. */
export { defineTool, defineToolset } from './tools/functions/define/define-tool.ts';
export { abort, changeArguments, changeMessages } from './tools/functions/define/hook-answers.ts';
export { handoff, noReply, withFiles } from './tools/functions/define/return-values.ts';
export { ToolError } from './core/tools/tool.ts';
export type {
  FunctionContext,
  FunctionPlace,
  FunctionState,
  FunctionTool,
  PublicMessage,
  StateUpdate,
  ToolArguments,
  ToolDefinition,
  ToolParameters,
  Toolset,
  ToolsetDefinition,
  Verdict,
} from './tools/functions/define/function-definition.ts';
export type { ReturnedFile } from './tools/functions/define/return-values.ts';
export type { AfterModel, AfterTool, BeforeModel, BeforeTool, HookContext, HookModule } from './tools/functions/define/hook-answers.ts';
export type { JsonObject, JsonValue } from './tools/functions/define/author-json.ts';
