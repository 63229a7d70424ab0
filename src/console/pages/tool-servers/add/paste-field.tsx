import type { JSX } from 'preact';

interface PasteFieldProps {
  typed: string;
  /** Why nothing can be read from it. */
  reason: string | undefined;
  onType: (typed: string) => void;
}

/** Takes everything that describes a tool server. */
export function PasteField({ typed, reason, onType }: PasteFieldProps): JSX.Element {
  return (
    <label class="field">
      URL, configuration or command
      <textarea
        class="add-pasted"
        rows={1}
        autofocus
        placeholder="http://127.0.0.1:8000"
        value={typed}
        onInput={(event) => onType(event.currentTarget.value)}
        // A URL has one line. What has several is pasted.
        onKeyDown={(event) => event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.preventDefault()}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
      />
      <span class="about" role="status">
        {reason ??
          'The URL of a server, of its OpenAPI document, or of an MCP endpoint. Or the mcpServers JSON of another program, or a command that starts a server (npx, uvx, docker).'}
      </span>
    </label>
  );
}
