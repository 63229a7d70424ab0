import { StopReading } from '../../src/shared/async/emit.ts';
import type { Emit } from '../../src/shared/async/emit.ts';

/** The pulled form of what is emitted. Ending the generator before the end of `produce` makes its next `emit` throw. */
export async function* pullFrom<Event, Result>(produce: (emit: Emit<Event>) => Promise<Result>): AsyncGenerator<Event, Result> {
  const waiting: Event[] = [];
  let wake = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  let isLeft = false;
  let isOver = false;
  const produced = produce((events) => {
    if (isLeft) throw new StopReading();
    waiting.push(...events);
    wake.resolve();
    return taken.promise;
  });
  const over = (): void => {
    isOver = true;
    wake.resolve();
  };
  produced.then(over, over);
  try {
    for (;;) {
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
      if (isOver) return await produced;
      taken.resolve();
      taken = Promise.withResolvers();
      await wake.promise;
      wake = Promise.withResolvers();
    }
  } finally {
    isLeft = true;
    taken.resolve();
  }
}

/** The events of a generator, emitted one by one; gives what the generator returns. */
export async function emitFrom<Event, Result>(events: AsyncGenerator<Event, Result>, emit: Emit<Event>): Promise<Result> {
  try {
    for (let next = await events.next(); ; next = await events.next()) {
      if (next.done === true) return next.value;
      const slow = emit([next.value]);
      if (slow !== undefined) await slow;
    }
  } finally {
    await events.return(undefined as Result);
  }
}
