const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** Seconds as a person says them: `45 s`, `12 min`, `3 h`, `2 d`, rounded down. */
export function age(seconds: number): string {
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? (['s', 1] as const)
  return `${Math.floor(seconds / size)} ${unit}`
}
