import type { ConfigChange } from '../../core/chat/chat-config.ts';
import type { ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';
import { applyToolChoice } from '../tool-choice/apply-tool-choice.ts';
import type { ChangeableChat } from './chat-run.ts';
import { expandVariables } from './prepare-messages.ts';
import type { ChangeRequest, PreparedChat } from './prepared-chat.ts';

/** How functions change the tools and instructions of a run. A class, because one is made for each chat. */
export class ChangingChat implements ChangeableChat {
  readonly #chat: PreparedChat;
  readonly #apply: ChangeRequest;
  readonly #toStart: (messages: ChatMessage[]) => ChatMessage[];
  #latest: ChatRequest;

  /** `toStart`: adds the files of the request to the messages with which a run starts. */
  constructor(chat: PreparedChat, apply: ChangeRequest, toStart: (messages: ChatMessage[]) => ChatMessage[]) {
    this.#chat = chat;
    this.#apply = apply;
    this.#toStart = toStart;
    this.#latest = chat.request;
  }

  renew(): Promise<ToolOffer> {
    return this.#findOffer({ ...this.#chat.run, suspension: undefined });
  }

  async check(toolIds: readonly string[]): Promise<void> {
    const { request, run, services } = this.#chat;
    await services.tools.offerFor({ ...request, toolIds: [...toolIds], toolServers: [], mcpServers: [] }, run);
  }

  async change(changes: ConfigChange, time: number): Promise<{ offer?: ToolOffer; system?: ChatMessage | null }> {
    const { run, variables } = this.#chat;
    this.#latest = await this.#apply(changes, time);
    const [first] = changes.instructions === undefined ? [] : this.#toStart(expandVariables(this.#latest.messages, variables));
    return {
      ...(changes.toolIds !== undefined && { offer: await this.#findOffer(run) }),
      ...(changes.instructions !== undefined && { system: first?.role === 'system' || first?.role === 'developer' ? first : null }),
    };
  }

  async #findOffer(by: RunContext): Promise<ToolOffer> {
    const request = this.#latest;
    return applyToolChoice(request, await this.#chat.services.tools.offerFor(request, by), true).offer;
  }
}
