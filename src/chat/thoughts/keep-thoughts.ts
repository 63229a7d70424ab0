import type { AssistantMessage, ModelEvent, ToolCall } from '../../core/chat/chat.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { hasThoughts } from './thought-fields.ts';

/** Stores a turn of the caller's functions, and returns its calls as the client gets them. */
type SaveTurn = (calls: readonly ToolCall[], messages: readonly AssistantMessage[]) => Promise<readonly ToolCall[]>;

/**
 * For requests that have no functions of the gateway: stores what the model wants back with its calls before the client gets these. A turn without such
 * fields passes unchanged, and nothing is stored.
 */
export function keepThoughts(backend: ModelBackend, save: SaveTurn): ModelBackend {
  return {
    answer(request, emit) {
      const turn = new HeldTurn(save);
      return backend.answer(request, (events) => turn.pass(events, emit));
    },
  };
}

/** The calls of the first choice are held until its end, because only then it is known what goes back with them. */
class HeldTurn {
  readonly #save: SaveTurn;
  readonly #calls: ToolCall[] = [];
  #fields: JsonObject = {};

  constructor(save: SaveTurn) {
    this.#save = save;
  }

  pass(events: readonly ModelEvent[], emit: Emit<ModelEvent>): Promise<void> | undefined {
    const end = events.findIndex((event) => event.type === 'finish' && isOfFirst(event));
    const passed = events.filter((event) => !this.#holds(event));
    if (end < 0 || this.#calls.length === 0) return passed.length === 0 ? undefined : emit(passed);
    const calls = this.#calls.splice(0);
    const withCalls = (given: readonly ToolCall[]): ModelEvent[] => {
      const at = passed.findIndex((event) => event.type === 'finish');
      return passed.toSpliced(at, 0, ...given.map((call): ModelEvent => ({ type: 'tool-call', call })));
    };
    const message: AssistantMessage = { role: 'assistant', content: null, toolCalls: calls, extra: this.#fields };
    if (!hasThoughts(message)) return emit(withCalls(calls));
    return this.#save(calls, [message]).then((given) => emit(withCalls(given)));
  }

  #holds(event: ModelEvent): boolean {
    if (event.type === 'tool-call' && isOfFirst(event)) {
      this.#calls.push(event.call);
      return true;
    }
    if (event.type === 'reasoning' && event.field !== undefined && isOfFirst(event)) {
      const before = this.#fields[event.field];
      this.#fields[event.field] = typeof before === 'string' ? before + event.text : event.text;
    } else if (event.type === 'thought' && isOfFirst(event)) this.#fields = { ...this.#fields, ...event.fields };
    return false;
  }
}

function isOfFirst({ choice = 0 }: { choice?: number }): boolean {
  return choice === 0;
}
