import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** The accessible name and tooltip of a button that shows only an icon. */
  label?: string;
  /** Default: `plain`. A dialog or form has one `main` button. */
  kind?: 'main' | 'plain' | 'quiet' | 'danger';
  type?: 'button' | 'submit';
  isDisabled?: boolean;
  /** Its action is running, so it cannot be pressed again. */
  isBusy?: boolean;
  isPressed?: boolean;
  isSmall?: boolean;
  onClick?: (event: MouseEvent) => void;
  form?: string;
  /** Focused when its dialog opens. */
  isFirst?: boolean;
  class?: string;
}

export function Button({
  children,
  icon,
  label,
  kind = 'plain',
  type = 'button',
  isDisabled,
  isBusy,
  isPressed,
  isSmall,
  onClick,
  form,
  isFirst,
  class: extra,
}: ButtonProps): JSX.Element {
  const classes = ['button', kind, isSmall === true && 'small', children === undefined && 'bare', extra].filter(Boolean).join(' ');
  return (
    <button
      type={type}
      class={classes}
      disabled={isDisabled}
      // Not `disabled`, which would remove the focus.
      aria-disabled={isBusy === true ? true : undefined}
      aria-busy={isBusy === true ? true : undefined}
      aria-pressed={isPressed}
      aria-label={label}
      title={label}
      form={form}
      autofocus={isFirst}
      onClick={isBusy === true ? (event) => event.preventDefault() : onClick}
    >
      {icon !== undefined && <Icon name={icon} size={isSmall === true ? 16 : 18} />}
      {children}
    </button>
  );
}
