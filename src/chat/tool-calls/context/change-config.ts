import type { ConfigChange } from '../../../core/chat/chat-config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { ToolError, type ToolContext } from '../../../core/tools/tool.ts';
import type { ToolSelection } from '../tool-call-scope.ts';

/** Lets a running function change the tools and instructions of its chat. `note` gets each change; the loop applies it after the round. */
export function createConfigChanges(
  selection: ToolSelection | undefined,
  tool: string,
  note: (change: ConfigChange) => void,
): Pick<ToolContext, 'toolIds' | 'updateTools' | 'updateInstructions'> {
  function requireSelection(): ToolSelection {
    if (selection === undefined) throw new ToolError(`'${tool}' changes the tools or instructions of a chat. Call it in a chat.`);
    return selection;
  }

  return {
    toolIds: () => selection?.toolIds() ?? [],
    async updateTools(toolIds) {
      const current = requireSelection();
      if (toolIds === undefined) return note({ toolIds: null });
      const wanted = [...new Set(toolIds)];
      if (wanted.length > limits.toolIds || wanted.some((toolId) => toolId.length > limits.toolIdCharacters))
        throw new ToolError(
          `'${tool}' names more than ${limits.toolIds} tools, or one with more than ${limits.toolIdCharacters} characters. Name whole servers or toolsets.`,
        );
      await current.check(wanted).catch((error: unknown) => {
        throw error instanceof GatewayError ? new ToolError(error.message, { cause: error }) : error;
      });
      note({ toolIds: wanted });
    },
    async updateInstructions(instructions) {
      requireSelection();
      if ((instructions?.length ?? 0) > limits.presetSystemCharacters)
        throw new ToolError(`'${tool}' sets instructions of more than ${limits.presetSystemCharacters} characters. Shorten them.`);
      note({ instructions: instructions ?? null });
    },
  };
}
