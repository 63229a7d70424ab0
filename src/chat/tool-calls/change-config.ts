import type { ConfigChange } from '../../core/chat/chat-config.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { ToolError } from '../../core/tools/tool.ts';
import type { ToolContext } from '../../core/tools/tool.ts';
import type { RunTools } from './tool-call-result.ts';

/** Lets a running function change the tools and instructions of its chat. `note` gets each change; the loop applies it after the round. */
export function createConfigChanges(
  config: RunTools | undefined,
  tool: string,
  note: (change: ConfigChange) => void,
): Pick<ToolContext, 'toolIds' | 'updateTools' | 'updateInstructions'> {
  function requireConfig(): RunTools {
    if (config === undefined) throw new ToolError(`'${tool}' changes the tools or instructions of a chat. Call it in a chat.`);
    return config;
  }

  return {
    toolIds: () => config?.toolIds() ?? [],
    async updateTools(toolIds) {
      const known = requireConfig();
      if (toolIds === undefined) return note({ toolIds: null });
      const wanted = [...new Set(toolIds)];
      if (wanted.length > limits.toolIds || wanted.some((toolId) => toolId.length > limits.toolIdCharacters))
        throw new ToolError(
          `'${tool}' names more than ${limits.toolIds} tools, or one with more than ${limits.toolIdCharacters} characters. Name whole servers or toolsets.`,
        );
      await known.check(wanted).catch((error: unknown) => {
        throw error instanceof GatewayError ? new ToolError(error.message, { cause: error }) : error;
      });
      note({ toolIds: wanted });
    },
    async updateInstructions(instructions) {
      requireConfig();
      if ((instructions?.length ?? 0) > limits.presetSystemCharacters)
        throw new ToolError(`'${tool}' sets instructions of more than ${limits.presetSystemCharacters} characters. Shorten them.`);
      note({ instructions: instructions ?? null });
    },
  };
}
