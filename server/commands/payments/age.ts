const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** Formats seconds as `45 s`, `12 min`, `3 h` or `2 d`, rounded down. */
export function age(seconds: number): string {
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? (['s', 1] as const)
  return `${Math.floor(seconds / size)} ${unit}`
}
