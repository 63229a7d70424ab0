import { CallerWarnings } from '../../../core/chat/caller-warning.ts';
import type { PendingApproval } from '../../../core/user-input/approval.ts';
import type { ChatEvent, Source } from '../../../core/chat/chat.ts';
import type { PendingConnect } from '../../../core/user-input/connect.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { isNotStored } from './not-stored.ts';

/** Collects the gateway's own fields of an answer, which are written beside those of its dialect. */
export class GatewayAnswerFields {
  readonly #sources: Source[] = [];
  readonly #warnings = new CallerWarnings();
  #approval: PendingApproval | undefined;
  #connect: PendingConnect | undefined;
  #isNotStored = false;

  note(event: ChatEvent): void {
    if (event.type === 'source') this.#sources.push(event.source);
    else if (event.type === 'run-event') this.#noteEvent(event.event);
    else if (event.type === 'approval') this.#approval = event.approval;
    else if (event.type === 'connect') this.#connect = event.connect;
  }

  #noteEvent(event: RunEvent): void {
    this.#warnings.add(event);
    this.#isNotStored ||= isNotStored(event);
  }

  /** `sources`, `warnings`, `approval` and `connect`, where there are any, and `store: false` where the answer could not be stored. */
  toJson(): JsonObject {
    const warnings = this.#warnings.list;
    return {
      ...(this.#sources.length > 0 && { sources: this.#sources }),
      ...(warnings.length > 0 && { warnings: warnings.map((warning) => ({ ...warning })) }),
      ...(this.#approval !== undefined && { approval: { ...this.#approval } }),
      ...(this.#connect !== undefined && { connect: { ...this.#connect } }),
      ...(this.#isNotStored && { store: false }),
    };
  }
}
