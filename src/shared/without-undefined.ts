type UndefinedKeys<Fields> = { [Key in keyof Fields]: undefined extends Fields[Key] ? Key : never }[keyof Fields];

/** Fields that may be undefined become fields that may be absent. */
export type WithoutUndefined<Fields> = Omit<Fields, NonNullable<UndefinedKeys<Fields>>> & {
  [Key in NonNullable<UndefinedKeys<Fields>>]?: Exclude<Fields[Key], undefined>;
};

/** The same fields but those that are undefined: types and wire formats tell a field that is absent from one that is undefined. */
export function withoutUndefined<Fields extends object>(fields: Fields): WithoutUndefined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as WithoutUndefined<Fields>;
}
