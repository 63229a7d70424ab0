type UndefinedKeys<Fields> = { [Key in keyof Fields]: undefined extends Fields[Key] ? Key : never }[keyof Fields];

/** Makes fields that may be undefined optional. */
type WithoutUndefined<Fields> = Omit<Fields, NonNullable<UndefinedKeys<Fields>>> & {
  [Key in NonNullable<UndefinedKeys<Fields>>]?: Exclude<Fields[Key], undefined>;
};

/** Removes fields that are undefined: types and wire formats distinguish absent fields from undefined ones. */
export function withoutUndefined<Fields extends object>(fields: Fields): WithoutUndefined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as WithoutUndefined<Fields>;
}
