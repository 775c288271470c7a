/** True for identical types; `any` and `readonly` count. */
export type Equal<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- two generics are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** `same<A, B>(true)` fails to compile unless the types are the same. */
export const same = <A, B>(_equal: Equal<A, B>): void => {}
