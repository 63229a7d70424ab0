import { CallerWarnings } from '../../../core/chat/caller-warning.ts';
import type { PendingApproval } from '../../../core/user-input/approval.ts';
import type { ChatEvent, Source } from '../../../core/chat/chat.ts';
import type { PendingConnect } from '../../../core/user-input/connect.ts';
import type { JsonObject } from '../../../shared/json.ts';

/** Collects the gateway's own fields of an answer, which stand beside those of its dialect. */
export class GatewayAnswerFields {
  readonly #sources: Source[] = [];
  readonly #warnings = new CallerWarnings();
  #approval: PendingApproval | undefined;
  #connect: PendingConnect | undefined;

  note(event: ChatEvent): void {
    if (event.type === 'source') this.#sources.push(event.source);
    else if (event.type === 'run-event') this.#warnings.add(event.event);
    else if (event.type === 'approval') this.#approval = event.approval;
    else if (event.type === 'connect') this.#connect = event.connect;
  }

  /** `sources`, `warnings`, `approval` and `connect`, where there are any. */
  toJson(): JsonObject {
    const warnings = this.#warnings.list;
    return {
      ...(this.#sources.length > 0 && { sources: this.#sources as unknown as JsonObject[] }),
      ...(warnings.length > 0 && { warnings: warnings.map((warning) => ({ ...warning })) }),
      ...(this.#approval !== undefined && { approval: { ...this.#approval } }),
      ...(this.#connect !== undefined && { connect: { ...this.#connect } }),
    };
  }
}
