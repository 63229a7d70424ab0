import type { JSX } from 'preact';
import { useQuery } from '../../api/use-query.ts';
import { Icon } from '../../parts/icon.tsx';
import { MissingParts } from './missing-parts.tsx';
import { FirstSteps, useFirstSteps } from './start/first-steps.tsx';
import { suggestQuestions } from './start/suggest-questions.ts';
import { toolsInUse, ToolsLine } from './start/tools-line.tsx';

interface WelcomeProps {
  /** The tools that were chosen for this chat. Undefined: the default ones. */
  toolIds: readonly string[] | undefined;
  onAsk: (question: string) => void;
}

/** Shown in a new chat: what it can do, and what is left to set up. */
export function Welcome({ toolIds, onAsk }: WelcomeProps): JSX.Element {
  const listed = useQuery('GET /api/tools', { isCached: true }).data?.data;
  const models = useQuery('GET /api/models', { isCached: true }).data?.data;
  const steps = useFirstSteps({ ...(models !== undefined && { models }), ...(listed !== undefined && { tools: listed }) });
  const tools = listed === undefined ? undefined : toolsInUse(listed, toolIds);
  return (
    <div class="welcome">
      <h1>What would you like to know?</h1>
      {tools !== undefined && <ToolsLine tools={tools} />}
      <div class="welcome-questions">
        {suggestQuestions(tools ?? []).map((question) => (
          <button key={question} type="button" dir="auto" onClick={() => onAsk(question)}>
            {question}
            <Icon name="arrowUp" size={16} />
          </button>
        ))}
      </div>
      {steps !== undefined && <FirstSteps steps={steps} />}
      <MissingParts />
    </div>
  );
}
